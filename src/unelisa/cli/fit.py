"""`unelisa fit`: votes in; labels, verdicts, a report and a model out."""

from pathlib import Path
from typing import Annotated

import typer

from unelisa.cli import options


@options.takes_form
def fit(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    votes: options.VotesFiles,
    method: Annotated[
        str, typer.Option(metavar="NAME", help=f"One of {', '.join(options.METHODS)}.")
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
    quiet: options.Quiet = False,
    strict: options.Strict = False,
    form: options.VotesForm = options.USUAL_FORM,
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
    _memory: options.Memory = None,
) -> None:
    """Label every item, and say which voters are experts and why."""
    from unelisa.analysis.judged import Judged
    from unelisa.cli import fitting
    from unelisa.cli.files import check_outputs
    from unelisa.cli.screen import results
    from unelisa.report.findings import collect_findings
    from unelisa.report.page import require_jinja

    outputs = fitting.Outputs(out, report, save, json, keep_votes)
    inputs = *votes, truth, gold
    check_outputs(report, save, tables=(out,), json=json, inputs=inputs, force=force)
    if report is not None:
        require_jinja()
    model = options.build_method(method, seed, jobs, orient, settings or ())
    beside = options.read_stated(prevalence, model)
    fitting.refuse_combinations(model, gold, keep_votes, reading, stability, bool(beside))
    table = form.read(*votes)
    known = None if truth is None else options.read_known(truth, table)
    y = None if gold is None else options.read_known(gold, table).as_gold()
    seconds, notes = fitting.fit_model(model, table, y, **beside)
    model = fitting.take_reading(model, reading)
    if stability:
        model = fitting.resample(model, table, stability, y, seed, jobs)
    judged = Judged.of(model, table)
    reference = None
    if known is not None:
        reference = fitting.compare(model, judged, known, seconds, seed, jobs)
    findings = collect_findings(model, judged, reference, seconds, notes, show_items=show_items)
    source = ", ".join(path.name for path in votes)
    fitting.write_outputs(outputs, model, judged, findings, force, source)
    fitting.show_fit(results(quiet=quiet or options.STDOUT in (out, json)), findings, outputs)
    options.end_strictly(strict, model)
