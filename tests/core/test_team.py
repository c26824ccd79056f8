from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from dyads.kernels import native

pytestmark = pytest.mark.skipif(not native.available(), reason="no compiled core here")

EMPTY_SHARD_ROWS = 1 << 16  # rows without words that make one shard of fill_words


@pytest.fixture
def core():
    module = native.core()
    yield module
    module.delay_shards(0)


@pytest.mark.parametrize("threads", [1, 2, 3, 16])
@pytest.mark.parametrize("n", [0, 1, 2, 65])
def test_every_shard_runs_once(core, n, threads):
    seen = []
    core.each_shard(n, threads, seen.append)
    assert sorted(seen) == list(range(n))


def test_the_shards_run_on_several_threads(core):
    together = threading.Barrier(3)
    core.each_shard(3, 3, lambda _: together.wait(timeout=20))
    assert not together.broken


def test_one_thread_is_the_callers(core):
    seen = set()
    core.each_shard(5, 1, lambda _: seen.add(threading.get_ident()))
    assert seen == {threading.get_ident()}


def test_delays_shuffle_the_order_and_not_the_words(core):
    order = []
    core.delay_shards(3000)
    core.each_shard(40, 4, order.append)
    assert sorted(order) == list(range(40))
    assert order != sorted(order)
    at = native.At(11, 0, 3)
    shuffled = native.fill_words(at, 1, 0, 9000, 64, threads=4)
    core.delay_shards(0)
    assert np.array_equal(shuffled, native.fill_words(at, 1, 0, 9000, 64, threads=1))


@pytest.mark.parametrize("threads", [1, 4])
def test_an_exception_comes_back_whole(core, threads):
    class OddError(Exception):
        pass

    def run(shard):
        if shard == 3:
            raise OddError("shard three", 3)

    with pytest.raises(OddError, match="shard three") as caught:
        core.each_shard(20, threads, run)
    assert caught.value.args == ("shard three", 3)
    assert caught.traceback[-1].name == "run"
    core.each_shard(2, threads, lambda _: None)


def test_of_several_exceptions_the_lowest_shards_comes_back(core):
    together = threading.Barrier(4)

    def run(shard):
        together.wait(timeout=20)
        time.sleep(0.01 * (4 - shard))
        raise ValueError(f"shard {shard}")

    with pytest.raises(ValueError, match="shard 0"):
        core.each_shard(4, 4, run)


def test_after_an_exception_no_new_shard_starts(core):
    seen = []

    def run(shard):
        seen.append(shard)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        core.each_shard(1000, 2, run)
    assert len(seen) <= 2


def test_a_call_from_inside_a_shard_runs(core):
    seen = []
    core.each_shard(4, 3, lambda outer: core.each_shard(5, 3, lambda inner: seen.append((outer, inner))))
    assert sorted(seen) == [(outer, inner) for outer in range(4) for inner in range(5)]


def test_several_python_threads_may_call_at_once(core):
    core.delay_shards(300)
    at, results = native.At(5, 0, 0), {}

    def call(site):
        results[site] = [native.fill_words(at, site, 0, 3000, 65, threads=3) for _ in range(3)]

    callers = [threading.Thread(target=call, args=(site,)) for site in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    core.delay_shards(0)
    for site in range(6):
        expected = native.fill_words(at, site, 0, 3000, 65, threads=1)
        assert all(np.array_equal(expected, found) for found in results[site])


def test_other_python_threads_run_meanwhile(core):
    core.delay_shards(4000)
    steps, ended = [], threading.Event()

    def count():
        while not ended.is_set():
            steps.append(time.perf_counter())
            time.sleep(0.001)

    other = threading.Thread(target=count)
    other.start()
    native.fill_words(native.At(1, 0, 0), 1, 0, 100 * EMPTY_SHARD_ROWS, 0, threads=2)  # about 0.1 s of waiting
    ended.set()
    other.join()
    assert len(steps) > 10


def interrupted(threads):
    sent = []

    def interrupt():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.1, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        native.fill_words(native.At(1, 0, 0), 1, 0, 20_000 * EMPTY_SHARD_ROWS, 0, threads=threads)
    took = time.perf_counter() - sent[0]
    timer.join()
    return took


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_ends_a_kernel_within_a_tenth_of_a_second(core, threads):
    core.delay_shards(4000)
    took = [interrupted(threads) for _ in range(3)]
    assert min(took) < 0.1, took  # the shortest: a busy machine may hold up any single one
    core.each_shard(3, threads, lambda _: None)


def test_an_exception_of_a_signal_handler_comes_back(core):
    class AlarmError(Exception):
        pass

    def handler(number, frame):
        raise AlarmError("time is up")

    before = signal.signal(signal.SIGALRM, handler)
    core.delay_shards(4000)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(AlarmError, match="time is up"):
            native.fill_words(native.At(1, 0, 0), 1, 0, 20_000 * EMPTY_SHARD_ROWS, 0, threads=2)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


FORK = """
import os, sys
import numpy as np
from dyads.kernels import native
at = native.At(2, 0, 0)
before = native.fill_words(at, 1, 0, 5000, 64, threads=4)
child = os.fork()
if child == 0:
    after = native.fill_words(at, 1, 0, 5000, 64, threads=4)
    os._exit(0 if np.array_equal(before, after) else 3)
_, status = os.waitpid(child, 0)
again = native.fill_words(at, 1, 0, 5000, 64, threads=4)
sys.exit(os.waitstatus_to_exitcode(status) or int(not np.array_equal(before, again)))
"""


def test_a_forked_child_has_a_team_of_its_own():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORK], timeout=60)
    assert done.returncode == 0


NO_THREADS = """
import resource, sys
import numpy as np
from dyads.kernels import native
at = native.At(2, 0, 0)
alone = native.fill_words(at, 1, 0, 5000, 64, threads=1)
with open("/proc/self/statm") as file:
    in_use = int(file.read().split()[0]) * resource.getpagesize()
room = in_use + (6 << 20)  # less than the stack of one thread
resource.setrlimit(resource.RLIMIT_AS, (room, room))
assert np.array_equal(alone, native.fill_words(at, 1, 0, 5000, 64, threads=64))
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")
def test_where_no_thread_can_start_fewer_do_the_work():
    done = subprocess.run([sys.executable, "-c", NO_THREADS], timeout=60, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
