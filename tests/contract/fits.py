# Fits that are kept in a folder, cut short, and compared.

from __future__ import annotations

from functools import cache

import pytest
from contract.cases import named

from dyads.state import arrays_equal


def fit(case, folder=None, resume=False, every=25, callback=None, pairs=None, long=True, **more):
    keeping = {} if folder is None else {"checkpoint": folder, "resume": resume, "every": every}
    model = case.make(**{**((long and case.many) or {}), **more})
    return model.fit(case.pairs() if pairs is None else pairs, show_progress=False, callback=callback, **keeping)


@cache
def straight(name, kernels):
    return fit(named(name))


def same(model, other):
    mine, theirs = model._learned(), other._learned()
    marks = [[r._replace(seconds=0.0) for r in one.trace] for one in (mine, theirs)]
    return (
        arrays_equal(mine.posterior, theirs.posterior)
        and arrays_equal(mine.states, theirs.states)
        and marks[0] == marks[1]
        and (mine.seed, mine.stopped) == (theirs.seed, theirs.stopped)
    )


# A fit that ends at an interrupt after some ticks.
def cut_short(case, folder, done=50, **more):
    def interrupt(record):
        if record.done >= done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(case, folder, callback=interrupt, **more)
