"""Who goes with what: `Pairs`, the one data type, two vocabularies around a sparse matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dyads.csr import F32, F64, I32, I64, U32, Csr, DuplicateCellError, csr, held, placed
from dyads.errors import DataError, NotNumbersError
from dyads.vocabulary import Vocabulary

__all__ = ["DUPLICATES", "F32", "F64", "I32", "I64", "U32", "Csr", "DuplicateCellError", "Pairs", "csr"]

DUPLICATES = ("sum", "mean", "refuse")


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of a user and an item, each with a value: a count, a rating, or one.

    `hidden` cells are held out: they are data for no model, whatever their value.
    """

    users: Vocabulary
    items: Vocabulary
    by_user: Csr
    hidden: Csr | None = None

    @staticmethod
    def of(users: Any, items: Any, values: Any = None, *, duplicates: str = "sum", hidden: Csr | None = None) -> Pairs:
        """Pairs from ids, strings or whole numbers, numbered in order of first appearance."""
        (rows, user_numbers), (columns, item_numbers) = (
            Vocabulary.factorize(users, "user"),
            Vocabulary.factorize(items, "item"),
        )
        return Pairs.numbered(rows, columns, user_numbers, item_numbers, values, duplicates)._with(hidden)

    @staticmethod
    def numbered(
        users: Vocabulary, items: Vocabulary, rows: Any, columns: Any, values: Any = None, duplicates: str = "sum"
    ) -> Pairs:
        """Pairs from row and column numbers."""
        if duplicates not in DUPLICATES:
            raise DataError(f"duplicates={duplicates!r} is unknown: give one of {', '.join(map(repr, DUPLICATES))}")
        _check_lengths(rows, columns, values)
        values = _finite(values, users, items, rows, columns)
        try:
            return Pairs(users, items, csr(rows, columns, values, len(users), len(items), duplicates))
        except DuplicateCellError as cell:
            (user,), (item,) = users.ids([cell.row]).tolist(), items.ids([cell.column]).tolist()
            raise DataError(
                f"user {user!r} and item {item!r} come together more than once: give duplicates='mean' to average "
                "their values or duplicates='sum' to add them"
            ) from None

    @staticmethod
    def from_matrix(matrix: Any, users: Any = None, items: Any = None) -> Pairs:
        """Pairs from a scipy sparse matrix of any format, or the nonzero cells of an array; stored zeros stay."""
        x = _as_csr(matrix)
        who = Vocabulary.range(x.shape[0]) if users is None else _named(users, x.shape[0], "user")
        what = Vocabulary.range(x.shape[1]) if items is None else _named(items, x.shape[1], "item")
        block = placed(x, None)
        values = _finite(x.data, who, what, None, None, block)
        return Pairs(who, what, block._replace(val=_unless_ones(values)))

    @property
    def shape(self) -> tuple[int, int]:
        """Users and items."""
        return len(self.users), len(self.items)

    @property
    def n_pairs(self) -> int:
        """How many different cells are given."""
        return self.by_user.nnz

    def __len__(self) -> int:
        return self.n_pairs

    @cached_property
    def by_item(self) -> Csr:
        """The same cells, one row per item."""
        return self.by_user.transpose(len(self.items))

    @cached_property
    def hidden_by_item(self) -> Csr | None:
        """The hidden cells, one row per item."""
        return None if self.hidden is None else self.hidden.transpose(len(self.items))

    def rows(self) -> I64:
        """The user number of every pair."""
        return self.by_user.rows()

    def columns(self) -> I32:
        """The item number of every pair."""
        return self.by_user.idx

    def values(self) -> F32:
        """The value of every pair."""
        return self.by_user.values()

    def to_scipy(self) -> Any:
        """A scipy csr_array of users × items."""
        return self.by_user.to_scipy(len(self.items))

    def select(self, keep: npt.NDArray[np.bool_]) -> Pairs:
        """The pairs that are true in `keep`, under the same vocabularies."""
        return replace(self, by_user=self.by_user.select(keep))

    def with_hidden(self, hidden: Csr | None) -> Pairs:
        """The same pairs with these cells held out."""
        return replace(self, hidden=hidden)

    _with = with_hidden

    def __iter__(self) -> Iterator[tuple[Any, Any, float]]:
        """(user, item, value) by id, in row order."""
        users, items = self.users.ids(self.rows()), self.items.ids(self.columns())
        return iter(zip(users.tolist(), items.tolist(), self.values().tolist(), strict=True))

    def __repr__(self) -> str:
        hidden = "" if self.hidden is None else f", {self.hidden.nnz} cells hidden"
        return f"Pairs({len(self.users)} users x {len(self.items)} items, {self.n_pairs} pairs{hidden})"

    @cached_property
    def fingerprint(self) -> str:
        """A digest of ids, cells, values and hidden cells: equal data have equal fingerprints on every machine."""
        digest = blake2b(digest_size=16)
        for vocabulary in (self.users, self.items):
            _digest(digest, vocabulary.kind.encode(), *vocabulary.arrays().values())
        for block in (self.by_user, self.hidden):
            _digest(digest, b"rows" if block is not None else b"none", *(block or ()))
        return digest.hexdigest()


def _digest(digest: Any, title: bytes, *arrays: Any) -> None:
    digest.update(title)
    array: Any
    for array in arrays:
        digest.update(b"-" if array is None else f"{array.dtype.str}{array.size}".encode())
        if array is not None and array.size:
            whole: Any = np.ascontiguousarray(array)
            digest.update(memoryview(whole).cast("B"))


def _named(ids: Any, n: int, side: str) -> Vocabulary:
    made = ids if isinstance(ids, Vocabulary) else Vocabulary.of(ids, side)
    if len(made) != n:
        raise DataError(f"{len(made)} {side} ids were given for a matrix with {n} {side}s: give one per {side}")
    return made


def _check_lengths(rows: Any, columns: Any, values: Any) -> None:
    if len(rows) != len(columns):
        raise DataError(f"{len(rows)} users and {len(columns)} items were given: a pair needs one of each")
    if values is not None and len(values) != len(rows):
        raise DataError(f"{len(values)} values were given for {len(rows)} pairs: give one per pair, or none")


def _finite(
    values: Any, users: Vocabulary, items: Vocabulary, rows: Any, columns: Any, block: Csr | None = None
) -> Any:
    """The values as they are, once it is known that each is a finite number."""
    if values is None:
        return None
    values = np.asarray(values)
    if values.dtype.kind not in "fiub":
        raise DataError(f"values are of type {values.dtype}: give whole or decimal numbers")
    bad = np.flatnonzero(~np.isfinite(values)) if values.dtype.kind == "f" else np.empty(0, dtype=np.int64)
    bad = np.flatnonzero(np.abs(values) > np.finfo(np.float32).max) if not bad.size and values.size else bad
    if bad.size:
        at = int(bad[0])
        row = int(np.searchsorted(block.ptr, at, side="right") - 1) if block is not None else int(rows[at])
        column = int(block.idx[at]) if block is not None else int(columns[at])
        (user,), (item,) = users.ids([row]).tolist(), items.ids([column]).tolist()
        raise DataError(
            f"value {values[at].item()!r} of user {user!r} and item {item!r} is not a finite number (NaN, infinite or "
            "too large for 32 bits): drop or replace it"
        )
    return values


def _unless_ones(values: Any) -> F32 | None:
    """The values in 32 bits, None when all are one."""
    as32 = np.asarray(values, dtype=np.float32)
    return None if (as32 == 1.0).all() else as32


def _as_csr(matrix: Any) -> Any:
    """A scipy CSR with sorted, unique entries; the caller's matrix is not changed."""
    is_sparse: bool = sparse.issparse(matrix)
    if is_sparse:
        if matrix.ndim != 2:
            raise DataError(f"a matrix has two dimensions, not the shape {matrix.shape}")
        if matrix.dtype.kind == "c":
            raise DataError(f"the matrix is of type {matrix.dtype}; Complex data not supported: give real numbers")
        _check_indices(matrix)
        if matrix.dtype.kind in "iu" and not getattr(matrix, "has_canonical_format", True):
            matrix = matrix.astype(np.int64)  # for sums of cells that come again would wrap in 8 bits
        given = sparse.csr_array(matrix)
    else:
        given = sparse.csr_array(held(_dense(matrix)))
    if not given.has_canonical_format:
        given = given.copy()  # sorting and adding in place would change arrays that the caller may share
        given.sum_duplicates()
    if given.shape[1] > np.iinfo(np.int32).max or given.shape[0] > np.iinfo(np.int32).max:
        raise DataError(f"a matrix of shape {given.shape} has more than 2^31 - 1 rows or columns: split it")
    return given


def _check_indices(matrix: Any) -> None:
    """Refuse a compressed matrix whose index arrays point outside it, for compiled code would follow them."""
    if matrix.format not in ("csr", "csc"):
        return
    width = matrix.shape[matrix.format == "csr"]
    ptr, idx = matrix.indptr, matrix.indices
    whole = len(ptr) == matrix.shape[matrix.format == "csc"] + 1 and ptr[0] == 0 and ptr[-1] <= len(idx)
    whole = whole and len(idx) == len(matrix.data) and not (np.diff(ptr) < 0).any()
    bad = idx[(idx < 0) | (idx >= width)]
    if not whole or bad.size:
        what = f"the index {bad[0]} where there are {width}" if bad.size else "row starts that do not fit its entries"
        raise DataError(f"the sparse matrix is damaged, with {what}: build it anew, such as by its tocoo().tocsr()")


def _dense(matrix: Any) -> Any:
    if not hasattr(matrix, "__array__") and not isinstance(matrix, (list, tuple)):
        path = "the path of a file" if isinstance(matrix, (str, bytes)) else f"a {type(matrix).__name__}"
        raise DataError(f"{path} is no matrix: give dyads.read(...), a sparse matrix or an array of two dimensions")
    if np.ma.isMaskedArray(matrix) and np.ma.getmaskarray(matrix).any():
        raise DataError(
            "the array has masked cells, which may be zeros or unknown: give matrix.filled(0) or a sparse one"
        )
    try:
        array = np.asarray(matrix)
    except ValueError as error:
        raise DataError(f"the rows are no matrix ({error}): make them of one length") from None
    if array.dtype.kind == "c":
        raise DataError(f"the matrix is of type {array.dtype}; Complex data not supported: give real numbers")
    if array.ndim != 2:
        raise DataError(
            f"a matrix has two dimensions, not the shape {array.shape}; Reshape your data, "
            "as in X.reshape(1, -1) for one row"
        )
    if array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise NotNumbersError(f"the matrix holds something that is no number ({error}): give numbers") from None
    if array.dtype.kind not in "fiub":
        raise DataError(f"the matrix is of type {array.dtype}: give whole or decimal numbers")
    return array
