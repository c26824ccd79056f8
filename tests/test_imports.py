from __future__ import annotations

import subprocess
import sys

import pytest


def run(code, *flags):
    done = subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


# Measured in a process of its own, after NumPy and scipy.sparse: the shortest of five, for a busy machine delays some.
COST = """
import numpy, scipy.sparse, time
start = time.perf_counter()
import dyads
print(time.perf_counter() - start)
"""


def test_the_import_costs_less_than_a_seventh_of_a_second():
    assert min(float(run(COST)) for _ in range(5)) < 0.15


# A module that is None in sys.modules cannot be imported.
BLOCKED = """
import sys
absent = ["pyarrow", "pandas", "polars", "rich", "click", "sklearn", "safetensors"]
for name in absent:
    sys.modules[name] = None
"""

FROM_A_MATRIX = """
import numpy as np
from scipy import sparse
import dyads
data = sparse.random_array((30, 20), density=0.4, format="csr", rng=np.random.default_rng(0))
data.data = np.ceil(data.data * 5)
for model in (dyads.Popularity(), dyads.BPR(n_factors=2, binarize=0.0), dyads.SBMF(n_factors=2, burn_in=2, n_draws=2)):
    model.set_params(random_state=0).fit(data, show_progress=False)
    ids, scores = model.recommend(3, N=4)
    assert ids.shape == scores.shape == (4,)
    model.save(path)
    again, _ = dyads.load(path).recommend(3, N=4)
    assert (ids == again).all()
"""

FROM_PYTHON = """
import dyads
pairs = dyads.read([("ann", "tea"), ("bob", "rye"), ("ann", "rye")])
train, test = dyads.split.fraction(pairs, 0.4, 0)
model = dyads.Popularity().fit(train, show_progress=False)
assert model.recommend("cat", {"cat": ["tea"]}, N=1, recalculate_user=True)[0].tolist() == ["rye"]
"""


@pytest.mark.parametrize("code", [FROM_A_MATRIX, FROM_PYTHON], ids=["matrix", "Python"])
def test_fit_and_recommend_need_numpy_and_scipy_alone(tmp_path, code):
    run(BLOCKED + f"path = {str(tmp_path / 'model.dyads')!r}\n" + code)


# What is needed only for some things is not loaded for others.
LOADED = """
import sys
import dyads
dyads.read({source})
print(sorted(name for name in {names!r} if name in sys.modules))
"""
NAMES = ("pyarrow", "pandas", "polars", "rich", "click", "sklearn", "matplotlib")


def test_reading_text_loads_pyarrow_and_no_other_library(tmp_path):
    for name, text in (("file.csv", "ann,2\nbob,3\nbob,x\n"), ("file.dat", "1 2\n3\n")):
        (tmp_path / name).write_text(text)
        assert run(LOADED.format(source=repr(str(tmp_path / name)), names=NAMES)) == "['pyarrow']\n"
    assert run(LOADED.format(source="[('ann', 'tea')]", names=NAMES)) == "[]\n"


def test_all_public_names_are_there_and_only_when_asked_for():
    code = """
import sys, dyads
assert not any(name.startswith("dyads.") for name in sys.modules)
assert all(getattr(dyads, name) is not None for name in dyads.__all__)
assert set(dyads.__all__) <= set(dir(dyads))
try:
    dyads.nothing
except AttributeError as error:
    print(error)
"""
    assert run(code) == "module 'dyads' has no attribute 'nothing'\n"


def test_a_module_of_the_same_name_does_not_hide_what_is_called():
    run("import dyads, dyads.read, dyads.evaluate; assert callable(dyads.read) and callable(dyads.evaluate)")
