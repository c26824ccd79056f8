"""`dyads fit`: a model from a file of pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dyads.cli.data import check_values, count_once, data_options, read
from dyads.cli.screen import tell
from dyads.cli.settings import built, fit_options
from dyads.cli.table import check_folder
from dyads.errors import ConfigError

EXAMPLE = """\b
Examples:
  dyads fit clicks.csv --user visitor --item page --model bpr -o model.dyads
  dyads fit ratings.tsv --value 2 --model sbmf --set n_factors=20 -o model.dyads
  dyads fit clicks.csv --checkpoint kept --resume -o model.dyads

`dyads info bpr` lists what --set may change.
"""


@click.command("fit", epilog=EXAMPLE)
@click.argument("data")
@click.option("--model", default="bpr", show_default=True, metavar="NAME", help="bpr, sbmf or popularity.")
@click.option("--output", "-o", required=True, metavar="FILE", help="Where the model goes.")
@data_options
@fit_options()
@click.option("--checkpoint", metavar="DIR", help="Keep the fit in this folder, for --resume after Ctrl-C or a kill.")
@click.option(
    "--every", type=click.IntRange(1), metavar="N", help="Ticks between checkpoints. Without: every 30 seconds."
)
@click.option("--resume", is_flag=True, help="Go on from the checkpoint, where there is one.")
@click.option("--without-pairs", is_flag=True, help="A smaller file, without the pairs of the fit.")
def command(data: str, output: str, layout: dict[str, Any], **given: Any) -> None:
    """Fit a model to the pairs in DATA and save it.

    DATA is CSV, TSV or any delimited text, FIMI baskets, Matrix Market, scipy's npz (all of these also gzipped), or
    Parquet.
    """
    check_folder(output, data)
    _check_keeping(given["checkpoint"], given["every"], given["resume"])
    model = built(given["model"], given["settings"], given["seed"], given["jobs"])
    check_values(model, data, layout)
    pairs = read(data, layout)
    if count_once(model, pairs, data, layout) and not given["quiet"]:
        tell(f"pairs that come again in {data} count once, for {type(model).__name__} learns from ones")
    keeping = {name: given[name] for name in ("checkpoint", "every", "resume")}
    try:
        model.fit(pairs, show_progress=not given["quiet"], **keeping)
    except KeyboardInterrupt:
        _tell_kept(given["checkpoint"])
        raise
    model.save(output, pairs=not given["without_pairs"])
    if not given["quiet"]:
        tell(_summary(model, output))


def _check_keeping(folder: str | None, every: int | None, resume: bool) -> None:
    for option, given in (("--resume", resume), ("--every", every is not None)):
        if given and folder is None:
            raise ConfigError(f"{option} is for a fit that is kept in a folder: name it with --checkpoint DIR")
    if folder is not None and not resume and _kept(folder):
        raise ConfigError(f"--checkpoint {folder} holds a fit: add --resume to go on with it, or name another folder")


def _kept(folder: str) -> bool:
    return any(Path(folder).glob("checkpoint-*.dyads"))


def _tell_kept(folder: str | None) -> None:
    if folder is not None and _kept(folder):
        tell(f"dyads: the fit is kept in {folder}; the same command with --resume goes on with it")


def _summary(model: Any, output: str) -> str:
    ended = {"tolerance": ", where the objective stood still", "callback": ", stopped"}.get(model.fitted_.stopped, "")
    return (
        f"{type(model).__name__} of {len(model.users_)} users and {len(model.items_)} items: {model.n_iter_} ticks"
        f"{ended}, saved as {output}"
    )
