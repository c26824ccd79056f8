"""Rows of a sparse matrix, and how cells in any order become rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]


class Csr(NamedTuple):
    """Rows of a sparse matrix: columns ascending within a row, none twice; `val` None means that all are one."""

    ptr: I64
    idx: I32
    val: F32 | None

    @property
    def n_rows(self) -> int:
        return len(self.ptr) - 1

    @property
    def nnz(self) -> int:
        return len(self.idx)

    def counts(self) -> I64:
        """How many entries each row has."""
        return np.diff(self.ptr)

    def rows(self) -> I64:
        """The row number of every entry."""
        return np.repeat(np.arange(self.n_rows), self.counts())

    def values(self) -> F32:
        """The value of every entry."""
        return np.ones(self.nnz, dtype=np.float32) if self.val is None else self.val

    def row(self, r: int) -> I32:
        """The columns of one row."""
        return self.idx[self.ptr[r] : self.ptr[r + 1]]

    def slice(self, first: int, last: int) -> Csr:
        """Rows `first` to `last`, without a copy of their entries."""
        a, b = int(self.ptr[first]), int(self.ptr[last])
        val = None if self.val is None else self.val[a:b]
        return Csr(self.ptr[first : last + 1] - a, self.idx[a:b], val)

    def take(self, rows: I64) -> Csr:
        """These rows, in this order; a row may be asked for twice."""
        counts = self.counts()[rows]
        ptr = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(counts, out=ptr[1:])
        at = np.arange(ptr[-1]) + np.repeat(self.ptr[rows] - ptr[:-1], counts)
        return Csr(ptr, self.idx[at], None if self.val is None else self.val[at])

    def select(self, keep: npt.NDArray[np.bool_]) -> Csr:
        """The entries that are true in `keep`; rows stay."""
        before = np.concatenate([[0], np.cumsum(keep)])
        return Csr(before[self.ptr], self.idx[keep], None if self.val is None else self.val[keep])

    def keys(self, n_columns: int) -> I64:
        """row · n_columns + column of every entry, ascending."""
        return self.rows() * n_columns + self.idx

    def contains(self, rows: I64, columns: I64, n_columns: int) -> npt.NDArray[np.bool_]:
        """Whether the cells (rows[n], columns[n]) are entries."""
        keys, asked = self.keys(n_columns), np.asarray(rows, dtype=np.int64) * n_columns + columns
        at = np.searchsorted(keys, asked)
        found = at < keys.size
        found[found] = keys[at[found]] == asked[found]
        return found

    def grown(self, n_rows: int) -> Csr:
        """The same with empty rows after the last."""
        return self._replace(ptr=np.concatenate([self.ptr, np.full(n_rows - self.n_rows, self.ptr[-1])]))

    def to_scipy(self, n_columns: int) -> Any:
        """A scipy csr_array that shares the arrays where it can."""
        return sparse.csr_array((self.values(), self.idx, self.ptr), shape=(self.n_rows, n_columns))

    def transpose(self, n_columns: int) -> Csr:
        """The columns as rows."""
        val = np.zeros(self.nnz, dtype=np.bool_) if self.val is None else self.val
        turned = sparse.csr_array((val, self.idx, self.ptr), shape=(self.n_rows, n_columns)).tocsc()
        return placed(turned, None if self.val is None else turned.data)


def placed(x: Any, val: F32 | None) -> Csr:
    """The index arrays of a scipy matrix, with values of one's own."""
    return Csr(x.indptr.astype(np.int64), x.indices.astype(np.int32, copy=False), val)


def csr(rows: Any, columns: Any, values: Any, n_rows: int, n_columns: int, duplicates: str = "sum") -> Csr:
    """Rows from cells in any order. Cells that come again are added, averaged or refused.

    Without values every cell counts one, so that adding counts them.
    """
    x = _sorted(np.asarray(rows), np.asarray(columns), values, (n_rows, n_columns))
    starts = _starts(x)
    if starts.size == x.indices.size:
        return placed(x, None if values is None else np.asarray(x.data, dtype=np.float32))
    val = _merged(x, None if values is None else x.data, starts, duplicates)
    ptr = np.searchsorted(starts, x.indptr)
    return Csr(ptr.astype(np.int64), x.indices[starts].astype(np.int32, copy=False), val)


def _sorted(rows: Any, columns: Any, values: Any, shape: tuple[int, int]) -> Any:
    """A scipy CSR with ascending columns, whose cells may come again, in the order given."""
    data = np.zeros(rows.size, dtype=np.bool_) if values is None else held(values)
    few = shape[1] > rows.size
    if few:  # sorting these columns costs less than a place for every column there is
        order = np.argsort(columns, kind="stable")
        data, rows, columns = data[order], rows[order], columns[order]
    cells = sparse.coo_array((data, (rows, columns)), shape=shape)
    cells.has_canonical_format = True  # so that what comes twice stays for `_merged`
    return cells.tocsr() if few else cells.tocsc().tocsr()  # linear, and equals keep their order


def _starts(x: Any) -> I64:
    """The first entry of every cell of a scipy CSR whose columns ascend within a row."""
    new = np.ones(x.indices.size, dtype=bool)
    np.not_equal(x.indices[1:], x.indices[:-1], out=new[1:])
    new[x.indptr[:-1][np.diff(x.indptr) > 0]] = True
    return np.flatnonzero(new)


def _merged(x: Any, values: Any, starts: I64, duplicates: str) -> F32 | None:
    """One value for the entries that share a cell."""
    many = np.diff(starts, append=x.indices.size)
    if duplicates == "refuse":
        twice = starts[np.argmax(many > 1)]
        raise DuplicateCellError(int(np.searchsorted(x.indptr, twice, side="right") - 1), int(x.indices[twice]))
    if values is None:
        return many.astype(np.float32) if duplicates == "sum" else None
    sums = np.add.reduceat(np.asarray(values, dtype=np.float64), starts)
    return np.asarray(sums / many if duplicates == "mean" else sums, dtype=np.float32)


class DuplicateCellError(Exception):
    """A cell that came twice where that is refused; who called knows its ids."""

    def __init__(self, row: int, column: int) -> None:
        super().__init__(row, column)
        self.row, self.column = row, column


def held(values: Any) -> Any:
    """Numbers in a type that scipy's matrices hold: the machine's byte order, 32 bits or more for decimals."""
    array = np.asarray(values)
    half = array.dtype.kind == "f" and array.dtype.itemsize == 2
    wide = np.dtype(np.float32) if half else array.dtype.newbyteorder("=")
    return array.astype(wide, copy=False)
