"""`unelisa fit`: votes in; labels, verdicts, a report and a model out."""

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.text import Text

from unelisa.aggregators import AGGREGATORS, Aggregator, LatentIsing
from unelisa.analysis.comparison import list_methods, rate_scores
from unelisa.analysis.judged import Judged, Reference
from unelisa.analysis.stability import bootstrap
from unelisa.cli import options
from unelisa.cli.compare import run_methods
from unelisa.cli.files import STDOUT, check_outputs, output_files
from unelisa.cli.screen import (
    busy,
    comparison_table,
    printable,
    reading_table,
    results,
    tell_written,
    voter_table,
)
from unelisa.errors import ConvergenceWarning, ModelError, replay_warnings
from unelisa.kernels.compilation import Stopwatch
from unelisa.report.findings import Findings, collect_findings, name_method
from unelisa.report.items import describe_next
from unelisa.report.labels import label_columns, label_rows
from unelisa.report.page import render_report, require_jinja
from unelisa.report.wording import count_noun, show_range
from unelisa.storage import save as save_model
from unelisa.votes import Votes

LONGEST_CLASSES = 10
LONGEST_FAMILIES = 8  # families, and voters of each, that are named


class Outputs(NamedTuple):
    """The files that a fit leaves."""

    labels: Path | None = None
    report: Path | None = None
    model: Path | None = None
    json: Path | None = None
    keep_votes: bool = False


@options.takes_form
def fit(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    votes: options.VotesFiles,
    method: Annotated[
        str, typer.Option(metavar="NAME", help=f"One of {', '.join(AGGREGATORS)}.")
    ] = options.DEFAULT_METHOD,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="labels.csv",
            help="Write item, label, probability of the positive class (empty for methods without "
            "one; with more than two classes, of the label and of every class) and, with "
            "latent-ising, the item's ease. Text that a spreadsheet would run as a formula gets an "
            "apostrophe.",
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="report.html", help="Write a report to read.")
    ] = None,
    show_items: options.ShowItems = False,
    save: Annotated[
        Path | None, typer.Option(metavar="model.npz", help="Save the model for `predict`.")
    ] = None,
    keep_votes: options.KeepVotes = False,
    truth: options.TruthFileIfAny = None,
    json: options.JsonFile = None,
    force: options.Force = False,
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
    prevalence: options.Prevalence = None,
    reading: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="K",
            help="Which reading of the votes to take where they allow several; 0 is the usual one.",
        ),
    ] = 0,
    stability: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="DRAWS",
            help="Refit to this many resamples, for how often each voter's verdict recurs.",
        ),
    ] = 0,
    form: options.VotesForm = options.USUAL_FORM,
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
    _memory: options.Memory = None,
) -> None:
    """Label every item, and say which voters are experts and why."""
    outputs = Outputs(out, report, save, json, keep_votes)
    inputs = *votes, truth, gold
    check_outputs(report, save, tables=(out,), json=json, inputs=inputs, force=force)
    if report is not None:
        require_jinja()
    model = options.build_method(method, seed, jobs, orient, settings or ())
    if gold is not None and "orient" not in model.get_params():
        raise ModelError(f"{name_method(model)} does not learn from gold labels; omit --gold")
    if keep_votes and (reading or not isinstance(model, LatentIsing)):
        raise ModelError("only latent-ising, in its usual reading, keeps votes; omit --keep-votes")
    beside = options.read_stated(prevalence, model)
    if beside and stability:
        raise ModelError("resamples know no prevalence; omit --stability or --prevalence")
    if reading and stability:
        raise ModelError("resamples are fitted to reading 0; omit --stability or --reading")
    table = form.read(*votes)
    known = None if truth is None else options.read_known(truth, table)
    y = None if gold is None else options.read_known(gold, table).as_gold()
    seconds, notes = fit_model(model, table, y, **beside)
    model = take_reading(model, reading)
    if stability:
        resampled = bootstrap(table, model, stability, y=y, random_state=seed, n_jobs=jobs)
        model = resampled.fitted
    judged = Judged.of(model, table)
    reference = None
    if known is not None:
        reference = Reference.of(model, judged, known.scored_signs())
        own = rate_scores(name_method(model), model, *reference[:2], seconds, table.ordered)
        others = [x for x in list_methods(table) if report is not None and x != own.method]
        rows = [own._asdict(), *run_methods(others, known, seed, jobs)]
        reference = reference._replace(comparison=rows)
    findings = collect_findings(model, judged, reference, seconds, notes, show_items=show_items)
    source = ", ".join(path.name for path in votes)
    write_outputs(outputs, model, judged, findings, force, source)
    show_fit(results(quiet=json == STDOUT), findings, outputs)


def fit_model(
    model: Aggregator, votes: Votes, y: Any = None, **beside: Any
) -> tuple[float, list[str]]:
    """Fit the model; return the seconds without compilation, and notes for the report."""
    with (
        warnings.catch_warnings(record=True) as caught,
        busy(f"fitting {name_method(model)}"),
        Stopwatch() as watch,
    ):
        model.fit(votes, y, **beside)
    told = [str(warning.message) for warning in caught]
    if not any(one in model.reliability_reason_ for one in told):
        options.warn_if_unreliable(model)
    replay_warnings(caught)
    notes = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    return watch.seconds, notes


def take_reading(model: Aggregator, k: int) -> Aggregator:
    """Return the model with another reading of the votes; 0 is the one it has."""
    if k == 0:
        return model
    if not hasattr(model, "read"):
        raise ModelError(f"{name_method(model)} has one reading of the votes; omit --reading")
    other: Aggregator = model.read(k)
    return other


def write_outputs(
    outputs: Outputs,
    model: Aggregator,
    judged: Judged,
    findings: Findings,
    force: bool = False,
    source: str = "",
) -> None:
    """Write all files that are wanted, or none of them."""
    with busy("writing"), output_files(force) as files:
        files.write_csv(outputs.labels, label_columns(judged), label_rows(judged))
        if outputs.report is not None:
            shown = findings["uncertain"] is not None  # whether items may be named
            more = describe_next(model, judged, show_items=shown)
            files.write_text(outputs.report, render_report({**findings, **more}, judged, source))
        if outputs.model is not None:
            save_model(model, files.draft(outputs.model), keep_votes=outputs.keep_votes)
        files.write_json(outputs.json, findings)


def show_fit(screen: Console, findings: Findings, outputs: Outputs) -> None:
    """Print the answer, the voters, the scores and where the files are."""
    screen.print(findings["answer"], style="bold", markup=False)
    screen.print(describe_classes(findings["classes"]))
    for line in describe_trust(findings):
        screen.print(line)
    screen.print()
    screen.print(voter_table(findings["voters"]))
    screen.print()
    if findings["readings"]:
        screen.print(reading_table(findings["readings"], findings["classes"][1]))
        screen.print("--reading takes another one; gold labels (--gold) can decide.")
        screen.print()
    if findings["comparison"]:
        tie = "half" if len(findings["classes"]) == 2 else "by its expectation"
        title = f"Against the known truth; a tie counts {tie}"
        screen.print(comparison_table(findings["comparison"], title))
        screen.print()
    tell_written(screen, *outputs[:4])
    if not any(outputs[:4]):
        screen.print("Nothing was written; add --out labels.csv or --report report.html.")


def describe_classes(classes: Sequence[Any]) -> Text:
    """Return which of two classes is positive, or the names of more."""
    if len(classes) == 2:
        return Text("Positive means ") + printable(classes[1]) + "."
    shown = Text(", ").join(printable(label) for label in classes[:LONGEST_CLASSES])
    more = len(classes) - LONGEST_CLASSES
    return Text("Classes: ") + shown + (f" and {more} more." if more > 0 else ".")


def describe_trust(findings: Findings) -> Iterator[Text]:
    """Yield how far the labels can be trusted: expected accuracy, effective voters, families."""
    expected, crowd = findings["expected_accuracy"], findings["crowd"]
    share = findings["prevalence"]
    if expected is not None:
        yield Text(f"Expected accuracy {_tell_share(expected)}.")
    if share is not None:
        label = printable(findings["classes"][1])
        yield Text("Estimated share of ") + label + f" {_tell_share(share)}."
    if crowd["effective"] is not None:
        many = count_noun(crowd["voters"], "voter")
        yield Text(f"{many} worth {crowd['effective']:.1f} independent ones.")
    for family in crowd["families"][:LONGEST_FAMILIES]:
        names = [printable(findings["voters"][row]["voter"]) for row in family["voters"]]
        shown = Text(", ").join(names[:LONGEST_FAMILIES])
        more = len(names) - LONGEST_FAMILIES
        yield Text("Family: ") + shown + (f" and {more} more." if more > 0 else ".")
    if findings["reliable"] is False:
        yield Text("These labels cannot be relied on: see the warnings.", "bold red")


def _tell_share(found: dict[str, Any]) -> str:
    """Return a share with its interval, or that it cannot be told."""
    if found["share"] is None:
        return "cannot be told"
    if found["low"] is None:
        return f"{found['share']:.1%} (its interval cannot be told)"
    return f"{found['share']:.1%} (90% interval {show_range(found['low'], found['high'])})"
