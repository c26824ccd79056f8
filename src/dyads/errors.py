"""Every error a user can meet. Each message is one sentence: the value, the place, the remedy."""

from __future__ import annotations

import sys

__all__ = [
    "ConfigError",
    "DataError",
    "DyadsError",
    "ModelFileError",
    "NotFittedError",
    "NotNumbersError",
    "UnknownIdError",
    "not_fitted",
]


class DyadsError(Exception):
    """The root of all errors raised on purpose."""


class DataError(DyadsError, ValueError):
    """The data cannot be used as given."""


class NotNumbersError(DataError, TypeError):
    """A matrix of Python objects that are no numbers; as of NumPy and scikit-learn, also a TypeError."""


class ConfigError(DyadsError, ValueError):
    """A parameter, option or combination of them cannot be used."""


class UnknownIdError(DyadsError, IndexError, KeyError):
    """A user or item id that the model or the data does not hold."""

    __str__ = Exception.__str__  # KeyError would print the message's repr


class NotFittedError(DyadsError, ValueError, AttributeError):
    """A fitted model is needed; as in scikit-learn, also a ValueError and an AttributeError."""


class ModelFileError(DyadsError):
    """A model file or checkpoint that cannot be opened safely, or belongs to something else."""


def not_fitted(name: str) -> NotFittedError:
    """The error for a verb that needs a fit.

    Where scikit-learn is already imported, the error is also its `NotFittedError`, so that its checks recognise it.
    """
    message = f"this {name} has no fitted state; call fit(X) first, or open a saved model with dyads.load(path)"
    theirs = sys.modules.get("sklearn.exceptions")
    if theirs is None:
        return NotFittedError(message)
    both = type("NotFittedError", (NotFittedError, theirs.NotFittedError), {})
    error: NotFittedError = both(message)
    return error
