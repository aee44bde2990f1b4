"""`unelisa predict`: a saved model labels new items."""

from pathlib import Path

from unelisa.cli import options
from unelisa.cli.files import PARQUET, STDOUT, check_output
from unelisa.cli.screen import busy, show_path, tell_written
from unelisa.errors import ModelError, warn_if_unreliable
from unelisa.progress import show_progress


@options.takes_form
def predict(
    model: Path,
    votes: list[Path],
    out: Path = STDOUT,
    strict: bool = False,
    form: options.VotesForm = options.USUAL_FORM,
    run: options.RunForm = options.USUAL_RUN,
) -> None:
    """Label new items with a saved model; voters are matched by name.

    Column names and coding are those of the fit unless given here.

    votes VOTES: A table as for `fit`; or any number of Parquet files and folders of such files.
    --out labels.csv|FOLDER: Where the labels go; - is stdout. With several files of votes, a
        folder: it gets a Parquet file of labels for each, written batch by batch.
    """
    from unelisa.analysis.judged import Judged
    from unelisa.report.labels import label_file
    from unelisa.storage import load

    several = len(votes) > 1 or votes[0].is_dir() or out.is_dir()
    inputs = model, *votes
    run.check(tables=() if several else (out,), inputs=inputs)
    fitted = load(model)
    warn_if_unreliable(fitted)
    pairs = plan_labels(inputs, out, run.force) if several else []
    number = 0
    with run.files() as files:
        if several:
            coding = form.choose_coding(fitted.coding_)
            with show_progress("labeling", len(pairs)) as advance:
                for pair in pairs:
                    number += label_file(fitted, pair, coding, form.item or fitted.columns_[0])
                    advance(1)
        else:
            judged = Judged.of(fitted, form.read_as_fitted(votes, fitted))
            number = len(judged.scores)
            with busy("writing"):
                files.write_labels(out, judged)
        facts = {"items": number, "reliable": getattr(fitted, "reliable_", None)}
        files.write_json(run.json, facts)
    screen = run.screen(out)
    screen.print(f"{number:,} items labeled")
    if several:
        show_path(screen, f"wrote {len(pairs)} files to {out}")
    tell_written(screen, None if several else out, run.json)
    options.end_strictly(strict, fitted)


def plan_labels(inputs: tuple[Path, ...], out: Path, force: bool) -> list[tuple[Path, Path]]:
    """Return each file of votes with its file of labels, which replaces no input."""
    from unelisa.report.labels import plan_files

    if out == STDOUT or (out.exists() and not out.is_dir()):
        raise ModelError("the labels of several files go to a folder; name it with --out FOLDER")
    pairs = plan_files(inputs[1:], out)
    for _, labels in pairs:
        check_output(labels, inputs, force, PARQUET)
    return pairs
