"""The header of a file of arrays: laid out, written, and checked to the last byte before anything is mapped.

The layout is that of safetensors: the header's length in eight bytes (little-endian), the header as JSON, then the
arrays without a gap. `__metadata__` says that dyads wrote it, in which version, what kind of file it is, and holds
the payload, a JSON text. The last tensor, `digest`, is two SHA-256 digests, of the header and of all data before it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

FORMAT = 1  # raised when older versions of dyads can no longer read what this one writes
MOST_BYTES = 1 << 22  # of a header
MOST_TENSORS = 10_000
MOST_EXTENT = 1 << 50  # bytes of one array, counting an empty dimension as one: an empty array cannot claim more either
MOST_DIMENSIONS = 8
DIGEST = "digest"
DIGEST_BYTES = 64
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,199}")
DTYPES = {
    "BOOL": np.dtype("?"),
    **{f"{kind.upper()}{8 * size}": np.dtype(f"<{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8)},
    **{f"F{8 * size}": np.dtype(f"<f{size}") for size in (2, 4, 8)},
}
_CODES = {dtype: code for code, dtype in DTYPES.items()}
_REMEDY = "do not use it; save it again, or get a whole copy"


class RefusedError(Exception):
    """Why a file is not opened, as the rest of a sentence that starts with its path."""


class Tensor(NamedTuple):
    """One array and the bytes of the data that hold it."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    first: int
    last: int


class Header(NamedTuple):
    """What a header says, once all of it has been checked."""

    payload: dict[str, Any]
    tensors: list[Tensor]  # in the order of their bytes; the last one is the digest

    @property
    def extent(self) -> int:
        """Bytes of data."""
        return self.tensors[-1].last


def layout(arrays: Mapping[str, np.ndarray[Any, Any]]) -> list[Tensor]:
    """Where every array goes: wide numbers first, so that each stands at a multiple of its size."""
    tensors, first = [], 0
    for name, array in sorted(arrays.items(), key=lambda pair: -pair[1].dtype.itemsize):
        dtype = array.dtype.newbyteorder("<")
        if dtype not in _CODES:
            raise TypeError(f"array {name!r} is of type {array.dtype}, which a file of data does not hold")
        if name == DIGEST or not NAME.fullmatch(name) or array.ndim > MOST_DIMENSIONS:
            raise ValueError(f"an array {name!r} of {array.ndim} dimensions has no place in a file")
        tensors.append(Tensor(name, dtype, array.shape, first, first + array.nbytes))
        first += array.nbytes
    tensors.append(Tensor(DIGEST, DTYPES["U8"], (DIGEST_BYTES,), first, first + DIGEST_BYTES))
    return tensors


def encode(kind: str, payload: Mapping[str, Any], tensors: list[Tensor]) -> bytes:
    """The header's bytes, with its length in front."""
    entries: dict[str, Any] = {
        "__metadata__": {"format": "dyads", "version": str(FORMAT), "kind": kind, "payload": _text(payload)}
    }
    for name, dtype, shape, first, last in tensors:
        entries[name] = {"dtype": _CODES[dtype], "shape": list(shape), "data_offsets": [first, last]}
    raw = _text(entries).encode("ascii")
    raw += b" " * (-len(raw) % 8)  # the data start at a multiple of eight
    if len(raw) > MOST_BYTES or len(tensors) > MOST_TENSORS:
        raise ValueError(
            f"a header of {len(raw)} bytes and {len(tensors)} arrays is too large; a file holds at most {MOST_BYTES} "
            f"bytes of header and {MOST_TENSORS} arrays"
        )
    return len(raw).to_bytes(8, "little") + raw


def _text(value: Any) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def decode(raw: bytes, kind: str) -> Header:
    """The header in these bytes (its length not among them)."""
    entries = _loads(raw, "header")
    payload = _payload(entries.pop("__metadata__", None), kind)
    if len(entries) > MOST_TENSORS:
        raise RefusedError(f"claims {len(entries)} arrays where at most {MOST_TENSORS} are allowed: {_REMEDY}")
    tensors = sorted((_tensor(name, entry) for name, entry in entries.items()), key=lambda t: (t.first, t.last))
    end = 0
    for tensor in tensors:
        if tensor.first != end:
            what = "overlaps the one before it" if tensor.first < end else "leaves a gap before it"
            raise RefusedError(f"is damaged: array {tensor.name!r} {what}; {_REMEDY}")
        end = tensor.last
    if not tensors or tensors[-1][:3] != (DIGEST, DTYPES["U8"], (DIGEST_BYTES,)):
        raise RefusedError(f"is damaged: it does not end in a digest; {_REMEDY}")
    return Header(payload, tensors)


def _payload(metadata: Any, kind: str) -> dict[str, Any]:
    if not isinstance(metadata, dict) or metadata.get("format") != "dyads":
        raise RefusedError("is a safetensors file, but not one that dyads wrote: give a file made by model.save(path)")
    version, found, text = metadata.get("version"), metadata.get("kind"), metadata.get("payload")
    if not isinstance(version, str) or not re.fullmatch(r"[1-9][0-9]{0,8}", version):
        raise RefusedError(f"is damaged: its version is {_short(version)}; {_REMEDY}")
    if int(version) > FORMAT:
        raise RefusedError(f"is of version {version} of the format and this dyads reads up to {FORMAT}: update dyads")
    if found != kind:
        raise RefusedError(f"is of kind {_short(found)}, not {kind!r}: give a file of kind {kind!r}")
    if not isinstance(text, str):
        raise RefusedError(f"is damaged: it has no payload; {_REMEDY}")
    return _loads(text, "payload")


def _tensor(name: str, entry: Any) -> Tensor:
    if not NAME.fullmatch(name):
        raise RefusedError(f"is damaged: {_short(name)} is no name for an array; {_REMEDY}")
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise RefusedError(f"is damaged: the entry of array {name!r} is {_short(entry)}; {_REMEDY}")
    code, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(code, str) or code not in DTYPES:
        raise RefusedError(f"holds array {name!r} of type {_short(code)}, which dyads does not write: {_REMEDY}")
    if not _naturals(shape) or len(shape) > MOST_DIMENSIONS or not _naturals(offsets) or len(offsets) != 2:
        raise RefusedError(
            f"is damaged: array {name!r} has shape {_short(shape)} and offsets {_short(offsets)}; {_REMEDY}"
        )
    size = DTYPES[code].itemsize
    if math.prod(max(n, 1) for n in shape) * size > MOST_EXTENT:
        raise RefusedError(f"is damaged: array {name!r} has the impossible shape {_short(shape)}; {_REMEDY}")
    first, last = offsets
    if last - first != math.prod(shape) * size or first % size:
        what = f"array {name!r} of shape {_short(shape)} does not fit bytes {first} to {last}"
        raise RefusedError(f"is damaged: {what}; {_REMEDY}")
    return Tensor(name, DTYPES[code], tuple(shape), first, last)


def _naturals(value: Any) -> bool:
    return isinstance(value, list) and all(type(n) is int and 0 <= n <= MOST_EXTENT for n in value)


def _loads(raw: bytes | str, part: str) -> dict[str, Any]:
    """A JSON object: no key twice, no number of many digits, no NaN."""
    try:
        text = raw if isinstance(raw, str) else raw.decode("utf-8")
        value = json.loads(text, object_pairs_hook=_object, parse_int=_integer, parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        said = "it is nested too deeply" if isinstance(error, RecursionError) else _short(str(error))
        raise RefusedError(f"is damaged: its {part} cannot be read ({said}); {_REMEDY}") from None
    if not isinstance(value, dict):
        raise RefusedError(f"is damaged: its {part} is {_short(value)}, not an object; {_REMEDY}")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in pairs:
        if name in made:
            raise ValueError(f"key {_short(name)} comes twice")
        made[name] = value
    return made


def _integer(digits: str) -> int:
    if len(digits) > 24:
        raise ValueError(f"the number {digits[:24]}... has {len(digits)} digits")
    return int(digits)


def _constant(text: str) -> float:
    raise ValueError(f"{text} is no JSON number")


def _short(value: Any) -> str:
    text = value if isinstance(value, str) and value.isprintable() and len(value) < 60 else repr(value)
    return text if len(text) < 60 else text[:57] + "..."
