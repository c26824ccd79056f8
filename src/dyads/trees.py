"""NamedTuple trees as flat arrays and a plan in JSON, and back without running anything the plan says.

A plan is JSON as it stands for None, booleans, integers, finite floats, strings and lists; an object with one key
stands for the rest:

    {"array": name}     an array of the file            {"number": name}    a NumPy scalar, kept as an array of none
    {"float": "inf"}    a float that JSON lacks         {"tuple": [...]}    {"dict": [[key, value], ...]}
    {"Csr": {...}}      a NamedTuple, by its class's name; which names there are the reader says, never the file
"""

from __future__ import annotations

import math
import types
from collections.abc import Iterable, Mapping
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

Arrays = dict[str, np.ndarray[Any, Any]]
MOST_DIGITS = 24
_NUMBERS = {int: (int, np.integer), float: (int, float, np.integer, np.floating)}
_TAGS = ("array", "number", "float", "tuple", "dict")


class PlanError(ValueError):
    """A plan that does not fit the arrays or classes it is read with, or a value that no plan can hold."""


def flatten(tree: Any, name: str, arrays: Arrays) -> Any:
    """The tree's plan; its arrays are added to `arrays` under names that start with `name`."""
    if isinstance(tree, np.ndarray):
        return {"array": _added(tree, name, arrays)}
    if isinstance(tree, (np.number, np.bool_)):
        return {"number": _added(np.asarray(tree), name, arrays)}
    if tree is None or isinstance(tree, bool):
        return tree
    if isinstance(tree, str):
        return str(tree)
    if isinstance(tree, int) and len(str(tree)) <= MOST_DIGITS:
        return int(tree)
    if isinstance(tree, float):
        return float(tree) if math.isfinite(tree) else {"float": str(float(tree))}
    return _flatten_inner(tree, name, arrays)


def _flatten_inner(tree: Any, name: str, arrays: Arrays) -> Any:
    if hasattr(tree, "_fields"):
        checked(type(tree), tree._asdict())  # what is refused when it is read is not written
        return {type(tree).__name__: {f: flatten(getattr(tree, f), f"{name}.{f}", arrays) for f in tree._fields}}
    if isinstance(tree, (list, tuple)):
        parts = [flatten(part, f"{name}.{n}", arrays) for n, part in enumerate(tree)]
        return {"tuple": parts} if isinstance(tree, tuple) else parts
    if isinstance(tree, dict) and all(isinstance(key, str) for key in tree):
        pairs = enumerate(tree.items())
        return {"dict": [[key, flatten(part, f"{name}.{n}", arrays)] for n, (key, part) in pairs]}
    raise PlanError(f"{name} is {_short(tree)} of type {type(tree).__name__}, which a file of data cannot hold")


def _added(array: np.ndarray[Any, Any], name: str, arrays: Arrays) -> str:
    if array.dtype.kind not in "?biuf" or array.dtype.itemsize > 8:
        raise PlanError(f"{name} is an array of type {array.dtype}, which a file of data cannot hold")
    arrays[name] = array
    return name


def by_name(*classes: type) -> dict[str, type]:
    """NamedTuple classes by their names, for `rebuild`."""
    return {one.__name__: one for one in classes}


def rebuild(plan: Any, arrays: Mapping[str, np.ndarray[Any, Any]], classes: Mapping[str, type]) -> Any:
    """The tree of a plan; only these classes are made, and only with fields that fit their annotations."""
    try:
        return _rebuild(plan, arrays, classes)
    except RecursionError:
        raise PlanError("it is nested too deeply") from None


def _rebuild(plan: Any, arrays: Mapping[str, np.ndarray[Any, Any]], classes: Mapping[str, type]) -> Any:
    if isinstance(plan, list):
        return [_rebuild(part, arrays, classes) for part in plan]
    if not isinstance(plan, dict):
        return plan
    if len(plan) != 1:
        raise PlanError(f"{_short(plan)} has {len(plan)} keys where one is due")
    ((tag, body),) = plan.items()
    if tag in _TAGS:
        return _rebuild_tag(tag, body, arrays, classes)
    if tag not in classes or not isinstance(body, dict):
        raise PlanError(f"{_short(tag)} names no class that is known here")
    fields = {field: _rebuild(part, arrays, classes) for field, part in body.items()}
    return checked(classes[tag], fields)


def _rebuild_tag(tag: str, body: Any, arrays: Mapping[str, np.ndarray[Any, Any]], classes: Mapping[str, type]) -> Any:
    if tag in ("array", "number") and isinstance(body, str) and body in arrays:
        found = arrays[body]
        if tag == "array":
            return found
        if found.shape == ():
            return found[()]
    if tag == "float" and body in ("inf", "-inf", "nan"):
        return float(body)
    if tag == "tuple" and isinstance(body, list):
        return tuple(_rebuild(part, arrays, classes) for part in body)
    if tag == "dict" and isinstance(body, list) and all(map(_is_pair, body)):
        made = {key: _rebuild(part, arrays, classes) for key, part in body}
        if len(made) == len(body):
            return made
    raise PlanError(f"{tag} {_short(body)} means nothing here")


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], str)


def checked(cls: type, fields: dict[str, Any]) -> Any:
    """The NamedTuple of these fields, whose values must be what its annotations say."""
    hints = get_type_hints(cls)
    unknown, missing = set(fields) - set(hints), set(hints) - set(fields) - set(getattr(cls, "_field_defaults", ()))
    if unknown or missing:
        which = f"{_names(unknown)} too much" if unknown else f"no {_names(missing)}"
        raise PlanError(f"a {cls.__name__} has {which}")
    for name, value in fields.items():
        if not fits(value, hints[name]):
            raise PlanError(f"{cls.__name__}.{name} is {_short(value)}")
    return cls(**fields)


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is what a type annotation says, as far as NamedTuples of data need it."""
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if hasattr(origin, "__value__"):  # a type alias with parameters, such as NumPy's NDArray from 2.5 on
        return fits(value, origin.__value__[args])
    if origin in (Union, types.UnionType):
        return any(fits(value, one) for one in args)
    if origin is np.ndarray:
        (scalar,) = get_args(args[1]) or (Any,)
        return isinstance(value, np.ndarray) and (scalar is Any or isinstance(value.dtype.type(), scalar))
    if origin is tuple:
        each = args[:1] * len(value) if args[-1] is Ellipsis and isinstance(value, tuple) else args
        return isinstance(value, tuple) and len(value) == len(each) and all(map(fits, value, each))
    if origin is not None:
        return isinstance(value, origin)
    if hint in _NUMBERS:
        return isinstance(value, _NUMBERS[hint]) and not isinstance(value, bool)
    return isinstance(value, hint)


def _names(names: Iterable[str]) -> str:
    return ", ".join(_short(name) for name in sorted(names))


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of type {value.dtype} and shape {value.shape}"
    text = repr(value)
    return text if len(text) < 60 else text[:57] + "..."
