"""The census table through the collector, by Python and by browsers, beside the command line's files.

    python benchmarks/collector_census.py [--people 20000] [--chromium 2000] [--draws 200]

Each way draws noise of its own, so accuracies differ by what noise makes them differ; the last lines say how much that
is. Given the same submissions and the same noise of the database, the service's sums and weights are those of files, to
the bit. The table is read by ``tacit.datasets`` (TACIT_DATA); accuracies are of held-out records and not private.
"""

import argparse
import csv
import http.client
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from scipy.stats import chi2

from tacit import datasets, files
from tacit.cli.main import main as command
from tacit.collector import Collector
from tacit.privacy.noise import SeededSource
from tacit.protocol import Database, Protocol, Submission, Submissions
from tacit.protocol.expect import draw
from tacit.schema import Target

HELD_OUT = 20_000
HERE = Path(__file__).parent
CLIENT = HERE.parent / "src" / "tacit" / "collector" / "static" / "client" / "perturb.js"


def census(number):
    """A protocol for more or less than 50,000 dollars a year, a training table, and held-out rows."""
    found = datasets.load("acs_pums_2024")
    order = np.random.default_rng(0).permutation(len(found))[: HELD_OUT + number]
    taken = found.take(order)
    rich = np.where(np.asarray(taken.table["PINCP"], dtype=float) > 5e4, "more", "less")
    schema = replace(taken.schema, target=Target("income", classes=("less", "more")))
    table = {column.name: np.asarray(taken.table[column.name]) for column in schema.columns}
    made = Protocol.create(epsilon=1.0, delta=1e-6, cohort=number, schema=schema, purpose="Census incomes")
    train, test = slice(HELD_OUT, None), slice(0, HELD_OUT)
    people = {name: column[train] for name, column in table.items()}
    held = schema.encode({name: column[test] for name, column in table.items()})
    return made, people, rich[train], held, rich[test]


@contextmanager
def service(place):
    """``tacit serve`` in a process of its own; yields its address."""
    words = [sys.executable, "-m", "tacit", "serve", "--port", "0", "--rate", "0", "--database", str(place)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        yield re.search(r"at (http://\S+) ", process.stdout.readline())[1]
    finally:
        process.terminate()
        process.communicate()


def by_python(address, study, submissions, codes):
    """Eight connections; returns statuses."""
    place = urlsplit(address)

    def send(part):
        line, answers = http.client.HTTPConnection(place.hostname, place.port, timeout=60), Counter()
        for submission, code in part:
            body = json.dumps({"invitation": code, "submission": json.loads(submission.to_json())})
            line.request("POST", f"/api/studies/{study}/submissions", body)
            answer = line.getresponse()
            answer.read()
            answers[answer.status] += 1
        line.close()
        return answers

    pairs = list(zip(submissions, codes, strict=True))
    with ThreadPoolExecutor(8) as pool:
        return sum(pool.map(send, (pairs[part::8] for part in range(8))), Counter())


def listed(made, people, incomes, codes):
    """Records as a page's form gives them: a value that is not declared is no answer, and encoded alike."""
    names, columns = [column.name for column in made.schema.columns], []
    for column in made.schema.columns:
        cells = people[column.name].tolist()
        columns.append([cell if cell in column.values else None for cell in cells] if column.values else cells)
    rows = zip(zip(*columns, strict=True), incomes.tolist(), codes, strict=True)
    return [
        {"answers": dict(zip(names, row, strict=True)), "target": income, "code": code} for row, income, code in rows
    ]


def counted(found):
    """How many got which status, and what was sent."""
    sent = [Submission.from_dict(one) for one in found["sent"]]
    return Counter({int(status): count for status, count in found["statuses"].items()}), sent


def by_node(address, study, people):
    """The page's client in node."""
    words = ["node", HERE / "collector_browser.mjs", address, study, CLIENT.as_uri()]
    done = subprocess.run(words, input=json.dumps(people), stdout=subprocess.PIPE, text=True, check=True)
    return counted(json.loads(done.stdout))


def by_chromium(address, study, people):
    """The page's client in pages of the system's Chromium, served by the collector itself."""
    from playwright.sync_api import sync_playwright

    text = (HERE / "collector_browser.mjs").read_text(encoding="utf-8")
    function = text[text.index("async function") : text.index("if (typeof process")]
    about = {"client": f"{address}/static/client/perturb.js", "address": address, "study": study}
    answers, sent = Counter(), []
    with sync_playwright() as play:
        quiet = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=[*quiet, "--disable-sync"])
        for start in range(0, len(people), 500):
            page = browser.new_context().new_page()
            page.goto(f"{address}/healthz")
            found = page.evaluate(f"(given) => ({function})(given)", {**about, "people": people[start : start + 500]})
            statuses, more = counted(found)
            answers, sent = answers + statuses, sent + more
            page.context.close()
        browser.close()
    return answers, sent


def by_files(folder, made, people, incomes):
    """``tacit contribute``, ``collect`` and ``train``, as anyone would type them."""
    place = {name: str(folder / name) for name in ("p.json", "t.csv", "s.parquet", "d.sqlite", "m.json")}
    made.save(place["p.json"])
    with Path(place["t.csv"]).open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow([*people, "income"])
        rows.writerows(zip(*(column.tolist() for column in people.values()), incomes.tolist(), strict=True))
    protocol, database = ("--protocol", place["p.json"]), ("--database", place["d.sqlite"])
    with redirect_stdout(StringIO()):
        assert command(["contribute", place["t.csv"], *protocol, "--out", place["s.parquet"]]) == 0
        assert command(["collect", place["s.parquet"], *protocol, *database]) == 0
        assert command(["train", *protocol, *database, "--out", place["m.json"]]) == 0
    return files.load(place["m.json"]).model


def alike(collector, study, made, submissions):
    """Whether the service's sums and weights are those of a database in memory, to the bit."""
    q, p = (np.array([getattr(one, part) for one in submissions], dtype=np.int64) for part in "qp")
    with Database(made) as base:
        base.add(Submissions(made.fingerprint, q, p))
        same = base.sums.to_bytes() == collector.database(study).sums.to_bytes()
        theirs, ours = (made.numbers.train(one.sums, SeededSource(7)) for one in (base, collector.database(study)))
    return same and np.array_equal(theirs.weights, ours.weights)


def luck(made, people, incomes, sent):
    """The probability of a sum of cross noise that is longer than this one: uniform, if all is well."""
    numbers = made.numbers
    design, targets = made.rows(people, incomes)
    noise = np.sum([one.p for one in sent], axis=0) * numbers.steps[1]
    noise -= numbers.slope * design.T @ targets
    return float(chi2.sf(np.sum((noise / numbers.cross_scale) ** 2) / len(design), len(noise)))


def spread(made, people, incomes, held, truth, draws):
    """Mean and standard deviation of the accuracy over draws of everyone's noise, and the accuracy without noise."""
    numbers = made.numbers
    design, targets = made.rows(people, incomes)
    second, cross = numbers.curvature * design.T @ design, numbers.slope * design.T @ targets
    held = np.hstack([held, np.full((len(held), 1), numbers.intercept)])
    source = SeededSource(1)

    def score(weights):
        return float(np.mean(np.where(held @ weights > 0, "more", "less") == truth))

    found = [score(draw(numbers, second, cross, len(design), source)) for _ in range(draws)]
    return np.mean(found), np.std(found, ddof=1), score(np.linalg.solve(second + 1e-9 * np.eye(len(cross)), cross))


def run(number, chromium, draws, ways):
    made, people, incomes, held, truth = census(number)

    def accuracy(model):
        return float(np.mean(model.predict(held) == truth))

    def told(way, count, seconds, model, remark=""):
        print(f"{way:<44}{count:>8,}{seconds:>9.1f}{accuracy(model):>11.4f}   {remark}", flush=True)

    print("way                                            people  seconds   accuracy")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        start = time.perf_counter()
        model = by_files(folder, made, people, incomes)
        told("files: contribute, collect, train", number, time.perf_counter() - start, model)
        collector = Collector(folder / "collector.sqlite")
        with service(folder / "collector.sqlite") as address:
            for place, way in enumerate(ways):
                if (way == "node" and not shutil.which("node")) or (way == "chromium" and not shutil.which("chromium")):
                    print(f"{way} is not installed")
                    continue
                own = replace(made, purpose=f"{made.purpose}, way {place}")  # a protocol for each study
                study = collector.create(own, {"en": {"title": "Incomes"}})
                codes = collector.invite(study, number)
                collector.open(study)
                start, page = time.perf_counter(), listed(made, people, incomes, codes)
                if way == "python":
                    sent = list(own.perturb_table(people, incomes).each())
                    answers = by_python(address, study, sent, codes)
                elif way == "node":
                    answers, sent = by_node(address, study, page)
                else:
                    answers, sent = by_chromium(address, study, page[:chromium])
                    rest, more = by_node(address, study, page[chromium:])
                    answers, sent = answers + rest, sent + more
                assert answers == {201: number}, answers
                seconds = time.perf_counter() - start
                remark = f"to the bit: {alike(collector, study, own, sent)}; "
                remark += f"longer noise has probability {luck(made, people, incomes, sent):.3f}"
                collector.shut(study)
                names = {"python": "service: Python over HTTP", "node": "service: the page's client in node"}
                label = names.get(way, f"service: {chromium:,} in Chromium, the rest in node")
                told(label, number, seconds, collector.train(study), remark)
        collector.close()
    mean, deviation, plain = spread(made, people, incomes, held, truth, draws)
    print(f"\nOver {draws} draws of everyone's noise: {mean:.4f}, standard deviation {deviation:.4f}.")
    print(f"Without noise: {plain:.4f}.")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--people", type=int, default=20_000)
    options.add_argument("--chromium", type=int, default=2_000, help="of them, in pages of a real browser")
    options.add_argument("--ways", nargs="*", default=["python", "node", "chromium"], help="one may stand there again")
    options.add_argument("--draws", type=int, default=200)
    given = options.parse_args()
    run(given.people, given.chromium, given.draws, given.ways)
