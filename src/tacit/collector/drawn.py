"""Pictures for those who decide whether to take part, and how to ask: drawn from public numbers, as SVG and words.

``words`` is a dictionary of sentences: those of ``languages/pictures.en.json``, or the same in another language
(:func:`tacit.collector.sentences.dictionary`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from tacit.checks import check
from tacit.collector.onlooker import Onlooker, percent
from tacit.collector.shapes import (
    LETTER,
    NARROW,
    SMALL,
    WIDE,
    Words,
    bar,
    element,
    frame,
    localised,
    paragraph,
    text,
    whole,
)
from tacit.protocol.madeup import UNEXPLAINED
from tacit.protocol.preview import Quality

BELIEF = 0.1
"""What an onlooker thinks at first of an answer, where the picture tells how sure they can become."""
_TOP = 34.0
_DASHES = ("none", "7 3", "2 3", "9 3 2 3", "4 4", "1 4")


def onlooker(sent: Onlooker, model: Onlooker, words: Words) -> str:
    """How often the best guess between two answers is right: by chance, from what was sent, from the model.

    One measure for all bars. How sure an onlooker can become in an unlucky draw of the noise is said in words.
    """
    rows = [_row("chance", words["chance"], 0.5, words["of_hundred"].format(value="50"))]
    for kind, seen in (("sent", sent), ("model", model)):
        shown = percent(seen.right)
        value = words["always"] if float(shown) >= 100 else words["at_most"].format(value=localised(shown, words))
        rows.append(_row("bare" if seen.little else kind, words[kind], seen.right, value))
    rare = localised(f"{math.floor(1 / max(sent.chance, model.chance) * (1 + 1e-12)):,}", words)
    places = {kind: _belief(seen, words) for kind, seen in (("sent", sent), ("model", model))}
    before = words["percent"].format(value=localised(f"{100 * BELIEF:g}", words))
    note = words["onlooker_note"].format(before=before, rare=rare, **places)
    content = paragraph(words["onlooker_panel"], "head") + "".join(rows) + paragraph(note, "note")
    return element("div", content, class_="picture-bars", role="group", aria_label=words["onlooker_title"])


def _row(kind: str, name: str, share: float, value: str) -> str:
    told = element("span", escape(name), class_="picture-name") + " "
    told += element("span", escape(value), class_=f"picture-value picture-value-{kind}")
    return element("div", element("p", told) + bar(share, kind), class_="picture-row")


def _belief(seen: Onlooker, words: Words) -> str:
    shown = percent(seen.belief(BELIEF))
    return words["certain"] if float(shown) >= 100 else words["belief"].format(value=localised(shown, words))


def quality(
    lines: Mapping[float, Sequence[Quality]], words: Words, *, unit: str = "", unexplained: float = UNEXPLAINED
) -> str:
    """Quality over the number of people, one line an epsilon, with lines for guessing and for a model without noise.

    Drawn twice, for phones and for large screens: the page shows the one that fits (``static/pictures.css``).
    """
    check(lines and all(lines.values()), "Expected at least one epsilon, and qualities for it.")
    error = next(iter(lines.values()))[0].error
    head = words["error_unit"].format(unit=unit) if error and unit else words["error" if error else "accuracy"]
    sentence = words["quality_note_number" if error else "quality_note"]
    note = paragraph(sentence.format(unexplained=localised(f"{10 * unexplained:g}", words)), "note")
    charts = _chart("narrow", NARROW, 190.0, head, lines, words), _chart("wide", WIDE, 250.0, head, lines, words)
    return element("div", "".join(charts) + note, class_="picture-charts")


def _chart(
    name: str, width: int, high: float, head: str, lines: Mapping[float, Sequence[Quality]], words: Words
) -> str:
    every = [one for line in lines.values() for one in line]
    error, counts = every[0].error, sorted({one.count for one in every})
    best = next(iter(lines.values()))
    low, top, step = _range([value for one in every for value in (one.private, one.plain, one.guess)], error)
    marks = [low + place * step for place in range(round((top - low) / step) + 1)]
    left = 10 + LETTER * SMALL * max(len(_shown(mark, error, words)) for mark in marks)

    def x(count: float) -> float:
        share = math.log(count / counts[0]) / (math.log(counts[-1] / counts[0]) or 1.0)
        return left + 8 + share * (width - left - 30)

    def y(value: float) -> float:
        return _TOP + high * (1 - (value - low) / (top - low))

    parts = [text(head, 0, 14)]
    for mark in marks:
        parts.append(element("line", x1=left, x2=width, y1=y(mark), y2=y(mark), stroke="currentColor",
                             stroke_opacity=0.15, class_="picture-grid"))  # fmt: skip
        parts.append(text(_shown(mark, error, words), left - 6, y(mark) + 4, anchor="end", kind="soft"))
    for count in counts[:: math.ceil(len(counts) / (width // 60))]:
        at = min(x(count), width - LETTER * SMALL * len(whole(count, words)) / 2)  # the last one stays inside
        parts.append(text(whole(count, words), at, _TOP + high + 18, size=SMALL - 1.5, anchor="middle", kind="soft"))
    parts.append(text(words["people"], width, _TOP + high + 37, anchor="end"))
    keys = [("guess", words["guess"], "2 4"), ("plain", words["plain"], "none")]
    parts.append(_line([(x(one), y(best[0].guess)) for one in (counts[0], counts[-1])], "guess", "2 4"))
    parts.append(_line([(x(one.count), y(one.plain)) for one in best], "plain", "none"))
    told = []
    for place, (epsilon, line) in enumerate(lines.items()):
        dash, kind = _DASHES[place % len(_DASHES)], f"line-{place % len(_DASHES)}"
        parts.append(_line([(x(one.count), y(one.private)) for one in line], kind, dash, dots=True))
        keys.append((kind, words["epsilon"].format(epsilon=localised(f"{epsilon:g}", words)), dash))
        points = ", ".join(
            words["quality_point"].format(value=_shown(one.private, error, words), count=whole(one.count, words))
            for one in line
        )
        told.append(words["quality_line"].format(epsilon=localised(f"{epsilon:g}", words), points=points))
    end, columns = _TOP + high + 62, width // 140
    for place, (kind, label, dash) in enumerate(keys):
        start, down = 4 + (place % columns) * width / columns, end + (place // columns) * 20
        parts.append(_line([(start, down - 4), (start + 28, down - 4)], kind, dash, dots=kind.startswith("line")))
        parts.append(text(label, start + 36, down))
    bottom = end + (len(keys) - 1) // columns * 20 + 10
    description = words["quality_desc"].format(lines=" ".join(told))
    return frame(f"quality-{name}", width, bottom, words["quality_title"], description, parts)


def _shown(value: float, error: bool, words: Words) -> str:
    return whole(value, words) if error else localised(f"{100 * value:.0f}", words)


def _range(values: list[float], error: bool) -> tuple[float, float, float]:
    """Ends of an axis and the step of its marks, round numbers; an error's axis begins at 0."""
    least, most = (0.0 if error else min(values)), max(values)
    raw = max(most - least, 1e-9 if error else 0.05) / 4
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= raw * (1 - 1e-9))
    low = math.floor(least / step + 1e-9) * step
    return low, max(math.ceil(most / step - 1e-9) * step, low + step), step


def _line(points: Sequence[tuple[float, float]], kind: str, dash: str, dots: bool = False) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    drawn = element("polyline", points=path, fill="none", stroke="currentColor", stroke_width=2, stroke_dasharray=dash,
                    stroke_linejoin="round", class_=f"picture-line picture-{kind}")  # fmt: skip
    marks = (element("circle", cx=x, cy=y, r=3, fill="currentColor", class_=f"picture-dot picture-{kind}")
             for x, y in points)  # fmt: skip
    return drawn + ("".join(marks) if dots else "")
