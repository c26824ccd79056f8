"""What a long fit shows: a bar on a terminal or in a notebook, plain lines in a pipe, nothing when told so.

Time left is that of the planned length; a fit with a stopping rule may end earlier. Nothing here changes a result, and
a display that fails, as when nobody reads the pipe any more, falls silent.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from importlib import import_module
from typing import Any, NamedTuple, TextIO, cast

from dyads.state import Record

LINE_SECONDS = 5.0  # between two plain lines; a shorter fit prints none, unless progress was asked for
BAR_SECONDS = 0.1  # between two pictures of the bar
BAR_WIDTH = 80  # columns of a terminal that has room for a bar beside the words

Show = Callable[["Told"], None]


class Told(NamedTuple):
    """A mark, in words."""

    done: int  # ticks of all chains
    total: int
    share: str
    rate: str  # empty before the second mark, as is `left`
    left: str
    objective: str

    def words(self) -> str:
        """All of it in a line."""
        parts = (f"{self.done}/{self.total}", self.share, self.rate, self.left, self.objective)
        return "  ".join(part for part in parts if part)


class Pace:
    """How fast the marks come; a resumed fit is timed from its first mark on."""

    def __init__(self, chains: int) -> None:
        self.chains = chains
        self.first: tuple[int, float] | None = None

    def told(self, record: Record) -> Told:
        done, total = record.chain * record.ticks + record.done, self.chains * record.ticks
        self.first = self.first or (done, record.seconds)
        ticks, seconds = done - self.first[0], record.seconds - self.first[1]
        rate = ticks / seconds if ticks > 0 and seconds > 0 else None
        return Told(
            done,
            total,
            f"{100 * done // total} %",
            "" if rate is None else f"{rate:,.0f}/s" if rate >= 100 else f"{rate:.3g}/s",
            "" if rate is None else f"{clock((total - done) / rate)} left",
            "" if record.objective is None else f"objective {record.objective.value:.6g}",
        )


def clock(seconds: float) -> str:
    """1:02:03, or 2:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@contextmanager
def reporter(show: bool | None, title: str, chains: int = 1) -> Iterator[Callable[[Record], None]]:
    """A function to be told of every mark. `show` None: a bar if someone watches, lines in a pipe; False: nothing."""
    if show is False or (sys.stderr is None and not in_notebook()):
        yield lambda _: None
        return
    pace = Pace(chains)
    with _display(title, patient=show is None) as shown:
        yield lambda record: shown(pace.told(record))


class _Stream:
    """The standard error as it is now; what nobody can read there is lost, and the fit goes on."""

    def __init__(self) -> None:
        self.out = sys.stderr
        self.encoding = self.out.encoding

    def write(self, text: str) -> None:
        with suppress(OSError, ValueError):
            self.out.write(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self.out.flush()

    def isatty(self) -> bool:
        return self.out.isatty()


def _display(title: str, patient: bool) -> AbstractContextManager[Show]:
    if in_notebook():
        return _notebook(title)
    if sys.stderr.isatty():
        from rich.console import Console

        console = Console(file=cast(TextIO, _Stream()))
        if console.is_terminal and not console.is_dumb_terminal:
            return _bar(title, console)
    return _lines(title, patient)


def in_notebook() -> bool:
    """Whether the output goes to a notebook's page."""
    ipython: Any = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


@contextmanager
def _paced(show: Show, seconds: float, patient: bool = False) -> Iterator[Show]:
    """Show the first mark, the last, and between them no more often than this; `patient`: nothing before that time."""
    shown_at, waiting, any_shown = time.monotonic() if patient else -math.inf, None, False

    def told(mark: Told) -> None:
        nonlocal shown_at, waiting, any_shown
        now = time.monotonic()
        if now - shown_at < seconds:
            waiting = mark
            return
        shown_at, waiting, any_shown = now, None, True
        show(mark)

    yield told
    if waiting is not None and any_shown:
        show(waiting)


@contextmanager
def _lines(title: str, patient: bool) -> Iterator[Show]:
    """Plain lines on the standard error."""

    def show(mark: Told) -> None:
        print(f"{title}  {mark.words()}", file=_Stream(), flush=True)

    with _paced(show, LINE_SECONDS, patient) as told:
        yield told


@contextmanager
def _bar(title: str, console: Any) -> Iterator[Show]:
    """One line of the terminal, drawn again and again; no thread, so that a fit may fork."""
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.table import Column

    words = TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="crop"))
    bar = BarColumn(bar_width=None, table_column=Column(ratio=1))
    columns = (words, bar) if console.width >= BAR_WIDTH else (words,)
    with Progress(*columns, console=console, auto_refresh=False, expand=True) as progress:
        task = progress.add_task(title, total=None)
        progress.refresh()

        def show(mark: Told) -> None:
            said = f"{title}  {mark.words()}"
            progress.update(task, completed=mark.done, total=mark.total, description=said, refresh=True)

        with _paced(show, BAR_SECONDS) as told:
            yield told


class _Page:
    """A bar as a notebook shows it."""

    def __init__(self, title: str, mark: Told | None) -> None:
        self.title, self.mark = title, mark

    def __repr__(self) -> str:
        return f"{self.title}  {self.mark.words() if self.mark else ''}".rstrip()

    def _repr_html_(self) -> str:
        at = "" if self.mark is None else f' value="{self.mark.done}" max="{self.mark.total}"'
        return f"<progress{at}></progress> <code>{self!r}</code>"


@contextmanager
def _notebook(title: str) -> Iterator[Show]:
    """One place on the page that is drawn again and again."""
    display = import_module("IPython.display").display

    page = display(_Page(title, None), display_id=True)
    with _paced(lambda mark: page.update(_Page(title, mark)), BAR_SECONDS) as told:
        yield told
