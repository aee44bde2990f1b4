"""`unelisa predict`: a stored model labels new items."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from unelisa.aggregators import Aggregator
from unelisa.cli import options
from unelisa.cli.files import STDOUT, check_outputs, output_files
from unelisa.cli.screen import busy, results
from unelisa.coding import CodingChoice
from unelisa.errors import VotesError
from unelisa.report.spreadsheet import write_labels
from unelisa.storage import load
from unelisa.votes import Votes

ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model that `unelisa fit --save` wrote.")
]


def predict(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    model: ModelFile,
    votes: options.VotesFile,
    out: Annotated[
        Path, typer.Option(metavar="labels.csv", help="Where the labels go; - is stdout.")
    ] = STDOUT,
    coding: options.Coding = None,
    labels: options.Labels = None,
    item: options.Item = None,
    voter: options.Voter = None,
    vote: options.Vote = None,
) -> None:
    """Label new items with a stored model; voters are matched by name."""
    check_outputs(out, inputs=(model, votes))
    fitted = load(model)
    form = options.VotesForm(coding, labels, item, voter, vote)
    table = read_as_fitted(fitted, votes, form)
    if out == STDOUT:
        write_labels(sys.stdout, fitted, table)
        return
    with (
        busy("labelling"),
        output_files() as files,
        files.draft(out).open("w", encoding="utf-8", newline="") as file,
    ):
        write_labels(file, fitted, table)
    results().print(f"{table.n_items:,} items labelled\nwrote {out}", markup=False, soft_wrap=True)


def read_as_fitted(model: Aggregator, path: Path, form: options.VotesForm) -> Votes:
    """Return votes read with the labels that the model was fitted with."""
    negative, positive = model.classes_.tolist()
    same: CodingChoice = "pm1" if (negative, positive) == (-1, 1) else (negative, positive)
    votes = form.read(path, usual=same)
    if tuple(votes.classes) != (negative, positive):
        raise VotesError("the votes use other labels than those that the model was fitted with")
    return votes
