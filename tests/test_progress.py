from __future__ import annotations

import sys
from types import ModuleType

import pytest

import dyads
from dyads import progress
from dyads.state import Objective, Record

PAIRS = dyads.Pairs.of(["ann", "ann", "ben", "ben", "cleo"], ["tea", "milk", "milk", "bread", "tea"])


def mark(done, seconds, chain=0, ticks=100, value=-1.23456789):
    return Record(chain, done, done, ticks, seconds, None if value is None else Objective(value, 0.0), {})


def test_a_mark_says_how_far_how_fast_how_long_and_how_well():
    pace = progress.Pace(1)
    assert pace.told(mark(10, 2.0)).words() == "10/100  10 %  objective -1.23457"
    assert pace.told(mark(30, 6.0, value=None)).words() == "30/100  30 %  5/s  0:14 left"


def test_a_resumed_fit_is_timed_from_its_first_mark():
    pace = progress.Pace(1)
    pace.told(mark(90, 1.0))
    assert pace.told(mark(91, 2.0)).rate == "1/s"


def test_chains_count_together():
    pace = progress.Pace(4)
    pace.told(mark(100, 10.0))
    told = pace.told(mark(100, 20.0, chain=1))
    assert (told.done, told.total, told.rate, told.left) == (200, 400, "10/s", "0:20 left")


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0:00"), (75, "1:15"), (3600, "1:00:00"), (36061, "10:01:01")])
def test_time_left_reads_like_a_clock(seconds, text):
    assert progress.clock(seconds) == text


def told_lines(capsys, show, marks):
    with progress.reporter(show, "BPR") as tell:
        for one in marks:
            tell(one)
    return capsys.readouterr().err.splitlines()


MARKS = [mark(n, n / 10) for n in range(1, 101)]


def test_where_it_was_asked_for_the_first_and_the_last_mark_are_lines(capsys):
    lines = told_lines(capsys, True, MARKS)
    assert [line.split()[1] for line in lines] == ["1/100", "100/100"]


def test_a_short_fit_in_a_pipe_says_nothing_unasked(capsys):
    assert told_lines(capsys, None, MARKS) == []
    assert told_lines(capsys, False, MARKS) == []


def test_a_long_fit_in_a_pipe_has_a_line_now_and_then(capsys, monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock) * 1.0)
    lines = told_lines(capsys, None, MARKS)
    assert [line.split()[1] for line in lines] == [f"{n}/100" for n in range(5, 101, 5)]


class Broken:
    encoding = "utf-8"

    def write(self, _):
        raise BrokenPipeError

    def flush(self):
        raise BrokenPipeError

    def isatty(self):
        return False


@pytest.mark.parametrize("stream", [Broken(), None])
def test_a_display_that_fails_changes_nothing(monkeypatch, stream):
    plain = dyads.Popularity(random_state=0).fit(PAIRS, show_progress=False)
    monkeypatch.setattr(sys, "stderr", stream)
    shown = dyads.Popularity(random_state=0).fit(PAIRS, show_progress=True)
    assert (shown.posterior_.item_alpha == plain.posterior_.item_alpha).all()


# IPython is no dependency, so its one function that counts stands in for it: a page that is drawn again and again.
@pytest.fixture
def page(monkeypatch):
    drawn = []

    class Handle:
        def update(self, picture):
            drawn.append(picture)

    def display(picture, display_id):
        drawn.append(picture)
        return Handle()

    class Shell:
        kernel = None

    ipython, module = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython, module.display = Shell, display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    return drawn


def test_a_notebook_has_one_bar_on_its_page(page, capsys):
    assert told_lines(capsys, None, MARKS) == []
    assert repr(page[0]) == "BPR"
    assert repr(page[-1]).startswith("BPR  100/100  100 %")
    assert '<progress value="100" max="100"></progress>' in page[-1]._repr_html_()
    assert len(page) <= 4


def test_ipython_in_a_terminal_is_no_notebook(monkeypatch, capsys):
    ipython = ModuleType("IPython")
    ipython.get_ipython = object
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    assert len(told_lines(capsys, True, MARKS)) == 2
