"""`dyads evaluate`: how good models are on pairs that they have not seen."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from dyads.cli.data import check_values, count_once, data_options, read
from dyads.cli.screen import tell
from dyads.cli.settings import built, fit_options, shared_out
from dyads.cli.standings import BASELINE, heading, standings
from dyads.cli.table import SCREEN, check_output, put
from dyads.errors import ConfigError

if TYPE_CHECKING:
    from dyads.evaluate import Report
    from dyads.model import Model
    from dyads.pairs import Pairs

SPLITS = ("leave-one-out", "fraction", "cells")
EXAMPLE = """\b
Examples:
  dyads evaluate clicks.csv --user visitor --item page --model bpr,popularity
  dyads evaluate ratings.tsv --value 2 --model sbmf --set n_factors=20 --share 0.2
  dyads evaluate --model model.dyads --test tomorrow.csv --output report.json
"""


@click.command("evaluate", epilog=EXAMPLE)
@click.argument("data", required=False)
@click.option("--model", default="bpr", show_default=True, metavar="NAMES", help="Methods, or files of saved models.")
@data_options
@click.option("--split", type=click.Choice(SPLITS), help="Without: fraction for ratings, else leave-one-out.")
@click.option("--share", type=float, help="Of all pairs, so much is held out by --split fraction. Without: 0.1.")
@click.option("--cells", type=int, help="So many cells are hidden by --split cells. Without: a hundredth, to 10^6.")
@click.option("--test", metavar="FILE", help="Held-out pairs, laid out as DATA, in place of a split.")
@click.option("--metric", metavar="NAMES", help="Such as recall@10,ndcg,auc,rmse. Without: all usual ones that fit.")
@click.option("-n", "count", type=click.IntRange(1), default=10, show_default=True, help="Length of the lists.")
@fit_options(seed=0)
@click.option("--output", "-o", metavar="FILE", help="Write .csv, .json or .parquet instead of printing.")
@click.option("--as", "shown_as", type=click.Choice(SCREEN), default="table", help="How to print.")
def command(data: str | None, model: str, layout: dict[str, Any], output: str | None, **given: Any) -> None:
    """Hold out some of the pairs in DATA, fit models to the rest, and judge them.

    Saved models are judged as they are, on the pairs of --test, and need no DATA. Popularity stands beside the others.
    """
    names = _names(model)
    from dyads.evaluate import chosen

    check_output(output, data, given["test"], *names)
    models = _models(names, given)
    given["metric"] = _metrics(given["metric"], given["count"])
    train, test = _parts(data, models, layout, given)
    for one in models.values():  # before the first fit, so that a mistake shows at once
        chosen(one, given["metric"], given["count"], one.pairs_ if train is None else train, test)
    reports = {}
    for name, one in models.items():
        if not _is_file(name):
            one.fit(train, show_progress=not given["quiet"])
        reports[name] = _report(one, train, test, given, baseline=BASELINE not in models)
    _remark(reports, given["quiet"])
    put(standings(reports), output, given["shown_as"])


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if len(set(names)) < len(names):
        raise ConfigError(f"--model {text} names a model twice: name it once")
    return names


def _is_file(name: str) -> bool:
    from dyads.models import METHODS

    return name not in METHODS and (os.path.exists(name) or name.endswith(".dyads") or os.sep in name)


def _models(names: list[str], given: dict[str, Any]) -> dict[str, Model]:
    """Opened or built, all before the first is fitted, so that a mistake shows at once."""
    import dyads

    methods = [name for name in names if not _is_file(name)]
    settings = shared_out(given["settings"], methods)
    return {
        name: built(name, settings[name], given["seed"], given["jobs"]) if name in methods else dyads.load(name)
        for name in names
    }


def _metrics(text: str | None, length: int) -> list[str] | None:
    """The names of the metrics, each known."""
    from dyads.metrics import metric

    return None if text is None else [metric(name.strip(), length).name for name in text.split(",")]


def _parts(data: str | None, models: dict[str, Model], layout: dict[str, Any], given: dict[str, Any]) -> Any:
    """Train and test; without DATA, train is what each saved model was fitted on."""
    files, path = [name for name in models if _is_file(name)], given["test"]
    if path is None and files:
        raise ConfigError(f"{files[0]} was fitted before any split could be made: give held-out pairs with --test FILE")
    if data is None and len(files) < len(models):
        raise ConfigError("there is nothing to fit the models to: name a file of pairs as DATA")
    for model in models.values():
        check_values(model, path or data or "", layout)
    pairs = None if data is None else read(data, layout)
    for name, model in models.items():
        if pairs is not None and not _is_file(name):
            count_once(model, pairs, str(data), layout)
    if path is not None:
        for option in ("split", "share", "cells"):
            if given[option] is not None:
                raise ConfigError(f"--{option} cuts DATA, and --test names the held-out pairs: give one of them")
        return pairs, read(path, layout)
    return _cut(pairs, next(iter(models.values())), given)


def _cut(pairs: Any, model: Model, given: dict[str, Any]) -> tuple[Pairs, Pairs]:
    from dyads import split

    kind = given["split"] or ("fraction" if model.data == "ratings" else "leave-one-out")
    for option, mine in (("share", "fraction"), ("cells", "cells")):
        if given[option] is not None and kind != mine:
            raise ConfigError(f"--{option} {given[option]} is for --split {mine}, and this split is {kind}")
    if kind == "fraction":
        return split.fraction(pairs, 0.1 if given["share"] is None else given["share"], given["seed"])
    if kind == "cells":
        return split.cells(pairs, given["cells"], given["seed"])
    return split.leave_one_out(pairs, given["seed"])


def _report(model: Model, train: Pairs | None, test: Pairs, given: dict[str, Any], baseline: bool) -> Report:
    from dyads import evaluate

    known = model.pairs_ if train is None else train
    return evaluate(model, known, test, given["metric"], given["count"], random_state=given["seed"], baseline=baseline)


def _remark(reports: dict[str, Report], quiet: bool) -> None:
    """What the numbers were measured on, and what was not measured."""
    if not quiet:
        tell(heading(next(iter(reports.values()))))
        for note in dict.fromkeys(note for report in reports.values() for note in report.notes):
            tell(note)
