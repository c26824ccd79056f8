"""The picture of the README: `python docs/pictures.py` writes docs/images/shop.png. Needs the extra `docs`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

import dyads
from dyads.shop import AISLES, EVERYDAY
from dyads.synthetic import SHIPPED

matplotlib.use("Agg")
from matplotlib import pyplot as plt  # the backend is chosen first

LEVELS = np.arange(5, 100, 5) / 100.0
NAMES = list(AISLES)
AISLE = {product: name for name, products in AISLES.items() for product in products}


def shares(products: Any) -> Any:
    """What share of some products stands in each aisle."""
    return np.bincount([NAMES.index(AISLE[product]) for product in products], minlength=len(NAMES)) / len(products)


def aisles() -> Any:
    """Row: the aisle from which a shopper buys most, everyday things apart. Column: where the recommendations stand."""
    pairs = dyads.read(SHIPPED)
    model = dyads.BPR(random_state=0).fit(pairs, show_progress=False)
    shoppers = pairs.users.ids().tolist()
    found = np.array([shares(row) for row in model.recommend(shoppers, N=10)[0]])
    bought = np.array([shares(pairs.items.ids(pairs.by_user.row(u))) for u in range(len(shoppers))])
    bought[:, EVERYDAY] = -1.0
    home = bought.argmax(axis=1)
    return np.array([found[home == a].mean(axis=0) for a in range(len(NAMES)) if a != EVERYDAY])


def coverage() -> Any:
    """The share of held-out ratings within intervals of each level."""
    pairs = dyads.synthetic.ratings(600, 300, random_state=0).pairs
    train, test = dyads.split.fraction(pairs, 0.2, random_state=0)
    model = dyads.SBMF(n_factors=3, random_state=0).fit(train, show_progress=False)
    report = dyads.evaluate(model, train, test, [f"coverage@{100 * level:.0f}" for level in LEVELS], baseline=False)
    return np.array([[row.value, row.low, row.high] for row in report.rows])


def draw(path: Path) -> None:
    """Both panels."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.2), width_ratios=(1.25, 1), layout="constrained")
    shown = left.imshow(aisles(), cmap="Blues", vmin=0, vmax=0.6)
    left.set_xticks(range(len(NAMES)), NAMES, rotation=60, ha="right", rotation_mode="anchor")
    left.set_yticks(range(len(NAMES) - 1), [name for name in NAMES if name != NAMES[EVERYDAY]])
    left.set_xlabel("aisle of the ten recommendations")
    left.set_ylabel("aisle the shopper buys from most")
    figure.colorbar(shown, ax=left, label="share", shrink=0.85)
    left.set_title("BPR finds the aisles of a shop", fontsize=11)

    found = coverage()
    right.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    right.fill_between(LEVELS, found[:, 1], found[:, 2], color="tab:blue", alpha=0.25, linewidth=0)
    right.plot(LEVELS, found[:, 0], "o-", color="tab:blue", markersize=3.5, linewidth=1)
    right.set(
        xlabel="level of the interval", ylabel="held-out ratings inside", xlim=(0, 1), ylim=(0, 1), aspect="equal"
    )
    right.set_title("SBMF's intervals hold what they say", fontsize=11)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    draw(Path(__file__).with_name("images") / "shop.png")
