"""`unelisa predict`: a stored model labels new items."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from unelisa.aggregators import Aggregator
from unelisa.cli import options
from unelisa.cli.files import STDOUT, check_outputs, output_files
from unelisa.cli.screen import busy, printable, progress, results
from unelisa.cli.verdict import warn_if_unreliable
from unelisa.errors import ModelError, VotesError
from unelisa.report.label_files import label_file, plan_files
from unelisa.report.spreadsheet import write_labels
from unelisa.storage import load
from unelisa.votes import Votes

ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model that `unelisa fit --save` wrote.")
]


def predict(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    model: ModelFile,
    votes: Annotated[
        list[Path],
        typer.Argument(
            metavar="VOTES",
            help="A table as for `fit`; or any number of Parquet files and folders of such.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="labels.csv|FOLDER",
            help="Where the labels go; - is stdout. With several files of votes, a folder: it gets "
            "a Parquet file of labels for each, written batch by batch.",
        ),
    ] = STDOUT,
    coding: options.Coding = None,
    labels: options.Labels = None,
    item: options.Item = None,
    voter: options.Voter = None,
    vote: options.Vote = None,
) -> None:
    """Label new items with a stored model; voters are matched by name."""
    form = options.VotesForm(coding, labels, item, voter, vote)
    if len(votes) > 1 or votes[0].is_dir() or out.is_dir():
        predict_files(load(model), votes, form, out)
        return
    check_outputs(out, inputs=(model, *votes))
    fitted = load(model)
    warn_if_unreliable(fitted)
    table = read_as_fitted(fitted, votes[0], form)
    if out == STDOUT:
        write_labels(sys.stdout, fitted, table)
        return
    with (
        busy("labelling"),
        output_files() as files,
        files.draft(out).open("w", encoding="utf-8", newline="") as file,
    ):
        write_labels(file, fitted, table)
    _tell(table.n_items, f"wrote {out}")


def predict_files(
    model: Aggregator, votes: Sequence[Path], form: options.VotesForm, out: Path
) -> None:
    """Write a file of labels for each file of votes, showing how far it is."""
    if out == STDOUT or (out.exists() and not out.is_dir()):
        raise ModelError("the labels of several files go to a folder; name it: --out FOLDER")
    warn_if_unreliable(model)
    pairs = plan_files(votes, out)
    coding, total = form.choose_coding(model.coding_), 0
    with progress() as bar:
        task = bar.add_task("labelling", total=len(pairs))
        for pair in pairs:
            total += label_file(model, pair, coding, form.item)
            bar.advance(task)
    _tell(total, f"wrote {len(pairs)} files to {out}")


def _tell(n_items: int, written: str) -> None:
    """Print how many items are labelled, and where the labels are."""
    screen = results()
    screen.print(f"{n_items:,} items labelled")
    screen.print(printable(written, longest=4096), soft_wrap=True)


def read_as_fitted(model: Aggregator, path: Path, form: options.VotesForm) -> Votes:
    """Return votes read with the labels that the model was fitted with."""
    votes = form.read(path, usual=model.coding_)
    if tuple(votes.classes) != tuple(model.classes_.tolist()):
        raise VotesError("the votes use other labels than those that the model was fitted with")
    return votes
