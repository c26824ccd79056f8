"""Whether the parts of a fitted model that came out of a file fit together; a DataError says which do not."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from dyads.engines import engine_for
from dyads.errors import DataError
from dyads.pairs import Csr, Pairs
from dyads.posterior import Posterior
from dyads.state import Bare, bare
from dyads.streams import At
from dyads.vocabulary import Vocabulary

LINKS = ("identity", "logistic", "probit", "none")
_BLOCK = 1 << 24  # bytes or entries looked at together
_IDS = {"range": {"size": "int64"}, "integers": {"ids": "int64"}, "strings": {"bytes": "uint8", "offsets": "int64"}}


def vocabulary(kind: str, arrays: Mapping[str, Any], side: str) -> Vocabulary:
    """The vocabulary of these arrays, whose strings are cut where UTF-8 allows it."""
    found = {name: str(getattr(array, "dtype", None)) for name, array in arrays.items()}
    if kind not in _IDS or found != _IDS[kind] or any(array.ndim != 1 for array in arrays.values()):
        raise DataError(f"the {side} ids are {kind!r} in arrays {found}, which is no vocabulary")
    if kind == "range" and (arrays["size"].size != 1 or not 0 <= arrays["size"][0] < 2**31):
        raise DataError(f"the {side} ids are a range of {arrays['size'].tolist()[:2]} numbers, which cannot be")
    made = Vocabulary.from_arrays(kind, arrays)
    if kind == "strings" and not _is_text(arrays["bytes"], arrays["offsets"]):
        raise DataError(f"the {side} ids are not UTF-8 text")
    return made


def _is_text(data: np.ndarray[Any, Any], offsets: np.ndarray[Any, Any]) -> bool:
    if data.size == 0 or data.max() < 128:
        return True
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for at in range(0, data.size, _BLOCK):
            decoder.decode(data[at : at + _BLOCK].tobytes(), final=at + _BLOCK >= data.size)
    except UnicodeDecodeError:
        return False
    starts = data[offsets[offsets < data.size]]
    return not ((starts & 0xC0) == 0x80).any()  # a string that starts inside a character


def rows(block: Csr, n_rows: int, n_columns: int, what: str) -> None:
    """Row pointers and columns that stay inside."""
    ptr, idx, val = block
    if ptr.ndim != 1 or idx.ndim != 1 or ptr.size != n_rows + 1:
        raise DataError(f"the {what} have {ptr.size - 1} rows and there are {n_rows} users")
    if ptr[0] != 0 or ptr[-1] != idx.size or (ptr[1:] < ptr[:-1]).any():
        raise DataError(f"the rows of the {what} do not cut its {idx.size} entries from start to end")
    if val is not None and val.shape != idx.shape:
        raise DataError(f"the {what} have {idx.size} entries and {val.size} values")
    if idx.size and int(idx.view(np.uint32).max()) >= n_columns:  # a negative number is a large one here
        raise DataError(f"the {what} name an item outside the {n_columns} items")


def posterior(found: Posterior, n_users: int, n_items: int) -> None:
    """Shapes that agree with each other and with the vocabularies."""
    components, width = found.offset.size, found.user.shape[-1:]
    user, item = (components, n_users, *width), (components, n_items, *width)
    each = (components,)
    due: dict[str, tuple[int, ...]] = {
        **dict.fromkeys(("user", "user_var"), user),
        **dict.fromkeys(("item", "item_var"), item),
        **dict.fromkeys(("offset", "offset_var", "noise"), each),
        "user_alpha": user[:2],
        "item_alpha": item[:2],
        "clip": (2,),
    }
    for name, shape in due.items():
        array = getattr(found, name)
        if array is not None and array.shape != shape:
            raise DataError(f"the posterior's {name} is of shape {array.shape} and should be {shape}")
    if components == 0 or len(user) != 3 or not 0 <= found.n_factors <= user[2] or found.link not in LINKS:
        raise DataError(
            f"the posterior has {components} components, {found.n_factors} factors and the link {found.link!r}, which "
            "cannot be"
        )
    for array in _arrays(found.small):
        if array.shape[:1] != (components,):
            raise DataError(f"a part of the posterior is of shape {array.shape}; it has {components} components")


def states(found: tuple[Bare, ...], n_users: int, n_items: int, empty: bool) -> None:
    """One row for every user and item; no rows where the file is `empty` of pairs."""
    if not found:
        raise DataError("there is no state of a chain")
    for state in found:
        if state.tick < 0 or any(isinstance(side, tuple) == empty for side in (state.user, state.item)):
            raise DataError(f"a state at tick {state.tick} is not whole")
        for side, n in (("user", n_users), ("item", n_items)):
            for array in _arrays(getattr(state, side)):
                if array.shape[:1] != (n,):
                    raise DataError(f"a state has an array of shape {array.shape} for {n} {side}s")


def as_made(model: Any, posterior: Posterior, states: tuple[Bare, ...]) -> None:
    """Parts of the kinds, types and widths that the model makes itself: a state and a posterior of few rows say which.

    They have more users than anything of `n_factors` is wide, and still more items, so that a length of theirs stands
    for all users or all items.
    """
    n_factors, shape = posterior.n_factors, posterior.user.shape[1:2] + posterior.item.shape[1:2]
    few = (n_factors + 11, n_factors + 13)
    given = {"n_factors": n_factors} if hasattr(model, "n_factors") else {}
    fresh, engine = type(model)(**(model.get_params() | given)), engine_for("cpu", 1)
    state = fresh.init(Pairs.from_matrix(sparse.eye_array(*few)), engine, At(0, 0, 0))
    lengths = dict(zip(few, shape, strict=True))
    for found in states:
        _alike(found, bare(state, engine), lengths, "state")
    made = fresh.read_out(state, engine)
    _alike(posterior._replace(clip=None), made._replace(clip=None), lengths, "posterior", len(posterior.offset))


def _alike(found: Any, due: Any, lengths: Mapping[int, int], name: str, components: int | None = None) -> None:
    if isinstance(due, tuple) and type(found) is type(due):
        for field, one, other in zip(type(due)._fields, found, due, strict=True):  # type: ignore[attr-defined]
            _alike(one, other, lengths, f"{name}.{field}", components)
    elif isinstance(due, np.ndarray) and isinstance(found, np.ndarray):
        shape = tuple(lengths.get(n, n) for n in due.shape)
        shape = shape if components is None else (components, *shape[1:])
        if (found.dtype, found.shape) != (due.dtype, shape):
            raise DataError(f"its {name} is {found.dtype}{found.shape} and should be {due.dtype}{shape}")
    elif isinstance(due, (tuple, np.ndarray)) or (found != due and (due is None or isinstance(due, str))):
        raise DataError(f"its {name} is {_kind(found)} and should be {_kind(due)}")


def _kind(value: Any) -> str:
    return repr(value) if value is None or isinstance(value, str) else f"a {type(value).__name__}"


def _arrays(tree: Any) -> Iterator[np.ndarray[Any, Any]]:
    if isinstance(tree, np.ndarray):
        yield tree
    elif isinstance(tree, (tuple, list)):
        for part in tree:
            yield from _arrays(part)
