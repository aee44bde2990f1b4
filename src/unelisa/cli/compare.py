"""`unelisa compare`: every method on the same votes, against the truth."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from unelisa.cli import options
from unelisa.cli.screen import comparison_table
from unelisa.progress import show_progress

if TYPE_CHECKING:
    from unelisa.sources.labels import KnownLabels

TWO_CLASSES = "Accuracy counts a tie as half. Log loss needs a probability; lower is better."
MORE_CLASSES = (
    "Accuracy counts a tie by its expectation. Log loss and calibration error (ECE) need "
    "probabilities; lower is better."
)


@options.takes_form
def compare(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    votes: list[Path],
    truth: Path,
    methods: str | None = None,
    form: options.VotesForm = options.USUAL_FORM,
    seed: int = 0,
    jobs: int = -1,
    run: options.RunForm = options.USUAL_RUN,
) -> None:
    """Score every method against the truth, which the methods do not see.

    --methods A,B: All by default, or some of {METHODS}.
    """
    from unelisa.analysis.comparison import list_methods

    run.check(inputs=(*votes, truth))
    asked = None if methods is None else options.find_methods(methods)
    table = form.read(*votes)
    known, able = options.read_known(truth, table), list_methods(table)
    table.warn_of_idle_voters()
    rows = run_methods(asked or able, known, seed, jobs)
    with run.files() as files:
        files.write_json(run.json, rows)
    scored = int((known.scored_signs() != 0).sum())
    screen = run.screen()
    screen.print(
        f"[bold]{len(table):,} items, {table.n_voters} voters, "
        f"scored on {scored:,} items with a known label[/bold]\n"
    )
    screen.print(comparison_table(rows), "", sep="\n")
    if table.n_classes == 2:
        screen.print(TWO_CLASSES)
        return
    steps = " MAE is in steps between the ordered classes." if table.ordered else ""
    screen.print(f"{MORE_CLASSES}{steps}")
    left_out = ", ".join(name for name in options.METHODS if name not in able)
    if left_out and asked is None:
        screen.print(
            f"Left out, because they take two classes only: {left_out}. In Python, OneVsRest "
            "lifts them."
        )


def run_methods(
    names: list[str], known: "KnownLabels", seed: int, jobs: int
) -> list[dict[str, Any]]:
    """Return each method's scores as a row, showing which one is running."""
    from unelisa.analysis.comparison import compare_methods

    rows: list[dict[str, Any]] = []
    votes, truth, scored = known.votes, known.scored_signs(), known.scored_votes()
    with show_progress("", len(names)) as advance:
        for name in names:
            advance(0, name)
            found = compare_methods(votes, truth, [name], seed, scored=scored, n_jobs=jobs)
            rows += [row._asdict() for row in found]
            advance(1)
    return rows
