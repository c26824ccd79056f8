"""A file's bytes, gzipped or not, and what its first bytes say it is."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, NamedTuple

import numpy as np

from dyads.errors import DataError

SAMPLE = 1 << 16  # bytes looked at before a file is read
SHORT = b"\x1f"  # stands for a delimiter of several bytes
BOM = b"\xef\xbb\xbf"
_MAGIC = ((b"PAR1", "parquet"), (b"PK\x03\x04", "npz"), (b"%%MatrixMarket", "mtx"))


class Head(NamedTuple):
    """The beginning of a file."""

    raw: bytes
    whole: bool  # nothing comes after it
    gzipped: bool
    kind: str | None  # parquet, npz or mtx, by its first bytes; None: text, if anything

    def lines(self) -> list[str]:
        """The complete lines that are not empty, as text; bytes that are not UTF-8 are replaced."""
        lines = self.raw.removeprefix(BOM).decode("utf-8", "replace").splitlines(keepends=True)
        if not self.whole and len(lines) > 1:
            lines.pop()
        return [line for line in lines if line.strip("\r\n")]


@contextmanager
def opened(path: str) -> Iterator[IO[bytes]]:
    """The file's bytes, unpacked where it is gzipped; a DataError where it cannot be opened or unpacked."""
    try:
        with open(path, "rb") as file:
            packed = file.peek(2)[:2] == b"\x1f\x8b"
            with gzip.GzipFile(fileobj=file) if packed else file as stream:
                yield stream  # type: ignore[misc]
    except FileNotFoundError:
        raise DataError(f"there is no file {path}: check the path (from {os.getcwd()})") from None
    except IsADirectoryError:
        raise DataError(f"{path} is a folder: give one file") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path} is a damaged or truncated gzip file ({error}): pack it again") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror or error}): check the file and its rights") from None


def head(path: str) -> Head:
    """The first bytes of a file, after unpacking."""
    with opened(path) as file:
        raw = file.read(SAMPLE)
        whole = len(raw) < SAMPLE or not file.read(1)
        gzipped = isinstance(file, gzip.GzipFile)
    if not raw.strip():
        raise DataError(f"{path} is empty: give a file with one pair or more")
    kind = next((kind for magic, kind in _MAGIC if raw.startswith(magic)), None)
    if kind is None:
        _must_be_text(path, raw)
    return Head(raw, whole, gzipped, kind)


def _must_be_text(path: str, raw: bytes) -> None:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{path} is UTF-16 text: save it as UTF-8")
    if b"\0" in raw:
        line = raw[: raw.index(b"\0")].count(b"\n") + 1
        raise DataError(
            f"{path} holds a zero byte in line {line}, so it is no text: give CSV, TSV, Parquet, Matrix Market, npz or "
            "FIMI"
        )


class Tap(io.RawIOBase):
    """A stream that passes bytes on: without what stands before the first line, with one byte for a long delimiter.

    It counts the lines, the empty ones among them and the quotes that go by.
    """

    def __init__(self, source: IO[bytes], delimiter: str = ",") -> None:
        self._source, self._long = source, delimiter.encode() if len(delimiter) > 1 else b""
        self._rest, self._first, self._last = b"", True, b"\n"
        self.lines = self.quotes = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """At least one byte, and `size` at most, until the end."""
        block = b""
        while not block:
            got = self._source.read(max(size - len(self._rest), 1) if size > 0 else size)
            block, self._rest = self._rest + got, b""
            if self._first:
                block = block.removeprefix(BOM).lstrip(b"\r\n")
                self._first = not block
            if self._long and got:
                block = self._replaced(block)
            if got and block.endswith(b"\r"):  # Arrow drops a line feed that begins the block after it, in quotes too
                block, self._rest = block[:-1], b"\r" + self._rest
            if not got:
                break
        self._count(block)
        return block

    def _replaced(self, block: bytes) -> bytes:
        """The block with the long delimiter in one byte; what may be the start of another one waits."""
        block = block.replace(self._long, SHORT)
        for keep in range(len(self._long) - 1, 0, -1):
            if block.endswith(self._long[:keep]):
                self._rest = block[-keep:]
                return block[:-keep]
        return block

    def _count(self, block: bytes) -> None:
        """A line is counted where it starts and is not empty."""
        joined = self._last + block.replace(b"\r\n", b"\n")
        if b"\n\n" in joined:
            ends = np.frombuffer(joined, dtype=np.uint8) == ord("\n")
            self.lines += int(np.count_nonzero(ends[:-1] & ~ends[1:]))
        else:
            self.lines += joined.count(b"\n") - joined.endswith(b"\n")
        self.quotes += block.count(b'"')
        self._last = joined[-1:]
