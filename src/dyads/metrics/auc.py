"""Area under the ROC curve."""

from __future__ import annotations

import numpy as np

from dyads.metrics.standing import Standing
from dyads.pairs import F64


def auc(standing: Standing) -> F64:
    """Per user, how often a held-out item t ∈ T scores above a candidate c ∈ C that is not held out:

        AUC = 1 / (|T| |C|) Σ_t Σ_c ( [f_t > f_c] + ½ [f_t = f_c] ).

    Ties count half. A user whose candidates are all held out has no AUC (NaN) and is left out of the mean.
    """
    others = standing.candidates - standing.held()
    above = standing.above - standing.above_held
    equal = standing.equal - standing.equal_held
    lost = standing.per_user(above + 0.5 * equal) / standing.held()
    shares: F64 = np.divide(lost, others, out=np.full(len(lost), np.nan), where=others > 0)
    return 1.0 - shares
