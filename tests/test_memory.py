from __future__ import annotations

import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dyads.kernels import native

MEASURE = Path(__file__).parents[1] / "benchmarks" / "memory.py"


# Many ratings and few parameters, and the other way round.
@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc" or not native.available(), reason="needs Linux with glibc")
@pytest.mark.parametrize("shape", [(6040, 3706, 900_000, 10), (100_000, 20_000, 1_000_000, 50)])
def test_a_fit_takes_32_bytes_per_rating_and_24_per_parameter(shape):
    command = [sys.executable, str(MEASURE), *map(str, shape)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    above, allowed = map(int, re.findall(r"\d{5,}", done.stdout))
    assert 4 * shape[2] < above <= allowed, done.stdout
