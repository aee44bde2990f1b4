"""`unelisa predict`: a saved model labels new items."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from unelisa.aggregators import Aggregator
from unelisa.analysis.judged import Judged
from unelisa.cli import options
from unelisa.cli.files import PARQUET, STDOUT, check_output
from unelisa.cli.forms import argument, takes_form
from unelisa.cli.screen import busy, printable, tell_written
from unelisa.errors import ModelError
from unelisa.progress import show_progress
from unelisa.report.labels import label_columns, label_file, label_rows, plan_files
from unelisa.storage import load

Pair = tuple[Path, Path]  # a file of votes, and of labels


@takes_form
def predict(
    model: options.ModelFile,
    votes: Annotated[
        list[Path],
        argument(
            "VOTES",
            "A table as for `fit`; or any number of Parquet files and folders of such files.",
        ),
    ],
    out: Path = STDOUT,
    strict: options.Strict = False,
    form: options.VotesForm = options.USUAL_FORM,
    run: options.RunForm = options.USUAL_RUN,
) -> None:
    """Label new items with a saved model; voters are matched by name.

    Column names and coding are those of the fit unless given here.

    --out labels.csv|FOLDER: Where the labels go; - is stdout. With several files of votes, a
        folder: it gets a Parquet file of labels for each, written batch by batch.
    """
    several = len(votes) > 1 or votes[0].is_dir() or out.is_dir()
    inputs = model, *votes
    run.check(tables=() if several else (out,), inputs=inputs)
    fitted = load(model)
    options.warn_if_unreliable(fitted)
    pairs = plan_labels(inputs, out, run.force) if several else []
    with run.files() as files:
        if several:
            number = label_files(fitted, pairs, form)
        else:
            judged = Judged.of(fitted, form.read_as_fitted(votes, fitted))
            number = len(judged.scores)
            with busy("writing"):
                files.write_csv(out, label_columns(judged), label_rows(judged))
        files.write_json(
            run.json, {"items": number, "reliable": getattr(fitted, "reliable_", None)}
        )
    screen = run.screen(out)
    screen.print(f"{number:,} items labeled")
    if several:
        screen.print(printable(f"wrote {len(pairs)} files to {out}", longest=4096), soft_wrap=True)
    tell_written(screen, None if several else out, run.json)
    options.end_strictly(strict, fitted)


def plan_labels(inputs: Sequence[Path], out: Path, force: bool) -> list[Pair]:
    """Return each file of votes with its file of labels, which replaces no input."""
    if out == STDOUT or (out.exists() and not out.is_dir()):
        raise ModelError("the labels of several files go to a folder; name it with --out FOLDER")
    pairs = plan_files(inputs[1:], out)
    for _, labels in pairs:
        check_output(labels, inputs, force, PARQUET)
    return pairs


def label_files(model: Aggregator, pairs: Sequence[Pair], form: options.VotesForm) -> int:
    """Write a file of labels for each file of votes; return the number of items."""
    coding, total = form.choose_coding(model.coding_), 0
    with show_progress("labeling", len(pairs)) as advance:
        for pair in pairs:
            total += label_file(model, pair, coding, form.item or model.columns_[0])
            advance(1)
    return total
