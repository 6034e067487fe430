"""Pictures: well-formed, within their frame, told in words too, and without anything that a strict page bars."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tacit.collector import drawn
from tacit.collector.onlooker import Onlooker, percent
from tacit.collector.sentences import CODES, dictionary
from tacit.protocol.preview import Quality

SENT, MODEL = Onlooker(0.6623649, 4.3336, 1e-6), Onlooker(0.57901, 1.309, 1e-6)
BARE = Onlooker(1.0, 2000.0, 1e-6, little=True)
COUNTS = (300, 1000, 3000, 10_000, 30_000, 100_000)
ACCURACY = {
    epsilon: tuple(Quality(n, False, 0.5 + 0.3 * n / (n + 2000 / epsilon), 0.8 - 20 / n, 0.51, 0.8) for n in COUNTS)
    for epsilon in (0.5, 1.0, 2.0, 8.0)
}
ERROR = {2.0: tuple(Quality(n, True, 6000 + 5e6 / n, 6000.0, 14_000.0, 6000.0) for n in COUNTS)}
NAME = "{http://www.w3.org/2000/svg}"


def pictures(language):
    words = dictionary("pictures", language)
    return {
        "onlooker": drawn.onlooker(SENT, MODEL, words),
        "bare": drawn.onlooker(BARE, MODEL, words),
        "accuracy": drawn.quality(ACCURACY, words),
        "error": drawn.quality(ERROR, words, unit="<&€>"),
    }


def charts(picture):
    return {
        tree.get("class").rpartition("-")[2]: tree
        for tree in ElementTree.fromstring(picture).iter(f"{NAME}svg")
        if tree.get("role") == "img"
    }


@pytest.mark.parametrize("language", CODES)
def test_pictures_have_nothing_that_a_strict_page_bars(language):
    for picture in pictures(language).values():
        for node in ElementTree.fromstring(picture).iter():
            kind = node.tag.removeprefix(NAME)
            assert kind in ("div", "p", "span", "svg", "title", "desc", "text", "rect", "line", "polyline", "circle")
            assert "style" not in node.attrib
            assert not any(key.startswith("on") or "href" in key for key in node.attrib)
            if kind == "rect":
                assert 0 < float(node.get("width").removesuffix("%")) <= 100


@pytest.mark.parametrize("language", CODES)
@pytest.mark.parametrize("name", ["accuracy", "error"])
def test_charts_are_within_their_frame_on_phones_and_large_screens(language, name):
    """On a phone of 360 pixels a card has about 290 of them: a unit is then no less than 0.96 of a pixel."""
    found = charts(pictures(language)[name])
    assert {kind: tree.get("viewBox").split()[2] for kind, tree in found.items()} == {"narrow": "300", "wide": "720"}
    identities = [node.get("id") for tree in found.values() for node in tree.iter() if node.get("id")]
    assert len(set(identities)) == len(identities) == 4
    for tree in found.values():
        title, desc = tree.find(f"{NAME}title"), tree.find(f"{NAME}desc")
        assert title.text
        assert desc.text
        assert tree.get("aria-labelledby").split() == [title.get("id"), desc.get("id")]
        _, _, wide, high = map(float, tree.get("viewBox").split())
        for node in tree.iter():
            if node.tag == f"{NAME}polyline":
                for point in node.get("points").split():
                    x, y = map(float, point.split(","))
                    assert 0 <= x <= wide
                    assert 0 <= y <= high
            if node.tag == f"{NAME}text":
                assert float(node.get("font-size")) >= 11
                length = 0.5 * float(node.get("font-size")) * len(node.text)  # the mean letter of common fonts
                x = float(node.get("x"))
                start = {"start": x, "middle": x - length / 2, "end": x - length}[node.get("text-anchor")]
                assert start >= -1, (name, node.text)
                assert start + length <= wide + 1, (name, node.text)
                assert float(node.get("y")) <= high


def test_colours_are_in_one_file():
    css = Path(drawn.__file__).with_name("static").joinpath("pictures.css").read_text(encoding="utf-8")
    used = {
        kind
        for picture in pictures("en").values()
        for kind in re.findall(r'class="picture-(?:bar|line|dot) ([^"]+)"', picture)
    }
    assert len(used) == 10  # four bars, four lines, guessing, no noise
    assert {kind for kind in used if f".{kind} " not in css} == set()
    light, _, dark = css.partition("@media")
    assert set(re.findall(r"(--[\w-]+):", light)) == set(re.findall(r"(--[\w-]+):", dark))
    assert set(re.findall(r"var\((--[\w-]+)\)", css)) <= set(re.findall(r"(--[\w-]+):", light))


def bars(picture):
    return {
        node.get("class").rpartition("picture-")[2]: float(node.get("width").removesuffix("%"))
        for node in ElementTree.fromstring(picture).iter(f"{NAME}rect")
        if "picture-bar" in node.get("class")
    }


def test_bars_are_as_long_as_guesses_are_right():
    found = bars(pictures("en")["onlooker"])
    assert found == pytest.approx({"chance": 50, "sent": 100 * SENT.right, "model": 100 * MODEL.right}, rel=1e-5)


@pytest.mark.parametrize("language", CODES)
def test_no_protection_does_not_look_like_protection(language):
    """Another bar, another value, and never a bound of 100, which would be none."""
    some, none = pictures(language)["onlooker"], pictures(language)["bare"]
    assert bars(none).keys() == {"chance", "bare", "model"}
    always = dictionary("pictures", language)["always"]
    assert (always in some, always in none) == (False, True)
    for picture in (some, none):
        assert not re.search(r"(at most|höchstens|up to|bis zu) 100\b", plain(picture))


def plain(picture):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", picture).replace("\u00a0", " "))


def test_numbers_are_told_in_words_and_rounded_up():
    english, german = ({name: plain(one) for name, one in pictures(code).items()} for code in CODES)
    assert "at most 66.3 of 100" in english["onlooker"]
    assert "höchstens 66,3 von 100" in german["onlooker"]
    assert "57.9" not in english["onlooker"]  # 57.901 is rounded up
    assert "at most 58 of 100" in english["onlooker"]
    shown = percent(SENT.belief(0.1))
    assert (
        f"thought one of your answers 10 % likely, and was right, can become up to {shown} % sure"
        in english["onlooker"]
    )
    assert "1 in 1,000,000" in english["onlooker"]
    assert "1 : 1.000.000" in german["onlooker"]
    english, german = pictures("en"), pictures("de")
    assert "epsilon 0.5:" in english["accuracy"]
    assert "Epsilon 0,5:" in german["accuracy"]
    assert "&lt;&amp;€&gt;" in english["error"]
    assert "6,500 with 10,000 people" in english["error"]


def test_a_better_model_is_drawn_higher_and_a_larger_error_too():
    tree = charts(pictures("en")["accuracy"])["narrow"]
    lines = [
        [float(point.split(",")[1]) for point in node.get("points").split()]
        for node in tree.iter(f"{NAME}polyline")
        if "picture-line-" in node.get("class") and len(node.get("points").split()) == len(COUNTS)
    ]
    assert len(lines) == 4
    assert all(sorted(line, reverse=True) == line for line in lines)  # more people: higher, that is a smaller y
    assert all(below > above for below, above in zip(lines[0], lines[3], strict=True))


def test_axes_have_round_marks():
    for values, error in (
        ([0.51, 0.78], False),
        ([0.5, 0.5], False),
        ([3e-7, 9e-7], True),
        ([14_000.0, 25_351.0], True),
    ):
        low, high, step = drawn._range(values, error)
        assert low <= (0 if error else min(values))
        assert high >= max(values)
        assert 1 <= round((high - low) / step) <= 8
    single = drawn.quality({1.0: ACCURACY[1.0][:1]}, dictionary("pictures"))
    ElementTree.fromstring(single)  # one crowd size is no division by zero
    with pytest.raises(ValueError, match="epsilon"):
        drawn.quality({}, dictionary("pictures"))
