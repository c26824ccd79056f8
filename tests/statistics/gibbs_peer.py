# Another library's Gibbs sampler (myFM, from PyPI) on the same split, where it is installed.

from __future__ import annotations

import contextlib
import os
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dyads.pairs import Pairs

BURN_IN, N_DRAWS = 50, 100
# Its precisions are Gamma(1/2, 1/2) where those of the paper behind SBMF are Gamma(1, 1). With many factors that shows:
# on ML-1M at K = 50 the RMSE of SBMF is 0.3 % higher under the paper's.
PEER_PRIORS = {"prior_shape": 0.5, "prior_rate": 0.5, "prior_noise_shape": 0.5, "prior_noise_rate": 0.5}


# One row per rating, a one in the column of its user and one in that of its item.
def indicators(pairs: Pairs) -> Any:
    n, n_users = pairs.n_pairs, pairs.shape[0]
    columns = np.stack([pairs.rows(), n_users + pairs.columns()], axis=1).ravel()
    return sparse.csr_matrix((np.ones(2 * n), columns, np.arange(0, 2 * n + 1, 2)), shape=(n, sum(pairs.shape)))


# RMSE of the mean over as many draws as SBMF keeps; users and items have priors of their own, as they have there.
def peer_rmse(train: Pairs, test: Pairs, n_factors: int, seed: int = 0) -> float:
    myfm = pytest.importorskip("myfm", reason="myFM is not installed: pip install 'dyads[bench]'")
    model = myfm.MyFMGibbsRegressor(rank=n_factors, random_seed=seed)
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):  # its progress bar has no switch
        model.fit(
            indicators(train),
            train.values().astype(np.float64),
            n_iter=BURN_IN + N_DRAWS,
            n_kept_samples=N_DRAWS,
            group_shapes=list(train.shape),
        )
    return float(np.sqrt(np.mean((model.predict(indicators(test)) - test.values()) ** 2)))
