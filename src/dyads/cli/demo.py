"""`dyads demo`: a small shop's purchase log, from the file to recommendations with their spread."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from dyads.cli.screen import say
from dyads.cli.table import check_folder

if TYPE_CHECKING:
    from dyads.pairs import Pairs

SHOWN, PRODUCTS = 3, 5  # shoppers, and recommendations for each
METRICS = ("recall@10", "ndcg@10", "auc")
EXAMPLE = """\b
Examples:
  dyads demo
  dyads demo --copy purchases.csv
"""
INTRODUCTION = """\
{shoppers} shoppers made {purchases} purchases of {products} products. The log is synthetic: everyone has a home
aisle and a second one, and the models are not told which.

One purchase of each shopper is held out. How high does it stand among what the shopper has not bought?
"""
SCORES = """
SBMF was fitted to the whole table, 1 where something was bought and 0 elsewhere. A score is what it
expects of a cell, std the standard deviation of that over {draws} draws from the posterior (for ones and
zeros, whose noise is not Gaussian, a rough one). * marks the purchase that was held out.
"""
NEXT = """\
Type next:
  dyads demo --copy purchases.csv
  dyads fit purchases.csv --user shopper --item product --model bpr -o shop.dyads
  dyads recommend shop.dyads --user {shopper} -n 5
  dyads evaluate purchases.csv --user shopper --item product --model bpr,popularity"""


@click.command("demo", epilog=EXAMPLE)
@click.option("--copy", metavar="FILE", help="Only copy the log to this file, to go on with.")
@click.option("--seed", type=click.IntRange(0, 2**63), default=0, show_default=True, help="The seed.")
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
def command(copy: str | None, seed: int, quiet: bool) -> None:
    """Fit, evaluate and recommend on the log that ships."""
    from dyads.synthetic import SHIPPED

    if copy is not None:
        return _copy(SHIPPED.read_bytes(), copy)
    import dyads

    pairs = dyads.read(SHIPPED, user="shopper", item="product")
    train, test = dyads.split.leave_one_out(pairs, random_state=seed)
    say(INTRODUCTION.format(shoppers=len(pairs.users), products=len(pairs.items), purchases=pairs.n_pairs))
    model = _compared(train, test, seed, None if not quiet else False)
    shoppers = _shoppers(train)
    say(SCORES.format(draws=model.n_draws))
    for shopper in shoppers:
        _show(model, train, test, shopper)
    say(NEXT.format(shopper=shoppers[0]))
    return None


def _copy(content: bytes, path: str) -> None:
    from dyads.arrayfile import replacing

    check_folder(path)
    with replacing(path) as out:
        out.write(content)


def _compared(train: Pairs, test: Pairs, seed: int, show: bool | None) -> Any:
    """The models' standings, printed; the one that knows its spread."""
    import dyads
    from dyads.cli.picture import drawn
    from dyads.cli.standings import standings

    factors = 12
    sbmf = dyads.SBMF(n_factors=factors, burn_in=20, n_draws=50, random_state=seed)
    bpr = dyads.BPR(n_factors=factors, random_state=seed)
    sbmf.fit(_whole_table(train), show_progress=show)
    bpr.fit(train, show_progress=show)
    reports = {
        type(model).__name__: dyads.evaluate(model, train, test, METRICS, random_state=seed) for model in (sbmf, bpr)
    }
    say(drawn(standings(reports)))
    return sbmf


def _whole_table(pairs: Pairs) -> Pairs:
    """Every cell as a value: 1 for a pair, 0 for none."""
    import numpy as np

    from dyads.pairs import Pairs

    cells = pairs.to_scipy().toarray()
    rows, columns = np.indices(cells.shape)
    return Pairs.numbered(pairs.users, pairs.items, rows.ravel(), columns.ravel(), cells.ravel())


# --- shoppers ------------------------------------------------------------------------------------------------------


def _shoppers(train: Pairs) -> list[str]:
    """The first shoppers whose home aisles differ."""
    found: dict[str, str] = {}
    for shopper in train.users.ids().tolist():
        found.setdefault(_aisles(_bought(train, shopper)).most_common(1)[0][0], shopper)
    return list(found.values())[:SHOWN]


def _bought(pairs: Pairs, shopper: str) -> list[str]:
    products: list[str] = pairs.items.ids(pairs.by_user.row(pairs.users.number(shopper))).tolist()
    return products


def _aisles(products: list[str]) -> Counter[str]:
    from dyads.shop import AISLES

    home = {product: aisle for aisle, products in AISLES.items() for product in products}
    return Counter(home[product] for product in products)


def _show(model: Any, train: Pairs, test: Pairs, shopper: str) -> None:
    """What a shopper bought, by aisle, and what is recommended."""
    from dyads.cli.picture import drawn

    bought = ", ".join(f"{n} of {aisle}" for aisle, n in _aisles(_bought(train, shopper)).most_common())
    products, scores, std = model.recommend(shopper, train, N=PRODUCTS, return_std=True)
    table = {
        "product": [p + " *" * (p in _bought(test, shopper)) for p in products],
        "aisle": [next(iter(_aisles([p]))) for p in products],
        "score": [f"{score:.2f}" for score in scores],
        "std": [f"{one:.2f}" for one in std],
    }
    say(f"{shopper} bought {bought}\n{drawn(table)}\n")
