"""`unelisa fit`: votes in; labels, verdicts, a report and a model out."""

from pathlib import Path

from unelisa.cli import options


@options.takes_form
def fit(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    votes: list[Path],
    method: str = options.DEFAULT_METHOD,
    out: Path | None = None,
    report: Path | None = None,
    show_items: bool = False,
    save: Path | None = None,
    keep_votes: bool = False,
    truth: Path | None = None,
    settings: list[str] | None = None,
    orient: str | None = None,
    gold: Path | None = None,
    prevalence: list[str] | None = None,
    reading: int = 0,
    stability: int = 0,
    strict: bool = False,
    form: options.VotesForm = options.USUAL_FORM,
    seed: int = 0,
    jobs: int = -1,
    run: options.RunForm = options.USUAL_RUN,
) -> None:
    """Label every item, and say which voters are experts and why.

    --method NAME: One of {METHODS}.
    --out labels.csv: Write item, label, probability of the positive class (empty for methods
        without one; with more than two classes, of the label and of every class), status and, with
        latent-ising, the item's ease; - is stdout. Text that a spreadsheet would run as a formula
        gets an apostrophe.
    --report report.html: Write a report to read.
    --save model.npz: Save the model for `predict`.
    settings --set NAME=VALUE: A setting of the method, such as fit_intercept=true; may be repeated.
    --orient majority|VOTER: Which class is positive: by majority of the experts, or by an anchor
        voter.
    --gold FILE: Gold labels of some items, a table like --truth, which the method learns from.
    --reading K: Which reading of the votes to take where they allow several; 0 is the usual one.
    --stability DRAWS: Refit to this many resamples, for how often each voter's verdict recurs.
    """
    from unelisa.analysis.judged import Judged
    from unelisa.analysis.stability import bootstrap
    from unelisa.cli import fitting
    from unelisa.report.findings import collect_findings

    outputs = fitting.Outputs(out, report, save, run.json, keep_votes)
    run.check(save, page=report, tables=(out,), inputs=(*votes, truth, gold))
    model = options.build_method(method, seed, jobs, orient, settings or ())
    stated = options.read_stated(prevalence, model)
    fitting.refuse_combinations(model, gold, keep_votes, reading, stability, bool(stated))
    table = form.read(*votes)
    known = None if truth is None else options.read_known(truth, table)
    y = None if gold is None else options.read_known(gold, table, unvoted="are ignored").as_gold()
    seconds, notes = fitting.fit_model(model, table, y, **stated)
    if reading:
        model = model.read(reading)  # type: ignore[attr-defined]
    if stability:
        drawn = bootstrap(table, model, stability, y=y, random_state=seed, n_jobs=jobs)
        model = drawn.fitted
    judged = Judged.of(model, table)
    reference = None
    if known is not None:
        reference = fitting.compare(model, judged, known, seconds, seed, jobs)
    findings = collect_findings(model, judged, reference, seconds, notes, show_items=show_items)
    source = ", ".join(path.name for path in votes)
    shown = fitting.write_outputs(outputs, model, judged, findings, run.force, source)
    fitting.show_fit(run.screen(out), shown, outputs)
    options.end_strictly(strict, model)
