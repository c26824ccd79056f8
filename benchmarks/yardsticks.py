"""What this machine can do, measured in the same run as what is compared with it.

| yardstick | one round is |
|---|---|
| FMA chain | 24 (12 below AVX-512) vector multiply-adds that do not wait for one another: lanes · 2 operations each |
| stream | a = b + 1.5 c over 3 × 64 MB: 12 bytes per number |
| gather | one row of K + 1 numbers of 4 bytes per entry, in the order of the entries, 8 rows asked for ahead |
| Gram phase | panels from the first-level cache into a triangle: Σ_r (r div lanes + 1) vector FMAs per neighbour |

    python benchmarks/yardsticks.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dyads.kernels import native


def best(call: Callable[[], Any], seconds: float = 0.4, threads: int = 1) -> tuple[float, Any]:
    """The shortest time of as many calls as fit in, and what the call gave.

    One thread is timed by the time it had a CPU, so that a busy machine disturbs little; several by the clock.
    """
    clock = time.perf_counter if threads > 1 else time.process_time
    times: list[float] = []
    while len(times) < 3 or sum(times) < seconds:
        start = clock()
        result = call()
        times.append(clock() - start)
    return min(times), result


def fma_peak() -> float:
    """GFLOP/s of one thread."""
    seconds, operations = best(lambda: native.core().fma_chains(500_000))
    return float(operations / seconds / 1e9)


def stream() -> float:
    """GB/s of one thread."""
    a, b, c = (np.full(16 << 20, x, dtype=np.float32) for x in (0, 1, 2))
    seconds, n_bytes = best(lambda: native.core().stream(a, b, c))
    return float(n_bytes / seconds / 1e9)


def gather(order: Any, n_rows: int, n_factors: int) -> tuple[float, float]:
    """Seconds to read one row per entry, and GB/s."""
    table = np.ones((n_rows, n_factors + 1), dtype=np.float32)
    seconds, n_bytes = best(lambda: native.core().gather(order, table))
    return seconds, n_bytes / seconds / 1e9


def gram_share(n_factors: int, peak: float) -> float:
    """The Gram phase alone, as a share of the FMA peak."""
    seconds, operations = best(lambda: native.core().gram_panels(n_factors, 500_000 // n_factors**2 + 10), 0.2)
    return float(operations / seconds / 1e9 / peak)


def main() -> None:
    """Print all of them."""
    random, peak = np.random.default_rng(0), fma_peak()
    print(f"level {native.level()}, {native.core().lanes} lanes")
    peak = max(peak, fma_peak())
    print(f"FMA chain {peak:.0f} GFLOP/s, stream {stream():.1f} GB/s")
    for k in (20, 50, 100, 200):
        times = []
        for n_rows in (3706, 1_000_000):
            order = random.integers(0, n_rows, 1 << 19).astype(np.int32)
            times.append(gather(order, n_rows, k)[0] / len(order) * 1e9)
        line = f"K={k:3d}: one random row of 3,706 {times[0]:.1f} ns, of 1,000,000 {times[1]:.1f} ns"
        print(f"{line}; Gram phase {gram_share(k, peak):.0%} of the FMA peak")


if __name__ == "__main__":
    main()
