"""Matrices in files: Matrix Market text and scipy's npz."""

from __future__ import annotations

import io
import zipfile
from typing import Any

from scipy import sparse

from dyads.errors import DataError
from dyads.pairs import Pairs
from dyads.sources.opening import opened


def matrix_market(path: str) -> Pairs:
    """A Matrix Market file; its rows are the users."""
    from scipy.io import mmread

    with opened(path) as file:
        try:
            matrix = mmread(file)
        except (ValueError, OverflowError) as error:
            raise DataError(f"{path} cannot be read as Matrix Market ({error}): correct it or write it again") from None
    return _pairs(path, matrix)


def npz(path: str) -> Pairs:
    """A sparse matrix that scipy.sparse.save_npz wrote; its rows are the users."""
    with opened(path) as file:
        packed = io.BytesIO(file.read())
    try:
        matrix = sparse.load_npz(packed)
    except (ValueError, KeyError, NotImplementedError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(
            f"{path} holds no sparse matrix of scipy.sparse.save_npz ({error}): save one, or unpack the archive and "
            "give the file in it"
        ) from None
    return _pairs(path, matrix)


def _pairs(path: str, matrix: Any) -> Pairs:
    try:
        return Pairs.from_matrix(matrix)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
