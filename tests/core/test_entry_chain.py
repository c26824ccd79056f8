from __future__ import annotations

import numpy as np
import pytest

from dyads.kernels import reference
from dyads.kernels.shapes import EntrySides, Motion


# n entries of rows and columns with D factors and a bias each.
def entries(seed, n, d, rate=0.3):
    rng = np.random.default_rng(seed)

    def side():
        precision = rng.uniform(0.5, 5, (n, d + 1))
        return rng.normal(0, 1, (n, d + 1)) * precision, precision

    def motion(weight):
        return Motion(rng.uniform(0, rate, n), rng.uniform(1, weight, n), rng.normal(0, 0.1, n), rng.uniform(0.5, 2, n))

    z = rng.uniform(0.5, 5, n)
    sides = EntrySides(*side(), *side(), -3 * z, z)
    return sides, motion(20), motion(20), motion(200), rng.integers(0, 2, n).astype(float)


def packed(sides, motions, x, dtype):
    rows = np.concatenate([part.T for part in sides[:4]] + [np.stack(sides[4:])])
    moves = np.concatenate([np.stack(motion) for motion in motions] + [x[None]])
    return np.ascontiguousarray(rows, dtype=dtype), np.ascontiguousarray(moves, dtype=dtype)


def compiled(each_level, kind, case):
    sides, u, v, z, x = case
    numbers, motion = packed(sides, (u, v, z), x, np.float64 if kind == "double" else np.float32)
    getattr(each_level, f"entry_chain_{kind}")(numbers, motion)
    return numbers


@pytest.mark.parametrize(("kind", "tolerance"), [("double", 1e-10), ("float", 1e-4), ("lanes", 1e-4)])
@pytest.mark.parametrize("d", [0, 1, 3, 10])
@pytest.mark.parametrize("n", [1, 3, 4, 5, 15, 16, 17, 100])
def test_the_chain_equals_its_twin(each_level, kind, tolerance, d, n):
    case = entries(d, n, d)
    expected, _ = packed(reference.entry_chain(*case), (), np.zeros(n), np.float64)
    np.testing.assert_allclose(compiled(each_level, kind, case), expected, rtol=tolerance, atol=tolerance)


def test_a_lane_holds_what_a_single_float_holds(each_level):
    case = entries(7, 53, 6)
    assert np.array_equal(compiled(each_level, "lanes", case), compiled(each_level, "float", case))


# With nothing moved (ρ = 0) and weights of one, a target is where the bound of this one entry, λ held, is greatest in
# its own coordinate: f(m, s) = (x - 1/2) E[a] - λ E[a²] - KL(N(m, s) | prior).
@pytest.mark.parametrize("where", ["factor of u", "factor of v", "bias of u", "z"])
def test_a_target_is_the_optimum_of_the_bound(where):
    sides, u, v, z, x = entries(3, 40, 4, rate=0.0)
    u, v, z = (how._replace(weight=np.ones(40)) for how in (u, v, z))
    target = reference.entry_chain(sides, u, v, z, x)
    um, us, vm, vs = (
        sides.u_first / sides.u_second,
        1 / sides.u_second,
        sides.v_first / sides.v_second,
        1 / sides.v_second,
    )

    def bound(m, s, lam=None):
        a, b, c, d = (array.copy() for array in (um, us, vm, vs))
        zm, zs = sides.z_first / sides.z_second, 1 / sides.z_second
        if where == "z":
            zm, zs, prior = m, s, z
        else:
            k = 4 if "bias" in where else 2
            mean, variance, prior = (a, b, u) if where.endswith("u") else (c, d, v)
            mean[:, k], variance[:, k] = m, s
        mean = (a * c)[:, :4].sum(axis=1) + a[:, 4] + c[:, 4] + zm
        variance = (a**2 * d + b * c**2 + b * d)[:, :4].sum(axis=1) + b[:, 4] + d[:, 4] + zs
        m0, s0 = prior.prior_first / prior.prior_second, 1 / prior.prior_second
        kl = 0.5 * (s / s0 + (m - m0) ** 2 / s0 - 1 - np.log(s / s0))
        square = mean**2 + variance
        return (x - 0.5) * mean - (reference.curvature(square) if lam is None else lam) * square - kl, square

    first, second = {
        "factor of u": (target.u_first[:, 2], target.u_second[:, 2]),
        "factor of v": (target.v_first[:, 2], target.v_second[:, 2]),
        "bias of u": (target.u_first[:, 4], target.u_second[:, 4]),
        "z": (target.z_first, target.z_second),
    }[where]
    now = {"factor of u": (um[:, 2], us[:, 2]), "factor of v": (vm[:, 2], vs[:, 2]), "bias of u": (um[:, 4], us[:, 4])}
    saved = now.get(where, (sides.z_first / sides.z_second, 1 / sides.z_second))
    lam = reference.curvature(bound(*saved)[1])
    best, h = (first / second, 1 / second), 1e-4
    for dm, ds in ((h, 0), (0, h)):
        up, down = bound(best[0] + dm, best[1] + ds, lam)[0], bound(best[0] - dm, best[1] - ds, lam)[0]
        assert np.abs((up - down) / (2 * h)).max() < 1e-5
        assert (bound(*best, lam)[0] > np.maximum(up, down)).all()


# The weights undo the sampling: over the columns of a row, p(j|i) u* sums to the prior and every entry's own part.
def test_targets_are_unbiased_over_a_row():
    sides, u, v, z, x = entries(4, 5, 3, rate=0.0)
    sides = sides._replace(u_first=np.tile(sides.u_first[:1], (5, 1)), u_second=np.tile(sides.u_second[:1], (5, 1)))
    p = np.random.default_rng(0).dirichlet(np.ones(5))
    prior = {"prior_first": np.full(5, 0.3), "prior_second": np.full(5, 1.2)}
    sampled = reference.entry_chain(sides, u._replace(weight=1 / p, **prior), v, z, x)
    whole = reference.entry_chain(sides, u._replace(weight=np.ones(5), **prior), v, z, x)
    for drawn, every, known in ((sampled.u_first, whole.u_first, 0.3), (sampled.u_second, whole.u_second, 1.2)):
        np.testing.assert_allclose(p @ drawn, known + (every - known).sum(axis=0), rtol=1e-12)
