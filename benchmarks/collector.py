"""The collector under fire, and how fast it is beside an endpoint of the same server that does nothing.

    python benchmarks/collector.py [--requests 100000] [--kills 20] [--features 15] [--database sqlite] [--page FILE]

Fire: 64 clients send submissions, a tenth of them twice, a tenth garbage, some with the invitation of another; the
service is killed at random moments and started again, and clients send the same until they are answered. Afterwards
every receipt's content is in the table and nothing else, each invitation of theirs is used and no other, and the sums
are equal to the bit to those of a database that one process filled.

Speed: rounds of submissions and of the same bodies to an endpoint that reads them and does nothing, in turn, by 64
clients; then submissions at moments of a Poisson process, at half of the rate that was reached, whether or not earlier
ones were answered.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from collector_clients import request, run, steady, storm
from collector_crowd import Crowd, body, expect, people, protocol_of
from collector_server import IDLE, Service, postgresql
from markdown import table

from tacit.collector import Collector

CLIENTS = 64
LATE = 0.02
"""Seconds within which a kill comes after the answer that calls for it: at any point of what the service does then."""


@dataclass(frozen=True)
class Fire:
    """What came of a storm with kills; had anything been lost or counted twice, there would be none."""

    requests: int
    kills: int
    counted: int
    seconds: float


@dataclass(frozen=True)
class Speed:
    """Answers a second in each round, of submissions and of nothing, and seconds to an answer at half load."""

    real: list[float]
    idle: list[float]
    cpu: float
    seconds: list[float]

    @property
    def ratio(self):
        """The median over rounds of submissions to nothing."""
        return statistics.median(one / other for one, other in zip(self.real, self.idle, strict=True))

    def quantile(self, part):
        """Of the seconds to an answer."""
        return sorted(self.seconds)[int(part * (len(self.seconds) - 1))]


async def under_fire(service, pieces, kills, dice, clients=CLIENTS):
    """The answers to all requests, while the service is killed so often."""
    moments = sorted(dice.sample(range(len(pieces)), kills), reverse=True)
    loop = asyncio.get_running_loop()

    def strike():
        service.kill()
        service.start()

    def told(done):
        if moments and done > moments[-1]:
            moments.pop()
            loop.call_later(LATE * dice.random(), strike)

    return await storm(service.port, pieces, clients, told)


def fire(address, number, kills, features, seed=0):
    """Kill the service so often while so many requests come, and check everything."""
    collector, dice = Collector(address), random.Random(seed)
    study = collector.create(protocol_of(features, number), {})
    collector.open(study)
    crowd = Crowd(collector, study, number, seed)
    with Service(address) as service:
        begun = time.perf_counter()
        answers = run(under_fire(service, [piece.raw for piece in crowd.pieces], kills, dice))
        seconds = time.perf_counter() - begun
        service.stop()
        expect(service.kills == kills, "as many kills as asked for")
    counted = crowd.check(answers)
    collector.close()
    return Fire(len(answers), kills, counted, seconds)


def spent(process):
    """Seconds of a processor that a process has had."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def speed(address, features, rounds=7, size=4000):
    """Rounds of submissions and of nothing, in turn; then half load."""
    collector = Collector(address)
    protocol = protocol_of(features, size)
    study = collector.create(protocol, {})
    collector.open(study)
    ones = people(protocol, (rounds + 1) * size)
    bodies = [
        body(json.loads(one.to_json()), code)
        for one, code in zip(ones, collector.invite(study, len(ones)), strict=True)
    ]
    places = {"idle": IDLE, "real": f"/api/studies/{study}/submissions"}
    rates, processor = {"idle": [], "real": []}, {"idle": 0.0, "real": 0.0}
    with Service(address) as service:
        run(storm(service.port, [request(IDLE, one) for one in bodies[:size]], CLIENTS))
        for start in range(0, rounds * size, size):
            for name, place in places.items():
                requests = [request(place, one) for one in bodies[start : start + size]]
                before, begun = spent(service.process), time.perf_counter()
                answers = run(storm(service.port, requests, CLIENTS))
                rates[name].append(size / (time.perf_counter() - begun))
                processor[name] += spent(service.process) - before
                expect({one.status for one in answers} == {201}, "every submission is counted")
        moments, moment, dice = [], 0.0, random.Random(0)
        for _ in range(size):
            moment += dice.expovariate(statistics.median(rates["real"]) / 2)
            moments.append(moment)
        requests = [request(places["real"], one) for one in bodies[rounds * size :]]
        _, seconds = run(steady(service.port, requests, moments, 4 * CLIENTS))
        service.stop()
    expect(collector.count(study) == len(ones), "every submission is counted once")
    collector.close()
    return Speed(rates["real"], rates["idle"], processor["idle"] / processor["real"], seconds)


@contextmanager
def place(name):
    """An address of an empty database; None where there is no PostgreSQL."""
    if name == "PostgreSQL":
        with postgresql(fsync=True) as address:
            yield address
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield str(Path(folder, "collector.sqlite"))


def fire_row(name, features, found):
    """A line of the first table."""
    numbers = (f"{one:,}" for one in (found.requests, found.kills, found.counted, 0, 0))
    return [name, str(features), *numbers, "yes"]


def speed_row(name, features, found):
    """A line of the second table."""
    rates = (f"{statistics.median(one):,.0f}" for one in (found.real, found.idle))
    median, late = found.quantile(0.5), found.quantile(0.99)
    times = (f"{1000 * median:.1f}", f"{1000 * late:.1f}", f"{late / median:.1f}")
    return [name, str(features), *rates, f"{found.ratio:.2f}", f"{found.cpu:.2f}", *times]


FIRE_HEAD = ["database", "d", "requests", "kills", "counted", "lost", "twice", "sums equal to the bit"]
SPEED_HEAD = [
    "database", "d", "submissions a second", "nothing a second", "ratio", "ratio by processor time",
    "p50 at half load, ms", "p99, ms", "p99 / p50",
]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--features", type=int, nargs="+", default=[15])
    parser.add_argument("--database", choices=["SQLite", "PostgreSQL"], nargs="+", default=["SQLite", "PostgreSQL"])
    parser.add_argument("--only", choices=["fire", "speed"])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--page", type=Path, help="write the tables to this file, for the documentation")
    options = parser.parse_args()
    fires, speeds = [], []
    for features in options.features:
        for name in options.database:
            if options.only != "speed":
                with place(name) as address:
                    if address is not None:
                        fires.append(fire_row(name, features, fire(address, options.requests, options.kills, features)))
                        print(fires[-1], flush=True)
            if options.only != "fire":
                with place(name) as address:
                    if address is not None:
                        speeds.append(speed_row(name, features, speed(address, features, options.rounds)))
                        print(speeds[-1], flush=True)
    tables = [table(head, rows) for head, rows in ((FIRE_HEAD, fires), (SPEED_HEAD, speeds)) if rows]
    text = "\n\n".join(tables)
    print(text)
    if options.page:
        options.page.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
