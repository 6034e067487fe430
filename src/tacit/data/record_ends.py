"""Where the records of a CSV file end, so that it can be cut between two of them."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator

import numpy as np

_QUOTE = b'"'
_GLANCE = 64


class DisagreementError(Exception):
    """Arrow might read this otherwise than the standard library."""


def whole_records(take: Callable[[int], bytes], sign: str, size: int) -> Iterator[tuple[memoryview, bool]]:
    """Runs of whole records, about ``size`` bytes each, and whether there are spaces in them.

    ``take`` gives the next bytes, none at the end. Bytes that are not UTF-8 raise UnicodeDecodeError.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    left = b""
    while True:
        more = take(size)
        if not (more and more.isascii()) or decoder.getstate()[0]:
            decoder.decode(more, final=not more)
        records = left + more
        end = _end_of_records(records, ord(sign), last=not more)
        left = records[end:]
        if records[:_GLANCE].strip(b"\r\n") or records[:end].strip(b"\r\n"):  # Arrow refuses blank lines alone
            if records.startswith(codecs.BOM_UTF8):
                raise DisagreementError  # Arrow would take it for a mark; here it is text
            yield memoryview(records)[:end], b" " in records
        if not more:
            return


def _end_of_records(data: bytes, sign: int, last: bool) -> int:
    """Where the last whole record ends; what both readers may read differently is refused.

    Quotes are taken only where each opens at the start of a cell, and closes at its end or is doubled: then an even
    number of them precedes every end of a record. Spaces before a cell are taken away later, so a quoted cell may
    not begin with one.
    """
    if _QUOTE not in data:
        end = len(data) if last else data.rfind(b"\n") + 1 or data.rfind(b"\r", 0, -1) + 1
    else:
        marks = np.frombuffer(b"\n" + data + b"\n", dtype=np.uint8)
        quotes = np.flatnonzero(marks == ord(_QUOTE))
        before, inside, after = marks[quotes[::2] - 1], marks[quotes[::2] + 1], marks[quotes[1::2] + 1]
        ends = np.isin(np.arange(256), [sign, *b"\r\n"])
        opened = (ends[before] & (inside != ord(" "))) | (before == ord(_QUOTE))
        closed = ends[after] | (after == ord(_QUOTE))
        if not (opened.all() and closed.all()) or (last and len(quotes) % 2):
            raise DisagreementError
        end = len(data)
        if not last:
            lines = np.flatnonzero(marks[:-1] == ord("\n"))[1:]
            lines = lines if len(lines) else np.flatnonzero(marks[:-2] == ord("\r"))
            outside = lines[np.searchsorted(quotes, lines) % 2 == 0]
            end = int(outside[-1]) if len(outside) else 0
    if not end and data:
        raise DisagreementError
    return end
