"""Files of arrays: written whole or not at all, opened without a copy and without trust.

A file is made beside its place under a temporary name, forced to the disk, and renamed: whoever opens the path finds
the old file or the new one, never a half. Opening checks the header (see `header`), then maps the arrays read-only.
The data's digest is compared too, unless the file is large and was not asked to be verified.
"""

from __future__ import annotations

import mmap
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from dyads import header
from dyads.errors import ModelFileError
from dyads.header import Header, RefusedError, Tensor

Arrays = dict[str, np.ndarray[Any, Any]]

VERIFIED = 1 << 26  # bytes: the data of smaller files are always compared with their digest
STALE = ".part"  # how the name of a file that is not finished ends
_CHUNK = 1 << 20  # numbers written at a time where an array is not one run of bytes
_STRANGERS = {
    **{b"\x80" + bytes([n]): "a pickle file, and pickle files can run code" for n in range(2, 6)},
    b"PK": "a zip archive (perhaps .npz or PyTorch)",
    b"\x93NUMPY": "a NumPy .npy file",
    b"\x89HDF": "an HDF5 file",
    b"\x1f\x8b": "a gzip file",
    b"PAR1": "a Parquet file",
}


def write(path: str | os.PathLike[str], kind: str, payload: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a file of arrays; `payload` is anything that JSON can hold."""
    tensors = header.layout(arrays)
    head = header.encode(kind, payload, tensors)
    with replacing(path) as out:
        out.write(head)
        write_body(out, head, tensors, arrays)


def read(path: str | os.PathLike[str], kind: str, verify: bool | None = None) -> tuple[dict[str, Any], Arrays]:
    """Payload and arrays of a file of this kind, the arrays mapped and read-only.

    `verify`: compare all data with their digest; by default where the file is small.
    """
    with reading(path), open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        head, found = read_header(file, size, kind)
        start = len(head)
        if size != start + found.extent:
            raise RefusedError(
                f"is truncated or altered: it should be {start + found.extent} bytes long and is {size}; "
                "save it again, or get a whole copy"
            )
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        arrays = map_body(content, found.tensors, start)
        check_digest(head, memoryview(content)[start:], found, size <= VERIFIED if verify is None else verify)
    return found.payload, arrays


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A new file that takes the place of `path` when the block ends well, and leaves no trace when it does not."""
    final = Path(os.path.realpath(path))
    refuse_special(final)
    beside = final.with_name(f".{final.name}.{secrets.token_hex(8)}{STALE}")
    with writing(path):
        try:
            with open(beside, "xb") as out:
                yield out
                out.flush()
                os.fsync(out.fileno())
            os.replace(beside, final)
        except BaseException:
            with suppress(OSError):
                beside.unlink(missing_ok=True)
            raise
        fsync_folder(final.parent)


def refuse_special(path: str | os.PathLike[str]) -> None:
    """A ModelFileError for a device, pipe or socket: a rename would put an ordinary file in its place."""
    found = Path(path)
    if found.exists() and not (found.is_file() or found.is_dir()):
        raise ModelFileError(f"{os.fspath(path)} is a device, pipe or socket, which a file would replace: name a file")


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """What the system says against writing, as a sentence."""
    try:
        yield
    except OSError as error:
        raise ModelFileError(
            f"{os.fspath(path)} cannot be written ({error.strerror or error}): choose a folder that exists, allows it "
            "and has room"
        ) from error


def fsync_folder(folder: Path) -> None:
    """Make a rename in this folder last through a power cut."""
    if os.name == "posix":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def write_body(out: BinaryIO, head: bytes, tensors: list[Tensor], arrays: Arrays) -> None:
    """The data of all tensors in their order, without a copy of any, and the digest after them."""
    digest = sha256()
    for tensor in tensors[:-1]:
        for part in _parts(arrays[tensor.name], tensor.dtype):
            out.write(part)
            digest.update(part)
    out.write(sha256(head).digest() + digest.digest())


def _parts(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> Iterator[memoryview]:
    """The array's bytes in C order, little-endian, a piece at a time."""
    nditer: Any = np.nditer  # NumPy's stubs do not know "contig"
    pieces = nditer(
        array,
        flags=["external_loop", "buffered", "zerosize_ok"],
        op_flags=[["readonly", "contig"]],
        op_dtypes=[dtype],
        order="C",
        casting="equiv",
        buffersize=_CHUNK,
    )
    return (memoryview(piece).cast("B") for piece in pieces if piece.size)


def read_header(file: BinaryIO, size: int, kind: str) -> tuple[bytes, Header]:
    """The header's bytes with the length in front, and what they say."""
    if size == 0:
        raise RefusedError("is empty: save it again, or get a whole copy")
    start = file.read(16)
    length = int.from_bytes(start[:8], "little")
    if start[8:9] != b"{":
        what = next((name for sign, name in _STRANGERS.items() if start.startswith(sign)), "no file of dyads")
        raise RefusedError(f"is {what}: give a file made by model.save(path)")
    if length > header.MOST_BYTES:
        raise RefusedError(f"claims a header of {length} bytes where {header.MOST_BYTES} are allowed: do not use it")
    if length > size - 8:
        raise RefusedError(f"is truncated: its header takes {length} bytes and {size - 8} are there; get a whole copy")
    head = start + file.read(length - 8) if length >= 8 else start[: 8 + length]
    return head, header.decode(head[8:], kind)


def map_body(content: Any, tensors: list[Tensor], start: int) -> Arrays:
    """Read-only arrays over these bytes, without the digest."""
    return {t.name: np.ndarray(t.shape, t.dtype, content, start + t.first) for t in tensors[:-1]}


def check_digest(head: bytes, body: memoryview, found: Header, verify: bool) -> None:
    """Compare the header, and the data where asked, with what was noted when they were written."""
    data, noted = body[: found.tensors[-1].first], body[found.tensors[-1].first : found.extent]
    if sha256(head).digest() != noted[:32]:
        raise RefusedError(
            "was altered or damaged: its header does not have the digest it was saved with; get a whole copy"
        )
    if verify and sha256(data).digest() != noted[32:]:
        raise RefusedError(
            "was altered or damaged: its data do not have the digest they were saved with; get a whole copy"
        )


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open an ordinary file; a folder, pipe or device is refused before it can block."""
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise RefusedError("is a folder: give the model file in it")
    if not stat.S_ISREG(mode):
        raise RefusedError("is no ordinary file: give a file made by model.save(path)")
    return open(path, "rb")


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[None]:
    """What speaks against a file, as a sentence that starts with its path."""
    try:
        yield
    except RefusedError as error:
        raise ModelFileError(f"{os.fspath(path)} {error}") from None
    except FileNotFoundError:
        raise ModelFileError(f"{os.fspath(path)} is not there: give a file made by model.save(path)") from None
    except OSError as error:
        why = error.strerror or error
        raise ModelFileError(f"{os.fspath(path)} cannot be read ({why}): check the path and its rights") from None
