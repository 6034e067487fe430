"""A column of text, in the memory of whoever read it: Arrow's, where pyarrow is installed, or a list.

Nothing here says what a text means; :mod:`tacit.data.cells` does. Bulk functions give what that module's functions give
cell by cell, or say that they cannot.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.types import Array

POINT, COMMA = ".", ","
_OTHER_MARK = str.maketrans(".,", ",.")
_VIEW = "string_view"  # for which Arrow has few functions
_WORDS = ("string", "large_string", _VIEW)
_OTHERS = (("polars", "String"), ("pandas", "str"), ("pandas", "string"))


class Texts:
    """Cells that are text, or None where one is missing; ``decimal`` is the mark that numbers among them have.

    It stands where an array of objects may stand: it has a length, takes slices (without a copy), positions and masks,
    and NumPy reads it as such an array.
    """

    dtype = np.dtype(object)
    ndim = 1

    def __init__(self, cells: Any, decimal: str = POINT) -> None:
        self.cells = cells
        self.decimal = decimal

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def shape(self) -> tuple[int]:
        """As of an array."""
        return (len(self.cells),)

    def __getitem__(self, places: Any) -> Any:
        if isinstance(places, int | np.integer):
            return self[places : places + 1 or None].tolist()[0]
        if isinstance(places, slice):
            return Texts(self.cells[places], self.decimal)
        chosen = np.arange(len(self))[places]
        listed = isinstance(self.cells, list)
        return Texts([self.cells[place] for place in chosen] if listed else self.cells.take(chosen), self.decimal)

    def __iter__(self) -> Iterator[str | None]:
        return iter(self.tolist())

    def tolist(self) -> list[str | None]:
        """The cells as a list."""
        return list(self.cells) if isinstance(self.cells, list) else self.cells.to_pylist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        array = np.fromiter(self.tolist(), dtype=object, count=len(self))
        return array if dtype is None else array.astype(dtype)

    def each(self, function: Callable[[str | None], Any], dtype: Any) -> NDArray[Any]:
        """The function of every cell, called once a distinct text."""
        if isinstance(self.cells, list):
            known = {text: function(text) for text in set(self.cells)}
            return np.fromiter(map(known.__getitem__, self.cells), dtype, len(self))
        column = self.cells.combine_chunks() if hasattr(self.cells, "combine_chunks") else self.cells
        if not hasattr(column.type, "index_type"):
            column = column.dictionary_encode()
        values = [function(text) for text in column.dictionary.to_pylist()]
        indices = column.indices.fill_null(len(values)) if column.indices.null_count else column.indices
        places = indices.to_numpy(zero_copy_only=False)
        found: NDArray[Any] = np.array([*values, function(None)], dtype)
        return np.asarray(found[places])

    def floats(self) -> Array | None:
        """The cells as float64, NaN where one is missing, empty or says so; None where one is no plain numeral.

        Arrow and Python round numerals alike: to the nearest. Arrow reads fewer (no spaces, underscores or digits of
        other scripts) and one more, 'nan(...)', so whatever comes as NaN is no number yet that anyone has read.
        """
        if isinstance(self.cells, list) or hasattr(self.cells.type, "index_type"):
            return None
        import pyarrow
        from pyarrow import compute

        texts = self.cells
        if self.decimal == COMMA:
            if compute.any(compute.match_substring(texts, POINT)).as_py():
                return None
            texts = compute.replace_substring(texts, COMMA, POINT)
        try:
            numbers = texts.cast(pyarrow.float64())
        except pyarrow.ArrowInvalid:
            full = compute.greater(compute.binary_length(texts), 0)
            try:
                numbers = compute.if_else(full, texts, None).cast(pyarrow.float64())
            except pyarrow.ArrowInvalid:
                return None
        return np.array(numbers.to_numpy(zero_copy_only=False))

    def numeral(self, text: str) -> str:
        """The text with a decimal point where it has the column's decimal mark, and the other way round.

        So of a column with decimal commas '27,5' is read as 27.5, and '1.234', whose point may divide thousands, is no
        number.
        """
        return text.translate(_OTHER_MARK) if self.decimal == COMMA else text


def texts_of(column: Any) -> Texts | None:
    """A column as text, without a copy, where its library says that it is text in Arrow's form; else None.

    It is then read in bulk. Cells of other columns, also where all of them happen to be text, come one by one.
    """
    if isinstance(column, Texts):
        return column
    kind: Any = getattr(column, "type", None)  # pyarrow's; a dictionary has the type of its values, and so has a list
    if hasattr(kind, "index_type"):
        kind = kind.value_type
    if str(kind) in _WORDS and hasattr(column, "dictionary_encode"):
        return Texts(column.cast("string") if str(column.type) == _VIEW else column)
    library = type(column).__module__.partition(".")[0]
    if (library, str(getattr(column, "dtype", ""))) in _OTHERS and importlib.util.find_spec("pyarrow"):
        import pyarrow

        return Texts(column.to_arrow() if library == "polars" else pyarrow.array(column, from_pandas=True))
    return None


def joined(parts: Sequence[Texts]) -> Texts:
    """One column from its parts, of which there is one at least: Arrow's are not copied."""
    if len(parts) == 1:
        return parts[0]
    decimal = parts[0].decimal
    if any(isinstance(part.cells, list) for part in parts):
        return Texts([cell for part in parts for cell in part], decimal)
    import pyarrow

    return Texts(pyarrow.chunked_array([part.cells for part in parts]), decimal)
