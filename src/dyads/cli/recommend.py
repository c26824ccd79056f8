"""`dyads recommend`: the best items for users, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dyads.cli.asking import asked, typed
from dyads.cli.screen import tell
from dyads.cli.table import SCREEN, Table, check_output, put
from dyads.errors import ConfigError

if TYPE_CHECKING:
    from dyads.model import Model

EXAMPLE = """\b
Examples:
  dyads recommend model.dyads --user ann --user bob -n 5
  dyads recommend model.dyads --all --std --output all.parquet
  dyads recommend model.dyads --history today.csv
"""


@click.command("recommend", epilog=EXAMPLE)
@click.argument("model")
@click.option("--user", "users", multiple=True, metavar="ID", help="A user; may come often.")
@click.option("--users-from", metavar="FILE", help="A file of user ids, one a line; - reads the standard input.")
@click.option("--all", "everyone", is_flag=True, help="All users.")
@click.option("-n", "count", type=click.IntRange(1), default=10, show_default=True, help="Items for each user.")
@click.option("--with-liked", is_flag=True, help="Also items that the user has already.")
@click.option("--rank-by", default="answer", show_default=True, metavar="WHAT", help="answer or mean.")
@click.option("--std", is_flag=True, help="Also the answer's standard deviation: how little the model knows it.")
@click.option("--history", metavar="FILE", help="Place users, new ones too, by the pairs in FILE, without a refit.")
@click.option("--columns", metavar="USER,ITEM[,VALUE]", help="The columns of --history, by name or number from 0.")
@click.option("--output", "-o", metavar="FILE", help="Write .csv, .json or .parquet instead of printing.")
@click.option("--as", "shown_as", type=click.Choice(SCREEN), default="table", help="How to print.")
def command(model: str, users: tuple[str, ...], output: str | None, **given: Any) -> None:
    """Recommend items by a saved MODEL."""
    import dyads

    check_output(output, model, given["history"], given["users_from"])
    texts = asked(users, given["users_from"], given["everyone"])
    if texts is None and not given["everyone"] and given["history"] is None:
        raise ConfigError("nobody is asked about: give --user ID, --users-from FILE, --all, or --history FILE")
    opened = dyads.load(model)
    put(_table(opened, texts, given), output, given["shown_as"])


def _table(model: Model, texts: list[str] | None, given: dict[str, Any]) -> Table:
    """User, place, item and answer, a row for each recommended item."""
    import numpy as np

    history = None if given["history"] is None else _history(model, given["history"], given["columns"])
    known = model.users_ if history is None else history.users
    who = known.ids().tolist() if texts is None else typed(texts, known)
    if history is not None and texts is not None:
        known.numbers(who, side="user")  # an id that is not in the history is an error, not an empty history
    if given["std"] and is_point(model):
        raise ConfigError(f"{type(model).__name__} is a point estimate and has no spread: leave --std out")
    count = min(given["count"], len(model.items_))
    items, scores, *spread = model.recommend(
        who,
        history,
        count,
        filter_already_liked_items=not given["with_liked"],
        recalculate_user=history is not None,
        rank_by=given["rank_by"],
        return_std=given["std"],
    )
    there = ~np.isneginf(scores)
    without = int(np.count_nonzero(~there.any(axis=1)))
    if without and not given["with_liked"]:
        tell(
            f"nothing new is left for {without} of {len(who)} users, who have every item: --with-liked gives those too"
        )
    places = np.broadcast_to(np.arange(1, count + 1), scores.shape)
    named = np.repeat(np.array(who, dtype=object if known.kind == "strings" else np.int64), there.sum(axis=1))
    answer = model.answer if given["rank_by"] == "answer" else given["rank_by"]
    found = {"user": named, "place": places[there], "item": items[there], answer: scores[there]}
    return {**found, "std": spread[0][there]} if spread else found


def _history(model: Model, path: str, columns: str | None) -> Any:
    """The pairs that users are placed by; without `columns` the first two, and for ratings the third."""
    import dyads
    from dyads.cli.data import column

    usual = "0,1,2" if model.data == "ratings" else "0,1"
    names: list[Any] = [column(text) for text in (columns or usual).split(",")]
    if not 2 <= len(names) <= 3:
        raise ConfigError(f"--columns {columns} does not name two or three columns: give USER,ITEM or USER,ITEM,VALUE")
    ones = model.data == "binary" and len(names) == 2  # a line that comes again is no other one
    return dyads.read(path, *names, duplicates="mean" if ones else None)


def is_point(model: Model) -> bool:
    """Whether the model's answers have no spread at all."""
    found = model.posterior_
    parts = (found.user_var, found.item_var, found.user_alpha, found.item_alpha)
    return len(found.offset) == 1 and all(part is None for part in parts) and not found.offset_var.any()
