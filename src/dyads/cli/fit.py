"""`dyads fit`: a model from a file of pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dyads.cli.data import data_options, read
from dyads.cli.screen import tell
from dyads.cli.settings import built, fit_options
from dyads.cli.table import check_folder

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
@fit_options
@click.option("--checkpoint", metavar="DIR", help="Keep the fit in this folder, for --resume after Ctrl-C or a kill.")
@click.option("--every", type=int, metavar="N", help="Ticks between checkpoints. Without: every 30 seconds.")
@click.option("--resume", is_flag=True, help="Go on from the checkpoint, where there is one.")
@click.option("--without-pairs", is_flag=True, help="A smaller file, without the pairs of the fit.")
def command(data: str, output: str, layout: dict[str, Any], **given: Any) -> None:
    """Fit a model to the pairs in DATA and save it.

    DATA is CSV, TSV or any delimited text, FIMI baskets, Matrix Market, scipy's npz (all of these also gzipped), or
    Parquet.
    """
    check_folder(output)
    model = built(given["model"], given["settings"], given["seed"], given["jobs"])
    pairs = read(data, layout)
    keeping = {name: given[name] for name in ("checkpoint", "every", "resume")}
    try:
        model.fit(pairs, show_progress=not given["quiet"], **keeping)
    except KeyboardInterrupt:
        _tell_kept(given["checkpoint"])
        raise
    model.save(output, pairs=not given["without_pairs"])
    if not given["quiet"]:
        tell(_summary(model, output))


def _tell_kept(folder: str | None) -> None:
    if folder is not None and any(Path(folder).glob("checkpoint-*.dyads")):
        tell(f"dyads: the fit is kept in {folder}; the same command with --resume goes on with it")


def _summary(model: Any, output: str) -> str:
    ended = {"tolerance": ", where the objective stood still", "callback": ", stopped"}.get(model.fitted_.stopped, "")
    return (
        f"{type(model).__name__} of {len(model.users_)} users and {len(model.items_)} items: {model.n_iter_} ticks"
        f"{ended}, saved as {output}"
    )
