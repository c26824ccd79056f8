# The example of the README runs, and prints what stands below it.

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text()
NUMBER = re.compile(r"-?\d+\.?\d*")


@pytest.fixture(scope="module")
def blocks():
    return re.findall(r"```(?:python|text)\n(.*?)```", TEXT, re.DOTALL)


# Numbers may differ a little between CPU levels, and so may the order of items with nearly the same score.
def test_the_example_prints_what_the_readme_says(blocks, capsys):
    code, written = blocks
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert NUMBER.sub("#", printed).split() == NUMBER.sub("#", written).split()
    found, said = ([float(x) for x in NUMBER.findall(text)] for text in (printed, written))
    np.testing.assert_allclose(found, said, rtol=0.2, atol=0.3)


@pytest.mark.skipif(not (ROOT / "docs").exists(), reason="the documentation is not part of this source tree")
def test_the_files_that_are_named_are_there():
    for target in re.findall(r"\]\(([^)#:]+)\)", TEXT):
        assert (ROOT / target).exists(), target
