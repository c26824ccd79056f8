from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest
from cli.conftest import environment, process

import dyads
from dyads import synthetic
from dyads.state import arrays_equal

DYADS = [sys.executable, "-m", "dyads"]
LIGHT = """
import sys
from dyads.cli import main
code = main(sys.argv[1:])
heavy = {"numpy", "scipy", "pyarrow", "rich"} & set(sys.modules)
sys.exit(code or (f"imported {heavy}" if heavy else 0))
"""


def test_the_module_is_the_command():
    done = process("--version")
    assert done == (0, f"dyads {dyads.__version__}\n", "")


@pytest.mark.parametrize("line", ["--version", "--help", "fit --help", "recommend --help", "evaluate --help", ""])
def test_version_and_help_import_nothing_heavy(line):
    done = subprocess.run([sys.executable, "-c", LIGHT, *line.split()], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("command", ["demo", "fit", "recommend", "evaluate", "info", "doctor"])
def test_every_command_has_an_example_that_starts_with_its_name(dyads_, command):
    done = dyads_(command, "--help")
    assert done.code == 0
    examples = done.out.partition("Examples:")[2]
    assert f"dyads {command}" in examples


# --- Ctrl-C ----------------------------------------------------------------------------------------------------------


# Starts a fit, sends Ctrl-C as soon as it computes, and gives back how it ended.
def interrupted(arguments, ready):
    running = subprocess.Popen([*DYADS, *map(str, arguments)], stderr=subprocess.PIPE, text=True, env=environment())
    ready(running)
    running.send_signal(signal.SIGINT)
    sent = time.monotonic()
    said = running.communicate(timeout=30)[1]
    return running.returncode, said, time.monotonic() - sent


def test_ctrl_c_keeps_the_fit_and_resume_ends_on_the_same_bits(tmp_path):
    kept, output = tmp_path / "kept", tmp_path / "m.dyads"
    long = ("--set", "n_entries=60000", "--set", "tol=none", "--seed", 3, "--quiet")
    given = ("fit", synthetic.SHIPPED, *long, "--checkpoint", kept, "--every", 20, "-o", output)

    def ready(running):
        began = time.monotonic()
        while not any(kept.glob("checkpoint-*.dyads")):
            assert time.monotonic() - began < 60 and running.poll() is None
            time.sleep(0.01)

    code, said, seconds = interrupted(given, ready)
    assert code == 130
    assert (
        said
        == f"dyads: the fit is kept in {kept}; the same command with --resume goes on with it\ndyads: interrupted\n"
    )
    assert seconds < 5
    assert not output.exists()
    assert process(*given, "--resume") == (0, "", "")
    whole = dyads.BPR(n_entries=60_000, tol=None, random_state=3)
    whole.fit(dyads.read(synthetic.SHIPPED), show_progress=False)
    assert arrays_equal(dyads.load(output).posterior_, whole.posterior_)


def test_ctrl_c_without_a_folder_leaves_nothing(tmp_path):
    endless = ("--set", "n_entries=1000000000", "--set", "tol=none")
    given = ("fit", synthetic.SHIPPED, *endless, "-o", tmp_path / "m.dyads")
    code, said, seconds = interrupted(given, lambda running: running.stderr.readline())
    assert code == 130
    assert said.splitlines()[-1] == "dyads: interrupted"
    assert seconds < 5
    assert list(tmp_path.iterdir()) == []


# --- pipes -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    pairs = synthetic.ratings(4000, 30, 1, random_state=0).pairs
    path = tmp_path_factory.mktemp("many") / "many.dyads"
    dyads.Popularity(binarize=-100.0).fit(pairs, show_progress=False).save(path)
    return path


@pytest.mark.parametrize(("form", "unbuffered"), [("table", ""), ("csv", ""), ("csv", "1")])
def test_a_reader_that_leaves_is_no_error(many, form, unbuffered):
    env = environment(PYTHONUNBUFFERED=unbuffered)
    line = f"{sys.executable} -m dyads recommend {many} --all --as {form} | head -c 20; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=env, timeout=60)
    assert (done.returncode, done.stderr) == (141, "")
    assert len(done.stdout) == 20


@pytest.mark.parametrize(("to", "named"), [(">&-", "the standard output is closed"), (">/dev/full", "No space left")])
def test_an_output_that_takes_nothing_is_one_sentence(shop, to, named):
    if to == ">/dev/full" and not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    line = f"{sys.executable} -m dyads recommend {shop} --all {to}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=environment(), timeout=60)
    assert done.returncode == 2
    assert done.stderr.startswith("dyads: ") and done.stderr.count("\n") == 1
    assert named in done.stderr


def test_a_fit_needs_no_open_streams(tmp_path):
    output = tmp_path / "m.dyads"
    line = f"{sys.executable} -m dyads fit {synthetic.SHIPPED} --model popularity -o {output} >&- 2>&-"
    assert subprocess.run(["bash", "-c", line], env=environment(), timeout=60).returncode == 0
    assert output.exists()


def test_progress_that_nobody_reads_does_not_stop_a_fit(tmp_path):
    output = tmp_path / "m.dyads"
    few = "--set n_entries=20000"
    fit = f"{sys.executable} -m dyads fit {synthetic.SHIPPED} {few} -o {output}"
    line = f"{fit} 2>&1 >/dev/null | true; exit ${{PIPESTATUS[0]}}"
    assert subprocess.run(["bash", "-c", line], env=environment(), timeout=60).returncode == 0
    assert output.exists()


def test_ids_may_come_through_a_pipe(shop):
    command = [*DYADS, "recommend", str(shop), "--users-from", "-", "-n", "1", "--as", "csv"]
    done = subprocess.run(command, input=b"ann.baker\nhugo.baker\n", capture_output=True, timeout=60)
    assert done.returncode == 0
    assert [line.split(b",")[0] for line in done.stdout.splitlines()[1:]] == [b'"ann.baker"', b'"hugo.baker"']


def test_a_table_is_utf_8_in_every_locale(dyads_, tmp_path):
    data, model = tmp_path / "log.csv", tmp_path / "m.dyads"
    data.write_text("who,what\nJörg,抹茶\nann,tea\n", encoding="utf-8")
    columns = ("--user", "who", "--item", "what")
    assert dyads_("fit", data, *columns, "--model", "popularity", "-q", "-o", model).code == 0
    done = process("recommend", model, "--user", "ann", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.code == 0
    assert "抹茶" in done.out


def test_lines_in_a_pipe_and_nothing_when_quiet(tmp_path):
    given = ("fit", synthetic.SHIPPED, "--set", "n_entries=20000", "-o", tmp_path / "m.dyads")
    done = process(*given)
    assert done.out == ""
    assert "\r" not in done.err and "\x1b" not in done.err
    assert done.err.startswith("BPR  ")
    assert process(*given, "--quiet") == (0, "", "")


# --- terminals -------------------------------------------------------------------------------------------------------


# Everything that a terminal of this width is told.
def on_terminal(arguments, width, **env):
    main_end, other_end = pty.openpty()
    fcntl.ioctl(other_end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    environ = environment(**{"TERM": "xterm-256color", **env})
    running = subprocess.Popen(
        [*DYADS, *map(str, arguments)], stdout=other_end, stderr=other_end, stdin=other_end, env=environ
    )
    os.close(other_end)
    told, began = b"", time.monotonic()
    while time.monotonic() - began < 60 and len(told) < 1_000_000:
        if not select.select([main_end], [], [], 1.0)[0]:
            continue
        try:
            more = os.read(main_end, 65536)
        except OSError:  # Linux's way of saying that the other end is closed
            break
        if not more:
            break
        told += more
    os.close(main_end)
    running.kill()
    return running.wait(timeout=30), told.decode()


@pytest.mark.parametrize("width", [100, 30])
def test_a_terminal_has_a_bar_with_rate_time_left_and_objective(tmp_path, width):
    given = ("fit", synthetic.SHIPPED, "--set", "n_entries=40000", "--set", "tol=none", "-o", tmp_path / "m.dyads")
    code, told = on_terminal(given, width)
    assert code == 0
    assert "\r" in told
    words = ["/s", " left", "objective -", "━"] if width == 100 else ["BPR  "]
    assert all(word in told for word in words)


def test_a_narrow_terminal_shows_every_id_whole(shop):
    code, told = on_terminal(("recommend", shop, "--user", "ann.baker", "-n", 1, "--with-liked"), 24)
    assert code == 0
    lines = told.splitlines()
    assert all(len(line) <= 24 for line in lines)
    assert "".join(line.split()[0] for line in lines[3:]).startswith("ann.baker") and "…" not in told


@pytest.mark.parametrize(("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_colour_is_for_terminals_that_want_it(tmp_path, env, coloured):
    given = ("fit", synthetic.SHIPPED, "--set", "n_entries=20000", "-o", tmp_path / "m.dyads")
    code, told = on_terminal(given, 100, **env)
    assert code == 0
    assert ("\x1b[9" in told or "\x1b[3" in told) == coloured
