"""Network files without PyTorch: one safetensors file, whose metadata is JSON with a checksum over all of it.

The metadata hold the hash of the tensors, so one checksum covers weights, settings, label set and guarantee together.
Reading builds arrays and text only, and takes a few times the memory that the file is long. It is stricter than the
format: two types of numbers, no field twice, no gap between tensors, no other metadata.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.checks import refuse
from tacit.estimators.earlier import Earlier, charged, earlier_among
from tacit.files.found import read_earlier
from tacit.files.pipelines import Wrapped, is_pipeline, promised, unwrapped
from tacit.files.sealing import names_or_none
from tacit.files.steps import objection
from tacit.privacy.events import is_amount, is_count
from tacit.privacy.guarantee import Guarantee, checksum
from tacit.privacy.theorems import MODEL
from tacit.reading import labels, need, parse, read_bytes

FORMAT = "tacit-network"
VERSION = 4
"""Files of version 1 have no number of a version, and their checksum does not cover the tensors; those of version 2
have no names of columns, and those before version 4 do not say what was paid for before the network."""
LARGEST = 2**30
"""Bytes that a network file may have."""
HEADER = 2**24
"""Bytes that its header may have: names, shapes, settings and guarantee."""
TYPES: dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "F64": np.dtype("<f8")}
"""The kinds of numbers of a network, by safetensors' names."""
_FIELDS = {
    "format",
    "version",
    "kind",
    "parameters",
    "classes",
    "bytes",
    "shape",
    "names",
    "guarantee",
    "earlier",
    "tensors",
}

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class NetworkFile:
    """What a network file holds, checked: settings and shapes as plain data, the guarantee, and the weights by name.

    ``before``: the steps of a pipeline that ends in the network, where it is one. ``paid``: what was released before.
    """

    content: Mapping[str, Any]
    guarantee: Guarantee
    arrays: Arrays
    before: Wrapped | None = None
    paid: tuple[Earlier, ...] = ()


def digest(arrays: Arrays) -> str:
    """SHA-256 of names, types, shapes and bytes, in the order of the names.

    A line of JSON says how many bytes follow it, so no two sets of tensors give the same stream.
    """
    found = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        (kind,) = (kind for kind, dtype in TYPES.items() if dtype == array.dtype)
        found.update(json.dumps([name, kind, list(array.shape)]).encode() + b"\n")
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def holds_tensors(path: str | Path) -> bool:
    """Whether a file starts as safetensors do: eight bytes of length, then a brace. No JSON text starts like that."""
    with Path(path).open("rb") as file:
        return starts_tensors(file.read(9))


def starts_tensors(raw: bytes) -> bool:
    """Whether these bytes, or those that a file starts with, are such."""
    start = raw[:9]
    return len(start) == 9 and start[8:] == b"{" and int.from_bytes(start[:8], "little") <= HEADER


def read(path: str | Path, *, accept_uncovered: bool = False) -> NetworkFile:
    """Read and check a network file; raises PrivacyError for a foreign, altered or cut one.

    ``accept_uncovered`` also reads files of version 1.
    """
    return checked_file(read_bytes(path, LARGEST), accept_uncovered=accept_uncovered)


def checked_file(raw: bytes, *, accept_uncovered: bool = False) -> NetworkFile:
    """The content of a network file, checked."""
    metadata, arrays = _split(raw)
    if not (isinstance(metadata, dict) and set(metadata) == {"tacit"} and isinstance(metadata["tacit"], str)):
        refuse("This is not a Tacit network file.")
    content, before = parse(metadata["tacit"]), None
    if isinstance(content, dict) and is_pipeline(content):
        before = unwrapped(content)
        content = before.model
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        refuse("This is not a Tacit network file.")
    stated = content.get("checksum")
    content = {key: value for key, value in content.items() if key != "checksum"}
    if stated != checksum(content):
        refuse("This network file was changed after it was written: its checksum does not match.")
    if "version" not in content:
        if not accept_uncovered:
            refuse(
                "This network file is of an earlier version of Tacit, whose checksum did not cover the weights: they "
                "may be another network's. If you trust where it comes from, load it with "
                "tacit.load(path, accept_uncovered=True) and save it again."
            )
        content = {**content, "version": 2, "tensors": digest(arrays)}
    if type(content["version"]) is not int or not 2 <= content["version"] <= VERSION:
        refuse("This network file was written by a later version of Tacit. Upgrade to read it.")
    if content["version"] == 2:
        need("names" not in content, "Its fields are not those of a file of its version.")
        content["names"] = None
    old = content["version"] < 4
    if old:
        need("earlier" not in content, "Its fields are not those of a file of its version.")
        content["earlier"] = []
    need(set(content) == _FIELDS, "Its fields are not those of a network file.")
    if content["tensors"] != digest(arrays):
        refuse("This network file was changed after it was written: its weights are not those that were saved.")
    guarantee = Guarantee.from_dict(content["guarantee"])
    labels(content["classes"])
    shape = content["shape"]
    need(isinstance(shape, list) and 1 <= len(shape) <= 3 and all(map(is_count, shape)), "Its shape is not one.")
    need(type(content["bytes"]) is bool, "Its kind of input is not stated.")
    _agree(content["parameters"], guarantee)
    names_or_none(content["names"], math.prod(shape))
    if before is not None:
        wrong = objection(before.steps, math.prod(shape))
        need(not wrong, wrong)
    steps = () if before is None else before.steps
    paid = tuple(charged(steps)) if old else earlier_among(read_earlier(content["earlier"]), steps)
    file = NetworkFile(content, guarantee, arrays, before, paid)
    promised((guarantee,), file.paid)  # what has no price as a whole is not read
    return file


def _agree(parameters: Any, guarantee: Guarantee) -> None:
    """The settings are those of the guarantee."""
    known = {"epsilon", "delta", "adjacency", "smoothing", "bounds"}
    if isinstance(parameters, dict):
        parameters.setdefault("rows_per_person", None)  # which the first files of version 2 do not have
    need(isinstance(parameters, dict) and known <= set(parameters), "Its parameters are not those of a network.")
    stated = None if math.isinf(guarantee.epsilon) else guarantee.epsilon
    need(parameters["epsilon"] == stated, "Its epsilon is not the one that the guarantee states.")
    need(parameters["adjacency"] == guarantee.adjacency, "Its adjacency is not the one that the guarantee states.")
    need(parameters["delta"] in (None, guarantee.delta), "Its delta is not the one that the guarantee states.")
    smoothing = parameters["smoothing"]
    need(type(smoothing) in (int, float) and (smoothing == 0 or is_amount(smoothing)), "Its smoothing is not a number.")
    people = parameters["rows_per_person"]
    need(
        type(people) is not bool and people == guarantee.rows_per_person,
        "Its unit is not the one that the guarantee states.",
    )
    method = "dp-lssgd" if smoothing else "dp-sgd"
    own = guarantee.method in (method, "search") and guarantee.protects == MODEL  # a search's is of all its trials
    need(own and guarantee.calibration == "proven", "Its guarantee is not that of a network.")


def _split(raw: bytes) -> tuple[object, Arrays]:
    """The metadata and the tensors of a safetensors file: a length, a JSON header, and numbers without gaps."""
    length = int.from_bytes(raw[:8], "little")
    if len(raw) < 8 or length > min(HEADER, len(raw) - 8):
        refuse("This is not a network file, or it was cut short: it is malformed.")
    header = parse(raw[8 : 8 + length])
    if not isinstance(header, dict):
        refuse("This is not a network file: its header is malformed.")
    arrays: Arrays = {}
    at = 0
    entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
    for name, entry in sorted(entries.items(), key=lambda pair: _start(pair[1])):
        dtype, shape = TYPES.get(str(entry["dtype"])), entry["shape"]
        need(dtype is not None and isinstance(shape, list) and all(map(is_count, shape)), "Its tensors have no shape.")
        assert dtype is not None  # for the type checker: need() raised above
        size = math.prod(shape) * dtype.itemsize
        need(entry["data_offsets"] == [at, at + size], "Its tensors do not lie where its header says.")
        need(8 + length + at + size <= len(raw), "It was cut short.")
        arrays[name] = np.frombuffer(raw, dtype, math.prod(shape), 8 + length + at).reshape(shape)
        at += size
    need(arrays and 8 + length + at == len(raw), "Its tensors do not fill it.")
    return header.get("__metadata__"), arrays


def _start(entry: Any) -> int:
    """Where a tensor begins, for sorting."""
    fields = isinstance(entry, dict) and set(entry) == {"dtype", "shape", "data_offsets"}
    need(fields, "Its tensors are not described.")
    place = entry["data_offsets"]
    need(
        isinstance(place, list) and len(place) == 2 and all(type(p) is int for p in place), "Its tensors have no place."
    )
    return int(place[0])
