"""Peak memory of an SBMF fit with one kept draw, above the caller's matrix, beside what it is allowed.

Allowed are 32 bytes per rating and 24 per parameter, (users + items) · (K + 1). It needs Linux with glibc.

    python benchmarks/memory.py USERS ITEMS RATINGS K
"""

from __future__ import annotations

import ctypes
import gc
import sys
from typing import Any

import numpy as np
from scipy import sparse

from dyads import SBMF


def status(field: str) -> int:
    """A line of /proc/self/status, in bytes."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field))


def matrix(n_users: int, n_items: int, n: int) -> Any:
    """About n ratings of 1 to 5 in cells at random."""
    random = np.random.default_rng(0)
    cells = np.unique(random.integers(0, n_users * n_items, n))
    values = random.integers(1, 6, len(cells)).astype(np.float32)
    found = sparse.csr_array((values, np.divmod(cells, n_items)), shape=(n_users, n_items))
    found.sum_duplicates()
    return found


def main(n_users: int, n_items: int, n: int, n_factors: int) -> None:
    """Print the peak of a fit, and what is allowed."""
    given, model = matrix(n_users, n_items, n), SBMF(n_factors=n_factors, burn_in=2, n_draws=1, random_state=0)
    SBMF(n_factors=2, burn_in=1, n_draws=1).fit(given[:50], show_progress=False)  # what is imported late
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what making the matrix has left over would be used again, and not be seen
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak starts from here
    before = status("VmRSS")
    model.fit(given, show_progress=False)
    above, allowed = status("VmHWM") - before, 32 * given.nnz + 24 * (n_users + n_items) * (n_factors + 1)
    print(f"peak {above} bytes above the matrix, allowed {allowed}: {above / allowed:.2f}")


if __name__ == "__main__":
    main(*(int(number) for number in sys.argv[1:]))
