# Random words that travel with their rows, for the equivariance of a step: a word belongs to the number of a row or of
# an entry, so when users and items change places, a step gives the same values in new places where the words move with
# them.

from __future__ import annotations

import numpy as np

from dyads.kernels import reference
from dyads.streams import Site


# Row methods: new row r is given the words of old row users[r], or items[r].
def by_row(monkeypatch, state, users, items):
    real, old = reference.normal, {"USER": users, "ITEM": items}

    def normal(at, site, rows, n):
        return real(at, site, old[Site(site).name.rpartition("_")[2]][rows], n)

    monkeypatch.setattr(reference, "normal", normal)


# Methods that learn from triples: the same triples as before, under their new numbers.
def by_triple(monkeypatch, state, users, items):
    real, before = reference.bpr_triples, state.user.data
    new_user, new_item = np.argsort(users), np.argsort(items)

    def triples(data, at, site, n):
        one, zero = real(before, at, site, n)
        key = new_user[before.rows[one]] * len(items) + new_item[before.items[one]]
        keys = data.rows.astype(np.int64) * len(items) + data.items
        return np.searchsorted(keys, key), np.where(zero >= 0, new_item[zero], -1)

    monkeypatch.setattr(reference, "bpr_triples", triples)
