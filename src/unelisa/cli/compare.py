"""`unelisa compare`: every method on the same votes, against the truth."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from unelisa.aggregators import AGGREGATORS
from unelisa.analysis.comparison import compare_methods, list_methods
from unelisa.cli import options
from unelisa.cli.forms import option, takes_form
from unelisa.cli.screen import comparison_table
from unelisa.progress import show_progress
from unelisa.sources.labels import KnownLabels
from unelisa.votes import Votes


@takes_form
def compare(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    votes: options.VotesFile,
    truth: options.TruthFile,
    methods: Annotated[
        str | None,
        option("A,B", f"All by default, or some of {', '.join(options.METHODS)}."),
    ] = None,
    form: options.VotesForm = options.USUAL_FORM,
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
    run: options.RunForm = options.USUAL_RUN,
) -> None:
    """Score every method against the truth, which the methods do not see."""
    run.check(inputs=(votes, truth))
    asked = None if methods is None else options.find_methods(methods)
    table = form.read(votes)
    known = options.read_known(truth, table)
    table.warn_of_idle_voters()
    rows = run_methods(asked or list_methods(table), known, seed, jobs)
    with run.files() as files:
        files.write_json(run.json, rows)
    scored = int((known.scored_signs() != 0).sum())
    screen = run.screen()
    screen.print(
        f"[bold]{len(table):,} items, {table.n_voters} voters, "
        f"scored on {scored:,} items with a known label[/bold]\n"
    )
    screen.print(comparison_table(rows))
    screen.print("", *explain_figures(table, asked), sep="\n")


def explain_figures(votes: Votes, asked: Sequence[str] | None = None) -> Iterator[str]:
    """Yield what the figures mean, and which of all methods did not run unless some were asked."""
    if votes.n_classes == 2:
        yield "Accuracy counts a tie as half. Log loss needs a probability; lower is better."
        return
    steps = " MAE is in steps between the ordered classes." if votes.ordered else ""
    yield (
        "Accuracy counts a tie by its expectation. Log loss and calibration error (ECE) need "
        f"probabilities; lower is better.{steps}"
    )
    left_out = [name for name in AGGREGATORS if name not in list_methods(votes)]
    if left_out and asked is None:
        yield (
            f"Left out, because they take two classes only: {', '.join(left_out)}. In Python, "
            "OneVsRest lifts them."
        )


def run_methods(
    names: Sequence[str], known: KnownLabels, seed: int, jobs: int
) -> list[dict[str, Any]]:
    """Return each method's scores as a row, showing which one is running."""
    rows: list[dict[str, Any]] = []
    votes, truth, scored = known.votes, known.scored_signs(), known.scored_votes()
    with show_progress("", len(names)) as advance:
        for name in names:
            advance(0, name)
            found = compare_methods(votes, truth, [name], seed, scored=scored, n_jobs=jobs)
            rows += [row._asdict() for row in found]
            advance(1)
    return rows
