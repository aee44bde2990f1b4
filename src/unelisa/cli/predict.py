"""`unelisa predict`: a saved model labels new items."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from unelisa.aggregators import Aggregator
from unelisa.analysis.judged import Judged
from unelisa.cli import options
from unelisa.cli.files import PARQUET, STDOUT, check_output, check_outputs, output_files
from unelisa.cli.screen import busy, printable, results, tell_written
from unelisa.errors import ModelError
from unelisa.progress import show_progress
from unelisa.report.labels import label_columns, label_file, label_rows, plan_files
from unelisa.storage import load

Pair = tuple[Path, Path]  # a file of votes, and of labels


@options.takes_form
def predict(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    model: options.ModelFile,
    votes: Annotated[
        list[Path],
        typer.Argument(
            metavar="VOTES",
            help="A table as for `fit`; or any number of Parquet files and folders of such files.",
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
    force: options.Force = False,
    quiet: options.Quiet = False,
    strict: options.Strict = False,
    form: options.VotesForm = options.USUAL_FORM,
    _memory: options.Memory = None,
) -> None:
    """Label new items with a saved model; voters are matched by name.

    Column names and coding are those of the fit unless given here.
    """
    several = len(votes) > 1 or votes[0].is_dir() or out.is_dir()
    if not several:
        check_outputs(tables=(out,), inputs=(model, *votes), force=force)
    fitted = load(model)
    options.warn_if_unreliable(fitted)
    if several:
        predict_files(fitted, plan_labels(model, votes, out, force), form, out)
        return
    judged = Judged.of(fitted, form.read_as_fitted(votes, fitted))
    with busy("writing"), output_files(force) as files:
        files.write_csv(out, label_columns(judged), label_rows(judged))
    screen = results(quiet=quiet or out == STDOUT)
    screen.print(f"{len(judged.scores):,} items labeled")
    tell_written(screen, out)
    options.end_strictly(strict, fitted)


def plan_labels(model: Path, votes: Sequence[Path], out: Path, force: bool) -> list[Pair]:
    """Return each file of votes with its file of labels, which replaces no input."""
    if out == STDOUT or (out.exists() and not out.is_dir()):
        raise ModelError("the labels of several files go to a folder; name it with --out FOLDER")
    pairs = plan_files(votes, out)
    for _, labels in pairs:
        check_output(labels, (model, *votes), force, PARQUET)
    return pairs


def predict_files(
    model: Aggregator, pairs: Sequence[Pair], form: options.VotesForm, out: Path
) -> None:
    """Write a file of labels for each file of votes, showing the progress."""
    coding, total = form.choose_coding(model.coding_), 0
    with show_progress("labeling", len(pairs)) as advance:
        for pair in pairs:
            total += label_file(model, pair, coding, form.item or model.columns_[0])
            advance(1)
    screen = results()
    screen.print(f"{total:,} items labeled")
    screen.print(printable(f"wrote {len(pairs)} files to {out}", longest=4096), soft_wrap=True)
