from __future__ import annotations

import json
import struct
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from dyads import arrayfile, header
from dyads.errors import ModelFileError


def forged(
    path: Path,
    entries: dict[str, Any] | None = None,
    data: bytes = b"",
    *,
    payload: Any = None,
    metadata: Any = None,
    text: str | None = None,
    digest: bool = True,
) -> Path:
    """A file with right digests around whatever is put into it."""
    made: dict[str, Any] = {
        "__metadata__": {"format": "dyads", "version": "1", "kind": "model", "payload": json.dumps(payload or {})}
    }
    if metadata is not None:
        made["__metadata__"] = metadata
    made.update(entries or {})
    if digest:
        made["digest"] = {"dtype": "U8", "shape": [64], "data_offsets": [len(data), len(data) + 64]}
    raw = (json.dumps(made) if text is None else text).encode("utf-8", "surrogatepass")
    head = struct.pack("<Q", len(raw)) + raw
    path.write_bytes(head + data + (sha256(head).digest() + sha256(data).digest() if digest else b""))
    return path


def tensor(shape: Any, first: Any, last: Any, dtype: Any = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [first, last]}


def refused(path: Path, match: str, verify: bool | None = None) -> None:
    with pytest.raises(ModelFileError, match=match) as error:
        arrayfile.read(path, "model", verify)
    said = str(error.value)
    assert said.startswith(str(path))
    assert "\n" not in said
    assert len(said) < 400


FOUR = {"a": tensor([4], 0, 16)}

HOSTILE: dict[str, tuple[dict[str, Any], bytes, str]] = {
    "overlapping": ({"a": tensor([4], 0, 16), "b": tensor([4], 8, 24)}, bytes(24), "'b' overlaps"),
    "the same bytes twice": ({"a": tensor([4], 0, 16), "b": tensor([4], 0, 16)}, bytes(16), "overlaps"),
    "gap at the start": ({"a": tensor([4], 8, 24)}, bytes(24), "'a' leaves a gap"),
    "gap inside": ({"a": tensor([4], 0, 16), "b": tensor([4], 24, 40)}, bytes(40), "'b' leaves a gap"),
    "beyond the end": ({"a": tensor([400], 0, 1600)}, bytes(16), "'digest'|overlaps"),
    "product overflows to zero": ({"a": tensor([2**32, 2**32], 0, 0)}, b"", "impossible shape"),
    "product overflows to what is there": ({"a": tensor([2**62 + 4], 0, 16)}, bytes(16), "'a' has shape"),
    "zero hides a huge side": ({"a": tensor([0, 2**49], 0, 0)}, b"", "impossible shape"),
    "larger than a side may be": ({"a": tensor([2**70], 0, 16)}, bytes(16), "'a' has shape"),
    "size that does not fit the shape": ({"a": tensor([3], 0, 16)}, bytes(16), "does not fit"),
    "size zero for a shape that is not": ({"a": tensor([4], 0, 0)}, b"", "does not fit"),
    "backward": ({"a": tensor([4], 16, 0)}, bytes(16), "does not fit"),
    "not aligned": ({"a": tensor([1], 0, 1, "U8"), "b": tensor([1], 1, 5)}, bytes(5), "does not fit"),
    "negative side": ({"a": tensor([-4], 0, 16)}, bytes(16), "'a' has shape"),
    "negative offset": ({"a": tensor([4], -16, 0)}, bytes(16), "'a' has shape"),
    "side that is a float": ({"a": tensor([4.0], 0, 16)}, bytes(16), "'a' has shape"),
    "side that is true": ({"a": tensor([True], 0, 4)}, bytes(4), "'a' has shape"),
    "shape that is no list": ({"a": tensor("4", 0, 16)}, bytes(16), "'a' has shape"),
    "many sides": ({"a": tensor([1] * 9, 0, 4)}, bytes(4), "'a' has shape"),
    "three offsets": ({"a": {**FOUR["a"], "data_offsets": [0, 8, 16]}}, bytes(16), "'a' has shape"),
    "unknown type": ({"a": tensor([4], 0, 16, "BF16")}, bytes(16), "type BF16"),
    "type that is a list": ({"a": tensor([4], 0, 16, ["F32"])}, bytes(16), "type .'F32'"),
    "entry that is no object": ({"a": 7}, b"", "entry of array 'a' is 7"),
    "entry with more": ({"a": {**FOUR["a"], "code": "x"}}, bytes(16), "entry of array 'a'"),
    "name that is a path": ({"../a": FOUR["a"]}, bytes(16), "no name for an array"),
    "name of control characters": ({"a\n\x1b[2J": FOUR["a"]}, bytes(16), "no name for an array"),
    "name that is half a character": ({"\ud800": FOUR["a"]}, bytes(16), "no name for an array"),
    "name that is long": ({"a" * 1000: FOUR["a"]}, bytes(16), "no name for an array"),
    "empty name": ({"": FOUR["a"]}, bytes(16), "no name for an array"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_header_is_refused(tmp_path, case):
    entries, data, match = HOSTILE[case]
    refused(forged(tmp_path / "file", entries, data), match)


METADATA: dict[str, tuple[Any, str]] = {
    "none": (0, "not one that dyads wrote"),
    "of another program": ({"format": "pt"}, "not one that dyads wrote"),
    "newer": ({"format": "dyads", "version": "2", "kind": "model", "payload": "{}"}, "version 2 .* update dyads"),
    "no number": ({"format": "dyads", "version": "x", "kind": "model", "payload": "{}"}, "version is x"),
    "number type": ({"format": "dyads", "version": 1, "kind": "model", "payload": "{}"}, "version is 1"),
    "other kind": ({"format": "dyads", "version": "1", "kind": "checkpoint", "payload": "{}"}, "kind checkpoint"),
    "no payload": ({"format": "dyads", "version": "1", "kind": "model"}, "no payload"),
    "payload that is no JSON": ({"format": "dyads", "version": "1", "kind": "model", "payload": "{"}, "payload cannot"),
    "payload that is a list": ({"format": "dyads", "version": "1", "kind": "model", "payload": "[]"}, "not an object"),
    "payload with NaN": ({"format": "dyads", "version": "1", "kind": "model", "payload": '{"a": NaN}'}, "NaN"),
    "payload with a key twice": (
        {"format": "dyads", "version": "1", "kind": "model", "payload": '{"a": 1, "a": 2}'},
        "key a comes twice",
    ),
    "payload nested deeply": (
        {"format": "dyads", "version": "1", "kind": "model", "payload": "[" * 100_000},
        "payload cannot be read .it is nested",
    ),
    "payload with a number of many digits": (
        {"format": "dyads", "version": "1", "kind": "model", "payload": '{"a": ' + "9" * 1_000_000 + "}"},
        "1000000 digits",
    ),
}


@pytest.mark.parametrize("case", METADATA)
def test_metadata_that_are_not_ours_are_refused(tmp_path, case):
    metadata, match = METADATA[case]
    refused(forged(tmp_path / "file", FOUR, bytes(16), metadata=metadata), match)


TEXTS = {
    "a key twice": ('{"a": {}, "a": {}}', "key a comes twice"),
    "nested deeply": ('{"a":' * 200_000, "nested"),
    "a list": ("[1, 2]", "not open|no file of dyads"),
    "no JSON": ("{'a': 1}", "header cannot be read"),
    "infinite": ('{"a": Infinity}', "Infinity"),
    "empty": ("{}", "not one that dyads wrote"),
    "a string for ever": ('{"a', "header cannot be read"),
}


@pytest.mark.parametrize("case", TEXTS)
def test_a_header_that_is_no_object_is_refused(tmp_path, case):
    text, match = TEXTS[case]
    refused(forged(tmp_path / "file", text=text), match)


def test_a_header_that_is_not_utf8_is_refused(tmp_path):
    raw = b'{"\xff": 1}'
    (tmp_path / "file").write_bytes(struct.pack("<Q", len(raw)) + raw)
    refused(tmp_path / "file", "header cannot be read")


def test_a_hundred_thousand_arrays_are_refused(tmp_path):
    refused(forged(tmp_path / "file", {f"a{n}": tensor([0], 0, 0) for n in range(100_000)}), "header of .* bytes")
    small = {f"a{n}": tensor([0], 0, 0) for n in range(20_000)}
    refused(forged(tmp_path / "file", small), "claims 20001 arrays")


@pytest.mark.parametrize("length", [header.MOST_BYTES + 1, 2**62, 2**64 - 1])
def test_a_header_longer_than_allowed_is_refused_unread(tmp_path, length):
    (tmp_path / "file").write_bytes(struct.pack("<Q", length) + b"{" + bytes(100))
    refused(tmp_path / "file", f"header of {length} bytes")


def test_a_file_without_a_digest_is_refused(tmp_path):
    refused(forged(tmp_path / "file", FOUR, bytes(16), digest=False), "does not end in a digest")
