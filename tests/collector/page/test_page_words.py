"""The words and colours of the contributor's page: both languages say the same, everything can be told apart."""

import json
import re
from importlib.resources import files
from pathlib import Path

import pytest

LANGUAGES = files("tacit.collector") / "languages"
STATIC = Path(str(files("tacit.collector") / "static"))
PLACES = re.compile(r"\{(\w+)\}")


def test_both_languages_say_the_same():
    english, german = (
        json.loads((LANGUAGES / f"page.{code}.json").read_text(encoding="utf-8")) for code in ("en", "de")
    )
    assert list(english) == list(german)
    for key, sentence in english.items():
        assert sorted(PLACES.findall(sentence)) == sorted(PLACES.findall(german[key])), key
        assert sentence.strip()
        assert german[key].strip()


def test_all_words_exist_and_are_used():
    words = set(json.loads((LANGUAGES / "page.en.json").read_text(encoding="utf-8")))
    here = STATIC.parent
    templates = [here / "templates" / f"{name}.html" for name in ("base", "contribute", "missing")]
    sources = [*STATIC.glob("contribute*.js"), *templates, here / "contributing.py"]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    said = set(re.findall(r"""say\(["']([a-z-]+(?:\.[a-z-]+)*)["']""", text))
    plural = {key.rpartition(".")[0] for key in words if key.endswith((".one", ".other"))}
    assert said <= words | plural
    stems = {
        key.removesuffix(".one").removesuffix(".other").removesuffix("-why").removesuffix("-none") for key in words
    }
    families = ("steps", "state", "problem", "meaning", "receipt")  # said by a name that is put together
    unused = {key for key in stems if key not in text and key.split(".")[0] not in families}
    assert unused - {"skip", "language", "footer"} == set()


def luminance(colour):
    parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    """WCAG 2.2, 1.4.3."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_colours_can_be_told_apart(scheme):
    blocks = re.findall(r":root \{(.*?)\}", (STATIC / "style.css").read_text(encoding="utf-8"), re.DOTALL)
    colours = {}
    for block in blocks[: scheme + 1]:
        colours |= dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))
    text = [(ink, ground) for ink in ("text", "soft", "accent") for ground in ("page", "card", "inset")]
    text += [("on-accent", "accent"), ("on-accent", "accent-strong"), ("accent-strong", "tint"), ("text", "tint")]
    for kind in ("info", "success", "warning", "danger"):
        text += [(kind, f"{kind}-tint"), ("text", f"{kind}-tint"), ("accent", f"{kind}-tint"), (kind, "card")]
    shapes = [(line, ground) for line in ("edge", "accent", "focus") for ground in ("page", "card")]
    assert {pair: value for pair in text if (value := contrast(*(colours[name] for name in pair))) < 4.5} == {}
    assert {pair: value for pair in shapes if (value := contrast(*(colours[name] for name in pair))) < 3} == {}
