"""`unelisa compare`: every method on the same votes, against the truth."""

from collections.abc import Iterable

from unelisa.cli import options
from unelisa.cli.files import STDOUT, check_outputs, output_files
from unelisa.cli.screen import comparison_table, progress, results
from unelisa.comparison import MethodScore, compare_methods
from unelisa.sources.labels import KnownLabels


def compare(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    votes: options.VotesFile,
    truth: options.TruthFile,
    methods: options.Methods = None,
    json: options.JsonFile = None,
    coding: options.Coding = None,
    labels: options.Labels = None,
    item: options.Item = None,
    voter: options.Voter = None,
    vote: options.Vote = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
) -> None:
    """Score every method against the truth, which the methods do not see."""
    check_outputs(json, inputs=(votes, truth))
    names = options.find_methods(methods)
    table = options.VotesForm(coding, labels, item, voter, vote).read(votes)
    known = options.read_known(truth, table)
    table.warn_of_idle_voters()
    rows = run_methods(names, known, seed, jobs)
    if json is not None:
        with output_files() as files:
            files.write_json(json, [row._asdict() for row in rows])
    screen = results(quiet=json == STDOUT)
    scored = int((known.scored_signs() != 0).sum())
    screen.print(
        f"[bold]{len(table):,} items, {table.n_voters} voters, "
        f"scored on {scored:,} items with a known label[/bold]"
    )
    screen.print()
    screen.print(comparison_table(rows))
    screen.print()
    screen.print("Accuracy counts a tie as half. Log loss needs a probability; lower is better.")


def run_methods(
    names: Iterable[str], known: KnownLabels, seed: int, jobs: int
) -> list[MethodScore]:
    """Return one row per method, showing which one is running."""
    methods, rows = list(names), list[MethodScore]()
    scored, truth = known.scored_votes(), known.scored_signs()
    with progress() as bar:
        task = bar.add_task("", total=len(methods))
        for name in methods:
            bar.update(task, description=name)
            rows += compare_methods(known.votes, truth, [name], seed, scored=scored, n_jobs=jobs)
            bar.advance(task)
    return rows
