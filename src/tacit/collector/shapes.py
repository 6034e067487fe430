"""Pieces of a picture: elements with escaped text, bars, and the frame that says what is drawn.

Pages have a strict content security policy, so there are classes and presentation attributes and no style attribute or
script. Colours are in ``static/pictures.css``; without it everything is drawn in the colour of the text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

Words = Mapping[str, str]
SVG = "http://www.w3.org/2000/svg"
NARROW, WIDE = 300, 720
"""Units of a chart's width, on phones and large screens: one is nearly a pixel, so letters are as large as a page's."""
LETTER = 0.57
"""The mean width of a letter, in its height; generous, so that lines end within the picture."""
SMALL = 12.5


def element(tag: str, content: str = "", **attributes: object) -> str:
    """One element; ``class_`` is its class, and an underscore stands for a dash. ``content`` is markup already."""
    told = " ".join(f'{name.rstrip("_").replace("_", "-")}="{_written(value)}"' for name, value in attributes.items())
    return f"<{tag} {told}/>" if not content else f"<{tag} {told}>{content}</{tag}>"


def text(words: str, x: float, y: float, *, size: float = SMALL, anchor: str = "start", kind: str = "ink") -> str:
    """Words on one line."""
    return element(
        "text", escape(words), x=x, y=y, font_size=size, text_anchor=anchor, fill="currentColor",
        class_=f"picture-{kind}",
    )  # fmt: skip


def paragraph(words: str, kind: str) -> str:
    """Words outside a drawing, in the page's own letters: they break where the page needs it."""
    return element("p", escape(words), class_=f"picture-{kind}")


def bar(share: float, kind: str) -> str:
    """A bar as wide as the page allows, filled to its share."""
    parts = [element("rect", width="100%", height=12, rx=3, fill="currentColor", fill_opacity=0.12,
                     class_="picture-track")]  # fmt: skip
    parts.append(element("rect", width=f"{100 * min(1.0, share):.6g}%", height=12, rx=3, fill="currentColor",
                         class_=f"picture-bar picture-{kind}"))  # fmt: skip
    return element("svg", "".join(parts), xmlns=SVG, class_="picture-box", width="100%", height=12, aria_hidden="true")


def frame(name: str, width: int, height: float, title: str, description: str, parts: Sequence[str]) -> str:
    """A whole drawing, with its title and its content in words for those who do not see it."""
    words = element("title", escape(title), id=f"picture-{name}-title")
    words += element("desc", escape(description), id=f"picture-{name}-desc")
    return element(
        "svg", words + "".join(parts), xmlns=SVG, role="img", class_=f"picture picture-{name}",
        viewBox=f"0 0 {width} {math.ceil(height)}", width="100%", font_family="system-ui, sans-serif",
        aria_labelledby=f"picture-{name}-title picture-{name}-desc",
    )  # fmt: skip


def localised(number: str, words: Words) -> str:
    """A number as Python writes it, in the signs of the language."""
    return number.translate({ord("."): words["decimal"], ord(","): words["thousands"]})


def whole(number: float, words: Words) -> str:
    """A whole number with separators, or three digits of a smaller one."""
    return localised(f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}", words)


def _written(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else escape(str(value), quote=True)
