"""`unelisa fit`: votes in; labels, verdicts, a report and a model out."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.console import Console
from rich.text import Text

from unelisa.aggregators import AGGREGATORS, Aggregator
from unelisa.cli import options
from unelisa.cli.compare import run_methods
from unelisa.cli.files import STDOUT, check_outputs, output_files, refuse_stdout
from unelisa.cli.methods import DEFAULT_METHOD, build_method, find_methods
from unelisa.cli.screen import busy, printable, results
from unelisa.cli.tables import comparison_table, voter_table
from unelisa.cli.verdict import warn_if_unreliable
from unelisa.comparison import MethodScore, score_model
from unelisa.errors import ConvergenceWarning, ModelError
from unelisa.kernels.compilation import Stopwatch
from unelisa.report.findings import Findings, collect_findings, name_method
from unelisa.report.page import render_report, require_jinja
from unelisa.report.reference import Reference
from unelisa.report.spreadsheet import write_labels
from unelisa.sources.labels import KnownLabels
from unelisa.sources.tables import MEMORY
from unelisa.stability import bootstrap
from unelisa.storage import save as save_model
from unelisa.votes import Votes


class Wanted(NamedTuple):
    """The files that a fit shall leave."""

    labels: Path | None = None
    report: Path | None = None
    model: Path | None = None
    json: Path | None = None


class Fitted(NamedTuple):
    """A fitted model, what the fit took once compiled, and warnings that a report must repeat."""

    model: Aggregator
    seconds: float
    notes: list[str]


def fit(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    votes: options.VotesFile,
    method: Annotated[
        str, typer.Option(metavar="NAME", help=f"One of {', '.join(AGGREGATORS)}.")
    ] = DEFAULT_METHOD,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="labels.csv",
            help="Write item, label and probability of the positive class (empty for methods "
            "without one). Text that a spreadsheet would run as a formula gets an apostrophe.",
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="report.html", help="Write a page for people.")
    ] = None,
    show_items: options.ShowItems = False,
    save: Annotated[
        Path | None, typer.Option(metavar="model.npz", help="Keep the model for `predict`.")
    ] = None,
    truth: options.TruthFileIfAny = None,
    json: options.JsonFile = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A setting of the method, such as fit_intercept=true; may be repeated.",
        ),
    ] = None,
    orient: Annotated[
        str | None,
        typer.Option(
            metavar="majority|VOTER",
            help="Which side is positive: as most experts say, or as one voter you trust says.",
        ),
    ] = None,
    gold: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Table of a few known labels that settle the sides."),
    ] = None,
    stability: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Fit again to N draws of the items, and tell in how many of them each voter's "
            "verdict is the same; 500 is usual.",
        ),
    ] = 0,
    coding: options.Coding = None,
    labels: options.Labels = None,
    item: options.Item = None,
    voter: options.Voter = None,
    vote: options.Vote = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
    memory: options.Memory = MEMORY,
) -> None:
    """Label every item, and say which voters are experts and why."""
    wanted = Wanted(out, report, save, json)
    check_outputs(*wanted, inputs=(votes, truth, gold))
    refuse_stdout(out, report, save)
    if report is not None:
        require_jinja()
    model = build_method(method, seed, jobs, orient, settings or ())
    if gold is not None and "orient" not in model.get_params():
        raise ModelError(f"{name_method(model)} has no sides to settle; leave --gold away")
    table = options.VotesForm(coding, labels, item, voter, vote).read(votes, memory=memory)
    known = None if truth is None else options.read_known(truth, table)
    trusted = None if gold is None else options.read_known(gold, table)
    fitted = fit_model(model, table, trusted)
    if stability:
        fitted = resample(fitted, table, trusted, stability, seed, jobs)
    rows = [] if known is None else [score_known(fitted, known)]
    if known is not None and report is not None:
        rows += run_methods(_list_others(fitted.model), known, seed, jobs)
    findings = collect(fitted, table, known, rows, show_items=show_items)
    write_outputs(wanted, fitted.model, table, findings)
    show_fit(results(quiet=json == STDOUT), findings, rows, wanted)


def fit_model(model: Aggregator, votes: Votes, gold: KnownLabels | None = None) -> Fitted:
    """Return the fitted model; a limit reached on the way is noted for the report."""
    with (
        warnings.catch_warnings(record=True) as caught,
        busy(f"fitting {name_method(model)}"),
        Stopwatch() as watch,
    ):
        model.fit(votes, None if gold is None else gold.as_gold())
    warn_if_unreliable(model)
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    notes = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    return Fitted(model, watch.seconds, notes)


def resample(
    fitted: Fitted, votes: Votes, gold: KnownLabels | None, draws: int, seed: int, jobs: int
) -> Fitted:
    """Return the fit with the voters' stability, showing how many draws are done."""
    found = bootstrap(
        votes,
        fitted.model,
        draws,
        y=None if gold is None else gold.as_gold(),
        random_state=seed,
        n_jobs=jobs,
    )
    return fitted._replace(model=found.fitted)


def score_known(fitted: Fitted, known: KnownLabels) -> MethodScore:
    """Return how well a fitted model does on the items whose labels are known."""
    name, votes = name_method(fitted.model), known.scored_votes()
    return score_model(name, fitted.model, votes, known.scored_signs(), fitted.seconds)


def collect(
    fitted: Fitted,
    votes: Votes,
    known: KnownLabels | None = None,
    rows: Sequence[MethodScore] = (),
    *,
    show_items: bool = False,
) -> Findings:
    """Return the findings of a fit, against the truth where it is known."""
    return collect_findings(
        fitted.model,
        votes,
        reference=None if known is None else refer_to(known, rows),
        seconds=fitted.seconds,
        notes=fitted.notes,
        show_items=show_items,
    )


def refer_to(known: KnownLabels, rows: Sequence[MethodScore] = ()) -> Reference:
    """Return known labels as what a report compares with."""
    return Reference(known.scored_votes(), known.scored_signs(), rows)


def _list_others(model: Aggregator) -> list[str]:
    """Return the methods that stand beside a fitted one in a report."""
    return [name for name in find_methods(None) if name != name_method(model)]


def write_outputs(wanted: Wanted, model: Aggregator, votes: Votes, findings: Findings) -> None:
    """Write all files that are wanted, or none of them."""
    with busy("writing"), output_files() as files:
        if wanted.labels is not None:
            with files.draft(wanted.labels).open("w", encoding="utf-8", newline="") as file:
                write_labels(file, model, votes)
        if wanted.report is not None:
            files.write_text(wanted.report, render_report(findings, model, votes))
        if wanted.model is not None:
            save_model(model, files.draft(wanted.model))
        if wanted.json is not None:
            files.write_json(wanted.json, findings)


def show_fit(
    screen: Console, findings: Findings, rows: Sequence[MethodScore], wanted: Wanted
) -> None:
    """Print the answer, the voters, the scores and where the files are."""
    screen.print(findings["answer"], style="bold", markup=False)
    screen.print(Text("Positive means ") + printable(findings["classes"][1]) + ".")
    screen.print()
    screen.print(voter_table(findings))
    screen.print()
    if rows:
        screen.print(comparison_table(rows, "Against the known truth, a tie counted as half"))
        screen.print()
    for path in wanted:
        if path is not None:
            screen.print(printable(f"wrote {path}", longest=4096), soft_wrap=True)
    if not any(wanted):
        screen.print("Nothing was written; add --out labels.csv or --report report.html.")
