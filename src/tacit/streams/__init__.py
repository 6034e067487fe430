"""Tables that need not fit into memory: files, folders, queries and partitions, a batch of rows at a time."""

from tacit.streams.opened import is_source, open_source
from tacit.streams.pieces import BATCH, Piece, Source

__all__ = ["BATCH", "Piece", "Source", "is_source", "open_source"]
