"""`unelisa fit`: votes in; labels, verdicts, a report and a model out."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer
from rich.console import Console
from rich.text import Text

from unelisa.aggregators import AGGREGATORS, Aggregator
from unelisa.blocks import WholeTable
from unelisa.cli import options
from unelisa.cli.compare import run_methods
from unelisa.cli.files import STDOUT, check_outputs, output_files, refuse_stdout
from unelisa.cli.screen import (
    busy,
    comparison_table,
    printable,
    results,
    tell_written,
    voter_table,
)
from unelisa.comparison import MethodScore, rate_scores
from unelisa.errors import ConvergenceWarning, ModelError
from unelisa.kernels.compilation import Stopwatch
from unelisa.report.findings import Findings, collect_findings, name_method
from unelisa.report.judged import Judged, Reference
from unelisa.report.page import render_report, require_jinja
from unelisa.sources.labels import KnownLabels
from unelisa.sources.tables import MEMORY
from unelisa.stability import bootstrap
from unelisa.storage import save as save_model
from unelisa.votes import Votes


class Outputs(NamedTuple):
    """The files that a fit leaves."""

    labels: Path | None = None
    report: Path | None = None
    model: Path | None = None
    json: Path | None = None


class Fitted(NamedTuple):
    """A fitted model, the seconds it took once compiled, and warnings for the report."""

    model: Aggregator
    seconds: float
    notes: list[str]


def fit(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    votes: options.VotesFile,
    method: Annotated[
        str, typer.Option(metavar="NAME", help=f"One of {', '.join(AGGREGATORS)}.")
    ] = options.DEFAULT_METHOD,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="labels.csv",
            help="Write item, label and probability of the positive class (empty for methods "
            "without one). Text that a spreadsheet would run as a formula gets an apostrophe.",
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="report.html", help="Write a report to read.")
    ] = None,
    show_items: options.ShowItems = False,
    save: Annotated[
        Path | None, typer.Option(metavar="model.npz", help="Save the model for `predict`.")
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
            help="Which class is positive: by majority of the experts, or by an anchor voter.",
        ),
    ] = None,
    gold: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Gold labels of some items, a table like --truth, which the method learns from.",
        ),
    ] = None,
    stability: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="DRAWS",
            help="Refit to this many resamples, for how often each voter's verdict recurs.",
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
    outputs = Outputs(out, report, save, json)
    check_outputs(*outputs, inputs=(votes, truth, gold))
    refuse_stdout(out, report, save)
    if report is not None:
        require_jinja()
    model = options.build_method(method, seed, jobs, orient, settings or ())
    if gold is not None and "orient" not in model.get_params():
        raise ModelError(f"{name_method(model)} does not learn from gold labels; omit --gold")
    table = options.VotesForm(coding, labels, item, voter, vote).read(votes, memory)
    known = None if truth is None else options.read_known(truth, table)
    trusted = None if gold is None else options.read_known(gold, table)
    fitted = fit_model(model, table, trusted)
    if stability:
        y = None if trusted is None else trusted.as_gold()
        resampled = bootstrap(table, fitted.model, stability, y=y, random_state=seed, n_jobs=jobs)
        fitted = fitted._replace(model=resampled.fitted)
    judged = Judged.of(fitted.model, table)
    reference = None
    if known is not None:
        others = [name for name in AGGREGATORS if name != name_method(model)]
        rows = run_methods(others, known, seed, jobs) if report is not None else []
        reference = score_known(fitted, judged, known, rows)
    findings = collect_findings(
        fitted.model, judged, reference, fitted.seconds, fitted.notes, show_items=show_items
    )
    write_outputs(outputs, fitted.model, judged, findings)
    rows = [] if reference is None else list(reference.comparison)
    show_fit(results(quiet=json == STDOUT), findings, rows, outputs)


def fit_model(model: Aggregator, votes: Votes, gold: KnownLabels | None = None) -> Fitted:
    """Return the fitted model; convergence warnings are noted for the report."""
    with (
        warnings.catch_warnings(record=True) as caught,
        busy(f"fitting {name_method(model)}"),
        Stopwatch() as watch,
    ):
        model.fit(votes, None if gold is None else gold.as_gold())
    options.warn_if_unreliable(model)
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    notes = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    return Fitted(model, watch.seconds, notes)


def score_known(
    fitted: Fitted, judged: Judged, known: KnownLabels, others: list[MethodScore]
) -> Reference:
    """Return the known labels, with the model's own row first, then those of other methods."""
    reference, name = refer_to(fitted.model, judged, known), name_method(fitted.model)
    own = rate_scores(name, fitted.model, reference.scores, reference.signs, fitted.seconds)
    return reference._replace(comparison=[own, *others])


def refer_to(model: Aggregator, judged: Judged, known: KnownLabels) -> Reference:
    """Return known labels beside the model's scores of the same items.

    A labeled item that nobody voted on has the score of an item without votes: leaving such items
    out would flatter every method.
    """
    reference, unvoted = Reference.of(judged, known.scored_signs()), len(known.unvoted_items)
    if unvoted == 0:
        return reference
    empty = np.zeros((1, judged.votes.n_voters), dtype=np.int8)
    silent = replace(judged.votes, blocks=WholeTable(empty), items=np.arange(1))
    score = Judged.of(model, silent).scores
    return reference._replace(scores=np.append(judged.scores, np.repeat(score, unvoted)))


def write_outputs(outputs: Outputs, model: Aggregator, judged: Judged, findings: Findings) -> None:
    """Write all files that are wanted, or none of them."""
    with busy("writing"), output_files() as files:
        if outputs.labels is not None:
            files.write_labels(outputs.labels, judged)
        if outputs.report is not None:
            files.write_text(outputs.report, render_report(findings, judged))
        if outputs.model is not None:
            save_model(model, files.draft(outputs.model))
        if outputs.json is not None:
            files.write_json(outputs.json, findings)


def show_fit(
    screen: Console, findings: Findings, rows: list[MethodScore], outputs: Outputs
) -> None:
    """Print the answer, the voters, the scores and where the files are."""
    screen.print(findings["answer"], style="bold", markup=False)
    screen.print(Text("Positive means ") + printable(findings["classes"][1]) + ".")
    screen.print()
    screen.print(voter_table(findings["voters"]))
    screen.print()
    if rows:
        screen.print(comparison_table(rows, "Against the known truth; a tie counts half"))
        screen.print()
    tell_written(screen, *outputs)
    if not any(outputs):
        screen.print("Nothing was written; add --out labels.csv or --report report.html.")
