from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys

import pytest

from dyads.kernels import native

BASELINE_EXTRAS = {  # instructions above x86-64's baseline that use no register of their own
    *("andn", "bextr", "blsi", "blsmsk", "blsr", "bzhi", "mulx", "pdep", "pext", "rorx", "sarx", "shlx", "shrx"),
    *(
        "lzcnt",
        "movbe",
        "popcnt",
        "crc32",
        "cmpxchg16b",
        "lddqu",
        "movddup",
        "movshdup",
        "movsldup",
        "haddps",
        "haddpd",
    ),
    *("pshufb", "palignr", "pabsd", "phaddd", "pmulld", "pmuldq", "pminsd", "pmaxsd", "pminud", "pmaxud", "ptest"),
    *("blendps", "blendvps", "pblendw", "pblendvb", "roundps", "roundss", "roundpd", "roundsd", "dpps", "insertps"),
    *("extractps", "pinsrd", "pinsrq", "pinsrb", "pextrd", "pextrq", "pextrb", "pmovzxdq", "pmovsxdq", "pcmpeqq"),
}
UNSUPPORTED = "import dyads.kernels.native as n; n.supported = lambda: ('v1',); n.level()"


def python(code, **env):
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **env}, capture_output=True, text=True, timeout=60
    )


def above(level, mnemonic, operands):
    """Whether an instruction of x86-64 needs more than this level."""
    if "%zmm" in operands or "%k" in operands or re.search(r"%[xy]mm(1[6-9]|2\d|3[01])", operands):
        return level != "v4"  # AVX-512, its masks, and the registers that only it can name
    if "%ymm" in operands or (mnemonic.startswith("v") and "mm" in operands) or mnemonic in BASELINE_EXTRAS:
        return level == "v1"
    return False


def instructions(module):
    path = importlib.util.find_spec(f"dyads.kernels.{module}").origin
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True, check=True)
    for line in listing.stdout.splitlines():
        _, tab, text = line.partition(":\t")
        if tab:
            mnemonic, _, operands = text.partition(" ")
            yield mnemonic, operands.partition("#")[0]


needs_x86 = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="levels are those of x86-64")
needs_core = pytest.mark.skipif(not native.available(), reason="no compiled core here")
needs_objdump = pytest.mark.skipif(shutil.which("objdump") is None, reason="needs objdump, of Debian's binutils")


@needs_x86
@needs_core
@needs_objdump
@pytest.mark.parametrize("module", ["_level", *(f"_core_{level}" for level in native.built())])
def test_no_instruction_is_above_the_level(module):
    level = "v1" if module == "_level" else module.removeprefix("_core_")
    found = list(instructions(module))
    assert len(found) > 100
    assert [" ".join(one) for one in found if above(level, *one)][:5] == []


@needs_x86
@needs_core
@needs_objdump
def test_each_level_uses_what_it_has():
    used = {level: list(instructions(f"_core_{level}")) for level in native.built()}
    assert any("%xmm" in operands for _, operands in used["v1"])
    if "v3" in used:
        assert any(name.startswith("vfmadd") and "%ymm" in operands for name, operands in used["v3"])
        assert any(above("v1", *one) for one in used["v3"])
    if "v4" in used:
        assert any(name.startswith("vfmadd") and "%zmm" in operands for name, operands in used["v4"])
        assert any(above("v3", *one) for one in used["v4"])


@needs_core
def test_the_highest_usable_level_is_chosen(monkeypatch):
    monkeypatch.delenv("DYADS_LEVEL", raising=False)
    usable = [level for level in native.built() if level in native.supported()]
    assert native.level() == usable[-1]
    assert native.core().__name__ == f"dyads.kernels._core_{usable[-1]}"
    assert native.why_not() is None


@needs_core
def test_the_levels_of_the_cpu_are_those_that_the_system_names(monkeypatch):
    flags = {"v1": set(), "v3": {"avx2", "fma", "bmi2", "movbe", "f16c", "abm"}, "v4": {"avx512bw", "avx512vl"}}
    try:
        with open("/proc/cpuinfo") as file:
            named = set(next(line for line in file if line.startswith("flags")).split())
    except (OSError, StopIteration):
        pytest.skip("no flags of the CPU in /proc/cpuinfo")
    assert set(native.supported()) == {level for level, needed in flags.items() if needed <= named}


@needs_core
def test_a_level_is_forced(each_level, level):
    assert native.level() == level
    assert each_level.__name__ == f"dyads.kernels._core_{level}"
    assert "-march=native" not in each_level.compiler
    assert "fast-math" not in each_level.compiler
    assert "-ffp-contract=off" in each_level.compiler


def test_an_unknown_level_is_refused():
    done = python("from dyads.kernels import native; native.level()", DYADS_LEVEL="v9")
    assert "ConfigError: DYADS_LEVEL='v9' is unknown: set it to v1, v3, v4, or unset it" in done.stderr


@needs_core
@needs_x86
def test_a_level_above_the_cpu_is_refused():
    done = python(UNSUPPORTED, DYADS_LEVEL="v4")
    assert "ConfigError: DYADS_LEVEL='v4' cannot be, for this CPU cannot run it: set it to v1" in done.stderr


def test_a_level_that_was_not_built_is_refused():
    done = python("import dyads.kernels.native as n; n.built = lambda: ('v1',); n.level()", DYADS_LEVEL="v3")
    assert "ConfigError: DYADS_LEVEL='v3' cannot be, for this installation was built for v1" in done.stderr


def test_without_a_core_the_log_says_that_numpy_computes():
    code = "import dyads.kernels.native as n; n.built = lambda: (); print(n.available(), n.available())"
    done = python(code)
    assert done.stdout.split() == ["False", "False"]
    assert done.stderr.count("dyads computes with NumPy instead of its compiled kernels") == 1
