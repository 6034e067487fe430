"""A ledger under fire: many processes spend at once and are killed at random, and how many spends a second there are.

    python benchmarks/ledger.py [--processes 8] [--spends 200] [--address ...]

Every worker charges the ledger, then "releases" by adding a line to its own file and waiting for the disk. Whoever is
killed is replaced until every place has released so often, or the budget is used up. Afterwards: every release has its
entry, nobody released twice under one entry, at most one entry a kill has no release, the chain and all prices verify,
and the total is within the budget.
"""

import argparse
import multiprocessing
import os
import random
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from tacit import Ledger, PrivacyError
from tacit.mechanisms.counts import Tables, calibrate_counts
from tacit.training import state
from tacit.types import Budget

DELTA = 1e-6


def release(epsilon):
    """The guarantee of some counts, with about so much epsilon."""
    budget = Budget(epsilon, DELTA)
    plan = calibrate_counts(Tables((4,), (1.0,)), budget, 0.999)
    return state(plan, 1000, budget, method="counts", seeded=False).guarantee


def released(folder):
    """The names of all releases, as far as they reached the disk."""
    return [name for file in sorted(Path(folder).glob("*.released")) for name in file.read_text().split()]


def work(address, folder, place, life, spends, epsilon):
    """Charge, then release, so often; end quietly when the budget does."""
    ledger, guarantee = Ledger(address), release(epsilon)
    with Path(folder, f"{place}.{life}.released").open("a", encoding="ascii") as file:
        for spend in range(spends):
            name = f"{place}.{life}.{spend}"
            try:
                ledger.charge(guarantee, name)
            except PrivacyError as error:
                if "room" not in str(error):
                    raise
                Path(folder, f"{place}.done").touch()
                return
            file.write(f"{name}\n")
            file.flush()
            os.fsync(file.fileno())
    Path(folder, f"{place}.done").touch()


@dataclass(frozen=True)
class Outcome:
    kills: int
    releases: int
    entries: int
    seconds: float
    spent: float


def fire(address, folder, *, processes, spends, epsilon, pause=0.3, seed=0):
    """Run the workers, kill one every so often, and check the ledger; ``pause``: the mean time between kills."""
    context, dice = multiprocessing.get_context("forkserver"), random.Random(seed)
    context.set_forkserver_preload(["tacit.training"])
    ledger, kills, lives, begun = Ledger(address), 0, [0] * processes, time.perf_counter()

    def start(place):
        done = sum(name.split(".")[0] == str(place) for name in released(folder))
        process = context.Process(target=work, args=(address, folder, place, lives[place], spends - done, epsilon))
        process.start()
        lives[place] += 1
        return process

    running = {place: start(place) for place in range(processes)}
    while running:
        time.sleep(dice.expovariate(1 / pause))
        # Only those that have begun: a process that is still importing has nothing to lose, and would never begin.
        begun_ones = [one for one in sorted(running) if Path(folder, f"{one}.{lives[one] - 1}.released").exists()]
        if not begun_ones:
            continue
        place = dice.choice(begun_ones)
        running[place].kill()
        running[place].join()
        kills += running[place].exitcode == -9
        for one in list(running):
            if Path(folder, f"{one}.done").exists():
                running.pop(one).join()
            elif running[one].exitcode not in (None, -9):
                raise RuntimeError(f"A worker ended with {running[one].exitcode}.")
            elif not running[one].is_alive():
                running[one] = start(one)
    seconds = time.perf_counter() - begun
    names, labels = released(folder), [entry.label for entry in ledger.entries]
    assert len(set(names)) == len(names), "a release was made twice"
    assert len(set(labels)) == len(labels), "an entry was made twice"
    assert set(names) <= set(labels), "a release has no entry"
    assert len(labels) - len(names) <= kills, "an entry without a release, and without a kill"
    balance = ledger.verify()
    assert balance.spent <= ledger.epsilon, "the budget was exceeded"
    return Outcome(kills, len(names), len(labels), seconds, balance.spent)


def speed(address, spends, epsilon=0.01):
    """Spends a second of one process."""
    ledger, guarantee = Ledger(address), release(epsilon)
    begun = time.perf_counter()
    for _ in range(spends):
        ledger.charge(guarantee)
    return spends / (time.perf_counter() - begun)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--spends", type=int, default=200)
    parser.add_argument("--address", help="of a ledger to be made; default: a file")
    options = parser.parse_args()
    for name, budget in (("all of it fits", 3.0), ("the budget ends first", 1.0)):
        with tempfile.TemporaryDirectory() as folder:
            address = options.address or str(Path(folder, "ledger.sqlite"))
            Ledger(address, epsilon=budget, delta=DELTA)
            outcome = fire(address, folder, processes=options.processes, spends=options.spends, epsilon=0.03)
            print(f"{name}: {replace(outcome, seconds=round(outcome.seconds, 1))}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        address = str(Path(folder, "ledger.sqlite"))
        Ledger(address, epsilon=3.0, delta=DELTA)
        print(f"one process alone: {speed(address, 500):.0f} spends a second")


if __name__ == "__main__":
    main()
