from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
COMMANDS = re.findall(r"^python3 -m venv \.venv.*$", (ROOT / "README.md").read_text(), re.MULTILINE)
NOT_INHERITED = ("DYADS_", "PYTEST_", "VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME")
RECOMMEND = """
import dyads, numpy as np
from scipy import sparse
from dyads.kernels import chosen
ratings = sparse.random_array((30, 20), density=0.3, rng=np.random.default_rng(0), format="csr")
model = dyads.SBMF(n_factors=2, burn_in=2, n_draws=2, random_state=0).fit(ratings, show_progress=False)
print(chosen(), len(model.recommend(3, N=4)[0]))
"""


def pythons():
    """The interpreters of each version that are there, on the path or kept by pyenv."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for version in range(10, 14):
        for path in [f"python3.{version}", *map(str, sorted(kept.glob(f"3.{version}.*/bin/python3")))]:
            asked = [path, "-c", "import ensurepip, sys; print(sys.executable)"]
            done = subprocess.run(asked, capture_output=True, text=True) if shutil.which(path) else None
            if done is not None and done.returncode == 0:
                yield pytest.param(done.stdout.strip(), id=f"3.{version}")
                break


needs_git = pytest.mark.skipif(shutil.which("git") is None or not (ROOT / ".git").exists(), reason="needs a clone")
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs a compiler")


def run(command, folder, **env):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(NOT_INHERITED)}
    done = subprocess.run(command, cwd=folder, env={**kept, **env}, capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]
    return done


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """What a stranger gets: the committed files and nothing else."""
    folder = tmp_path_factory.mktemp("clone") / "dyads"
    run(["git", "clone", "-q", str(ROOT), str(folder)], ROOT)
    return folder


@pytest.fixture
def python(tmp_path, clone):
    """An environment with what a wheel needs at run time."""
    run([sys.executable, "-m", "venv", tmp_path / "env"], tmp_path)
    return tmp_path / "env" / "bin" / "python"


def test_the_readme_has_two_commands():
    assert len(COMMANDS) == 2
    assert COMMANDS[0].endswith("dyads demo")
    assert COMMANDS[1].endswith("pytest")


@needs_git
@needs_compiler
def test_both_commands_of_the_readme_work_in_a_fresh_clone(clone):
    shown = run(["bash", "-euc", COMMANDS[0]], clone).stdout
    assert "popularity" in shown.lower()
    assert "dyads fit" in shown
    run(["bash", "-euc", COMMANDS[1]], clone)


# The installed package, where `python3` is each of the versions that are there.
@needs_git
@needs_compiler
@pytest.mark.parametrize("version", list(pythons()))
def test_the_first_command_works_on_every_python(clone, tmp_path, version):
    folder, shims = tmp_path / "dyads", tmp_path / "bin"
    shutil.copytree(clone, folder, ignore=shutil.ignore_patterns(".venv", "build"))
    shims.mkdir()
    (shims / "python3").write_text(f'#!/bin/sh\nexec "{version}" "$@"\n')
    (shims / "python3").chmod(0o755)
    run(["bash", "-euc", COMMANDS[0]], folder, PATH=f"{shims}:{os.environ['PATH']}")


@needs_git
@needs_compiler
def test_a_wheel_runs_where_there_is_no_compiler(clone, tmp_path, python):
    run([python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp_path, str(clone)], tmp_path, DYADS_NATIVE="1")
    (wheel,) = tmp_path.glob("dyads-*.whl")
    assert any("_core_v1" in name for name in zipfile.ZipFile(wheel).namelist())
    run([python, "-m", "pip", "install", "-q", wheel], tmp_path, CC="/bin/false", CXX="/bin/false")
    assert run([python, "-c", RECOMMEND], tmp_path).stdout.split() == ["native", "4"]


@needs_git
@pytest.mark.parametrize(
    "how", [{"DYADS_PURE": "1"}, {"CXX": "/bin/false", "CC": "/bin/false"}], ids=["asked", "fails"]
)
def test_without_a_core_the_package_installs_and_runs_on_the_twins(clone, tmp_path, python, how):
    said = run([python, "-m", "pip", "install", "-v", str(clone)], tmp_path, **how)
    if "CXX" in how:
        assert "WITHOUT its compiled core" in said.stdout + said.stderr
    done = run([python, "-c", RECOMMEND], tmp_path)
    assert done.stdout.split() == ["reference", "4"]
    assert done.stderr.count("dyads computes with NumPy instead of its compiled kernels") == 1


@needs_git
@needs_compiler
def test_the_source_distribution_builds_and_installs(clone, tmp_path, python):
    run([python, "-m", "pip", "install", "-q", "build"], tmp_path)
    run([python, "-m", "build", "-q", "--sdist", "-o", tmp_path, str(clone)], tmp_path)
    (archive,) = tmp_path.glob("dyads-*.tar.gz")
    run([python, "-m", "pip", "install", "-q", archive], tmp_path, DYADS_NATIVE="1")
    assert run([python, "-c", RECOMMEND], tmp_path).stdout.split() == ["native", "4"]


@needs_git
@needs_compiler
def test_a_core_that_cannot_be_built_is_an_error_where_it_must_be(clone, tmp_path, python):
    command = [python, "-m", "pip", "install", "-q", str(clone)]
    env = {**os.environ, "DYADS_NATIVE": "1", "CXX": "/bin/false", "CC": "/bin/false"}
    assert subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, timeout=600).returncode != 0
