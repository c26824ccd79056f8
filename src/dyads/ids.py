"""What counts as an id: a whole number of 64 bits, or a string; one kind in one place, nothing missing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dyads.errors import DataError
from dyads.strings import I64, Strings, concatenate, encode

BLOCK = 1 << 17  # Python objects looked at together
_REMEDY = "ids are strings or whole numbers of at most 64 bits"
_DECIMALS = {"halffloat": "float16", "float": "float32", "double": "float64"}  # as Arrow names them


def typed(ids: Any, side: str) -> I64 | Strings:
    """The ids as int64 numbers or as `Strings`; anything else is a DataError that names the first culprit."""
    if isinstance(ids, (str, bytes)) or not isinstance(ids, Iterable):
        raise DataError(f"{ids!r} is one {side}, not several: give a list or an array of them")
    if isinstance(ids, Strings):
        return ids
    if type(ids).__module__.partition(".")[0] == "pyarrow":
        return _from_arrow(ids, side)
    if hasattr(ids, "__array__"):
        return _from_array(np.asarray(ids), side)
    return _from_list(list(ids), side)


def _from_array(ids: np.ndarray[Any, Any], side: str) -> I64 | Strings:
    if ids.ndim != 1:
        raise DataError(f"{side}s come in one dimension, not as an array of shape {ids.shape}")
    if ids.dtype.kind == "u" and ids.size and int(ids.max()) > np.iinfo(np.int64).max:
        raise DataError(f"{side} {int(ids.max())} needs more than 63 bits: give such ids as strings")
    if ids.dtype.kind in "iu":
        return ids.astype(np.int64, copy=False)
    if ids.dtype.kind in "USTO":
        return _joined([_from_block(ids[at : at + BLOCK].tolist(), at, side) for at in range(0, ids.size, BLOCK)], side)
    if ids.size == 0:
        return np.empty(0, np.int64)
    raise DataError(f"{side} {ids[0].item()!r} is of type {ids.dtype}: {_REMEDY}, so convert the {side}s first")


def _from_list(ids: list[Any], side: str) -> I64 | Strings:
    return _joined([_from_block(ids[at : at + BLOCK], at, side) for at in range(0, len(ids), BLOCK)], side)


def _from_block(block: list[Any], at: int, side: str) -> I64 | Strings:
    kinds = set(map(type, block))
    if all(issubclass(kind, (str, bytes)) for kind in kinds):
        return _text(block, at, side)
    if all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in kinds):
        try:
            return np.array(block, dtype=np.int64)
        except OverflowError:
            big = next(value for value in block if not -(2**63) <= value < 2**63)
            raise DataError(f"{side} {big} needs more than 64 bits: give such ids as strings") from None
    for place, value in enumerate(block, at):
        if isinstance(value, bool) or not isinstance(value, (str, bytes, int, np.integer)):
            what = "is missing" if value is None or value != value else f"is of type {type(value).__name__}"
            raise DataError(f"{side} {value!r} at place {place} {what}: {_REMEDY}, so drop or convert it")
    raise _mixed(block, side)


def _text(block: list[Any], at: int, side: str) -> Strings:
    try:
        return encode([value.decode("utf-8") if isinstance(value, bytes) else value for value in block])
    except UnicodeError:
        for place, value in enumerate(block, at):
            try:
                value.encode("utf-8") if isinstance(value, str) else value.decode("utf-8")
            except UnicodeError:
                raise DataError(f"{side} {value!r} at place {place} is not UTF-8 text: re-encode it") from None
        raise


def _joined(parts: list[I64 | Strings], side: str) -> I64 | Strings:
    text = [part for part in parts if isinstance(part, Strings)]
    numbers = [part for part in parts if not isinstance(part, Strings)]
    if text and numbers:
        raise _mixed([*text[0].decode(np.arange(1)), int(numbers[0][0])], side)
    if text:
        return text[0] if len(text) == 1 else concatenate(text)
    return numbers[0] if len(numbers) == 1 else np.concatenate([np.empty(0, np.int64), *numbers])


def _mixed(block: list[Any], side: str) -> DataError:
    word = next(value for value in block if isinstance(value, (str, bytes)))
    number = next(value for value in block if not isinstance(value, (str, bytes)))
    return DataError(
        f"{side}s are of mixed types, such as {word!r} and {int(number)!r}: make all of them strings or all numbers"
    )


def _from_arrow(ids: Any, side: str) -> I64 | Strings:
    import pyarrow as pa

    if isinstance(ids, pa.ChunkedArray):
        ids = ids.combine_chunks()
    ids = decoded(ids)
    if ids.null_count:
        place = ids.is_null().index(True).as_py()
        raise DataError(f"{side} at place {place} is missing (null): drop or fill it")
    if pa.types.is_integer(ids.type):
        return _from_array(as_numpy(ids), side)
    if pa.types.is_string(ids.type) or pa.types.is_large_string(ids.type):
        ids = ids.cast(pa.large_string())
        _, offsets, data = ids.buffers()
        cuts = np.frombuffer(offsets, np.int64, len(ids) + 1, 8 * ids.offset) if len(ids) else np.zeros(1, np.int64)
        raw = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
        return Strings(raw[cuts[0] : cuts[-1]], cuts - cuts[0] if cuts[0] else cuts)
    if pa.types.is_null(ids.type) or len(ids) == 0:
        return np.empty(0, np.int64)
    raise DataError(f"{side} {ids[0].as_py()!r} is of type {ids.type}: {_REMEDY}, so convert the {side}s first")


def decoded(array: Any) -> Any:
    """An Arrow array without a dictionary, its strings with offsets rather than views."""
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        return decoded(array.dictionary).take(array.indices)
    return array.cast(pa.large_string()) if pa.types.is_string_view(array.type) else array


def as_numpy(array: Any) -> np.ndarray[Any, Any]:
    """An Arrow array of numbers, none missing, in NumPy's form; the array's own conversion imports pandas."""
    name = str(array.type)
    kind = np.dtype(_DECIMALS.get(name, name))
    if not len(array):
        return np.empty(0, kind)
    return np.frombuffer(array.buffers()[1], kind, len(array), array.offset * kind.itemsize)
