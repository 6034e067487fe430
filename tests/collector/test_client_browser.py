"""The client in a real browser: the shared vectors, and the distribution of noise from the browser's own generator.

All statistical tests of this file together fail by chance less than once in a million runs.
"""

import math

import numpy as np
import pytest
from client_bench import CHROMIUM, FLAGS, check_vectors, loading, served, vectors, vectors_job
from make_vectors import ROW
from scipy import stats

pytest.importorskip("starlette", reason="The collector is not installed")
playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

COUNT = 200_000
ALARM = 1e-7
"""Chance of a false alarm of each of the tests below; there are six of them, with limits that are not above it."""
SIX = 6.0
"""Deviations of a mean of many products: 2e-9 for a normal one, and these have 40,000 terms at least."""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    with served(tmp_path_factory.mktemp("served")) as address, playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page()
        page.seen, page.told = [], []
        page.on("request", lambda request: page.seen.append(request.url))
        page.on("console", lambda message: page.told.append(message.text))
        page.on("pageerror", lambda error: page.told.append(str(error)))
        page.goto(address)
        page.address = address
        yield page
        browser.close()


def evaluate(page, expression, given=None):
    return page.evaluate(f"async (given) => {{ {loading(page.address)} return {expression}; }}", given)


def alarms(numbers, ratio):
    """Which tests say that these are not rounded normal numbers of this scale.

    'shape': Kolmogorov and Smirnov's distance, P(D > t) <= 2 exp(-2 n t^2) (Massart 1990), plus what rounding adds.
    'scale': the sum of squares, chi-square but for rounding. 'digits': the last four binary digits, equally likely but
    for exp(-2 pi^2 (ratio/16)^2), which is nothing.
    """
    z, found = np.sort(numbers) / ratio, set()
    n = len(z)
    cdf = stats.norm.cdf(z)
    distance = max(np.max(np.arange(1, n + 1) / n - cdf), np.max(cdf - np.arange(n) / n))
    if distance > math.sqrt(math.log(2 / ALARM) / (2 * n)) + 1 / ratio:
        found.add("shape")
    if not ALARM / 2 < stats.chi2.cdf(float(z @ z), n) < 1 - ALARM / 2:
        found.add("scale")
    counts = np.bincount(np.asarray(numbers, dtype=np.int64) % 16, minlength=16)
    if stats.chisquare(counts).pvalue < ALARM:
        found.add("digits")
    return found


@pytest.fixture(scope="module")
def fresh(page):
    return np.array(evaluate(page, "fresh(client, given)", {"count": COUNT, "ratio": ROW}), dtype=np.int64)


def test_every_word_is_fresh(page):
    """Whatever their number, also beyond what the generator gives at once: none is left out, none comes twice."""
    counts = [1, 2, 3, 8191, 8192, 8193, 20000] + [1] * 20
    given = "given.flatMap((count) => Array.from(client.systemSource().words(count), String))"
    words = evaluate(page, given, counts)
    assert len(set(words)) == len(words) == sum(counts)
    assert "0" not in words


def test_vectors(page):
    expected = vectors()
    check_vectors(evaluate(page, "run(client, given)", vectors_job(expected)), expected)


def test_noise_is_normal_and_of_the_scale_that_is_priced(fresh):
    assert alarms(fresh, ROW) == set()


@pytest.mark.parametrize("wrong", [0.97, 1.03])
def test_a_scale_that_is_wrong_by_three_percent_is_seen(fresh, wrong):
    assert "scale" in alarms(fresh, wrong * ROW)


def test_other_shapes_and_coarse_digits_are_seen(fresh):
    assert "digits" in alarms(fresh // 2 * 2, ROW)
    assert "shape" in alarms((fresh * np.where(np.arange(COUNT) % 2, 1.2, 0.748)).astype(np.int64), ROW)


def test_both_parts_and_all_people_have_noise_of_their_own(page):
    """q and p of one person, neighbours within a part, people after each other: no correlation, nothing repeated."""
    known = vectors()["studies"][0]["facts"]
    draws = evaluate(
        page,
        "Array.from({length: 2000}, () => client.prepare(given).draw(client.systemSource()))",
        known,
    )
    assert not any(draw["seeded"] for draw in draws)
    q, p = (
        np.array([draw[part] for draw in draws]) * (known[name]["step"] / known[name]["scale"])
        for part, name in (("q", "row"), ("p", "cross"))
    )
    assert q.shape == (2000, known["features"])
    for one, other in ((q, p), (q[:, 1:], q[:, :-1]), (q[1:], p[:-1])):
        assert abs((one * other).sum()) < SIX * math.sqrt(one.size)
    assert abs((q * q).sum()) > SIX * math.sqrt(q.size)  # the test can fail
    assert len(np.unique(np.concatenate([q, p]), axis=0)) == 4000


def test_a_page_draws_once_and_edits_answers(page):
    """The same noise for edited answers; noise of others, or made by hand, is refused."""
    expected = vectors()["studies"][0]
    given = {"facts": expected["facts"], "one": expected["cases"][0], "other": expected["cases"][1]}
    found = evaluate(
        page,
        """(() => {
          const { facts, one, other } = given;
          const study = client.prepare(facts);
          const noise = study.draw(client.systemSource());
          const made = [one, other].map(({ answers, target }) => ({
            exact: study.exact(answers, target).p, sent: study.submission(answers, target, noise) }));
          const refused = [{ q: noise.q, p: noise.p }, client.prepare(facts).draw(client.systemSource()), null].map(
            (wrong) => { try { study.submission(one.answers, one.target, wrong); return "none"; }
                         catch (error) { return error instanceof client.Refused ? error.reason : String(error); } });
          return { made, refused, noise };
        })()""",
        given,
    )
    for made in found["made"]:
        assert [s - e for s, e in zip(made["sent"]["p"], made["exact"], strict=True)] == found["noise"]["p"]
        assert made["sent"]["seeded"] is False
    assert found["refused"] == ["noise"] * 3


def test_nothing_else_is_loaded_and_no_policy_is_broken(page):
    evaluate(page, "null")
    assert all(url.startswith(page.address) for url in page.seen)
    assert {url.rpartition("/")[2] for url in page.seen} >= {"perturb.js", "normals.js", "exponential.js"}
    assert [text for text in page.told if "favicon" not in text and "404" not in text] == []
    assert page.context.cookies() == []
