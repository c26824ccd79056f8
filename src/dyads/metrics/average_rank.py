"""Average rank on a scale from 0 to 1."""

from __future__ import annotations

import numpy as np

from dyads.metrics.standing import Standing
from dyads.pairs import F64


def average_rank(standing: Standing) -> F64:
    """Per user, the share of the candidates that the held-out item j* leaves behind; 1 is best:

        R(i, j*) = 1 / (J − |G(i)|) Σ_{j ∉ G(i)} [ f_ij* > f_ij ]

    (Paquet, Koenigstein, Winther 2014, eq. 12), G(i) the training items of user i, averaged over its held-out items.
    Departure: a tie with another candidate counts half, so that a model which scores all alike gets about one half;
    without ties the formula is as printed. As printed, too, the item itself is among the candidates, so that the best
    value is 1 − 1 / (J − |G(i)|).
    """
    candidates = np.repeat(standing.candidates, standing.held())
    behind = candidates - 1 - standing.mean_place()  # eq. 12
    return standing.per_user(behind / candidates) / standing.held()
