"""MovieLens 1M from the folder that DYADS_DATA names: 90 % of its ratings, at random by a fixed seed."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from dyads.pairs import Pairs


def training(seed: int = 1) -> Pairs:
    """900,189 ratings of 6,040 users and 3,706 items."""
    folder = os.environ.get("DYADS_DATA")
    if folder is None:
        raise SystemExit("set DYADS_DATA to the folder that holds ml-1m.zip")
    with zipfile.ZipFile(Path(folder) / "ml-1m.zip") as archive:
        name = next(name for name in archive.namelist() if name.endswith("ratings.dat"))
        table: Any = np.array(archive.read(name).decode("latin-1").replace("::", " ").split(), dtype=np.int64)
    table = table.reshape(-1, 4)
    pairs = Pairs.of(table[:, 0], table[:, 1], table[:, 2])
    keep = np.ones(pairs.n_pairs, dtype=bool)
    keep[np.random.default_rng(seed).permutation(pairs.n_pairs)[: pairs.n_pairs // 10]] = False
    return pairs.select(keep)
