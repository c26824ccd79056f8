# A fit that goes on where it stood, and may kill itself: python killed.py CASE FOLDER [WHERE N]
# WHERE is "step", "fsync" or "replace", and the Nth call of it is the last thing that happens. Without, every mark
# takes some milliseconds more, so that a kill from outside finds the fit at work.

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

from contract.cases import named


def kill_at(owner: Any, name: str, n: int) -> None:
    call, left = getattr(owner, name), [n]

    def counted(*given: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*given)

    setattr(owner, name, counted)


def main(name: str, folder: str, where: str = "", n: str = "0") -> None:
    case = named(name)
    model, pairs = case.make(**case.many), case.pairs()
    if where:
        kill_at(type(model) if where == "step" else os, where, int(n))
    print("begun", flush=True)
    pause, every = (0.0, 10) if where else (0.005, 2)
    keeping = {"checkpoint": folder, "every": every, "resume": True}
    model.fit(pairs, show_progress=False, callback=lambda record: time.sleep(pause), **keeping)


if __name__ == "__main__":
    main(*sys.argv[1:])
