from __future__ import annotations

import os
import subprocess
import sys
from typing import NamedTuple

import pytest

import dyads
from dyads import synthetic
from dyads.cli import main
from dyads.kernels import native

QUICK = ("--set", "n_entries=40000", "--seed", "3", "--quiet")


class Done(NamedTuple):
    code: int
    out: str
    err: str


# Runs a command line in this process; the exit code and both streams come back.
@pytest.fixture
def dyads_(capfd):
    def run(*arguments):
        capfd.readouterr()
        code = main([str(one) for one in arguments])
        return Done(code, *capfd.readouterr())

    return run


# Where there is no compiled core the twins are asked for by name, which is nothing that a command would remark on.
def environment(**more):
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")}
    asked = {} if native.why_not() is None else {"DYADS_KERNELS": "reference"}
    return {**asked, **kept, **more}


# Runs it in a process of its own.
def process(*arguments, **env):
    command = [sys.executable, "-m", "dyads", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, env=environment(**env), timeout=120)
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cli")


# The shipped log and a model of it, as a command line makes it.
@pytest.fixture(scope="session")
def shop(folder):
    path = folder / "shop.dyads"
    columns = ("--user", "shopper", "--item", "product")
    assert main(["fit", str(synthetic.SHIPPED), *columns, *QUICK, "-o", str(path)]) == 0
    return path


# Ratings of users and items that are numbers, as a file, and a model with draws.
@pytest.fixture(scope="session")
def rated(folder):
    data, path = folder / "ratings.tsv", folder / "ratings.dyads"
    pairs = synthetic.ratings(30, 20, 2, random_state=1, scale=(1, 5)).pairs
    data.write_text("".join(f"{user}\t{item}\t{value:g}\n" for user, item, value in pairs))
    settings = ("--set", "n_factors=2", "--set", "burn_in=3", "--set", "n_draws=4", "--set", "clip=1,5")
    arguments = ("fit", str(data), "--model", "sbmf", "--value", "2", "--no-header", *settings, "--seed", "5", "-q")
    assert main([*arguments, "-o", str(path)]) == 0
    return path


@pytest.fixture(scope="session")
def log():
    return dyads.read(synthetic.SHIPPED, user="shopper", item="product")
