"""What `unelisa fit` does: the fit, its files, and what it prints; other commands use parts."""

import warnings
from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.text import Text

from unelisa.aggregators import Aggregator, LatentIsing
from unelisa.analysis.comparison import list_methods, rate_scores
from unelisa.analysis.judged import Judged, Reference
from unelisa.cli import options
from unelisa.cli.compare import run_methods
from unelisa.cli.files import OutputFiles, is_model, output_files
from unelisa.cli.screen import (
    busy,
    comparison_table,
    list_names,
    printable,
    reading_table,
    tell_end,
    tell_written,
    voter_table,
)
from unelisa.errors import ConvergenceWarning, ModelError, VotesError, replay_warnings
from unelisa.kernels.compilation import Stopwatch
from unelisa.report.answer import advise
from unelisa.report.findings import Findings, describe_next, name_method
from unelisa.report.page import render_report
from unelisa.report.wording import count_noun, show_range
from unelisa.sources.labels import KnownLabels
from unelisa.storage import load
from unelisa.storage import save as save_model
from unelisa.votes import Votes

LONGEST_CLASSES = 10
LONGEST_FAMILIES = 8  # families, and voters of each, that are named
MOST_WORST = 3


class Outputs(NamedTuple):
    """The files that a fit leaves."""

    labels: Path | None = None
    report: Path | None = None
    model: Path | None = None
    json: Path | None = None
    keep_votes: bool = False


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
    replay_warnings(caught)
    notes = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    return watch.seconds, notes


def open_model(
    source: Path, votes: Sequence[Path], form: options.VotesForm, jobs: int
) -> tuple[Aggregator, Votes]:
    """Return a model and its votes, from their files or its own, or the votes fitted."""
    if not is_model(source):
        table, model = form.read(source, *votes), LatentIsing(n_jobs=jobs)
        fit_model(model, table)
        return model, table
    kept = load(source)
    if votes:
        return kept, form.read_as_fitted(votes, kept)
    if not hasattr(kept, "_kept_votes"):
        raise VotesError(
            f"{source.name} was saved without its votes; name their file after the model, or save "
            "the model with --keep-votes"
        )
    return kept, kept._recall().votes


def refuse_combinations(
    model: Aggregator,
    gold: Path | None,
    keep_votes: bool,
    reading: int,
    stability: int,
    stated: bool,
) -> None:
    """Raise `ModelError` for options that exclude each other, or that the method does not take."""
    name, no_gold = name_method(model), "orient" not in model.get_params()
    kept = not reading and isinstance(model, LatentIsing)
    faults = {
        f"{name} does not learn from gold labels; omit --gold": gold is not None and no_gold,
        f"{name} has one reading of the votes; omit --reading": reading
        and not hasattr(model, "read"),
        "only latent-ising, in its usual reading, keeps votes; omit --keep-votes": keep_votes
        and not kept,
        "resamples know no prevalence; omit --stability or --prevalence": stated and stability,
        "resamples are fitted to reading 0; omit --stability or --reading": reading and stability,
    }
    for sentence, found in faults.items():
        if found:
            raise ModelError(sentence)


def compare(
    model: Aggregator, judged: Judged, known: KnownLabels, seconds: float, seed: int, jobs: int
) -> Reference:
    """Return the truth, with how right this model and all other methods are."""
    votes = known.votes
    reference = Reference.of(model, judged, known.scored_signs())
    own = rate_scores(name_method(model), model, *reference[:2], seconds, votes.ordered)
    in_memory = list_methods(votes) if votes.blocks.whole else []  # some need a whole table
    others = [name for name in in_memory if name != own.method]
    rows = [own._asdict(), *run_methods(others, known, seed, jobs)]
    return reference._replace(comparison=rows)


def write_outputs(
    outputs: Outputs,
    model: Aggregator,
    judged: Judged,
    findings: Findings,
    force: bool = False,
    source: str = "",
) -> Findings:
    """Write all files that are wanted, or none; return what the report says."""
    shown = findings
    with busy("writing"), output_files(force) as files:
        files.write_labels(outputs.labels, judged)
        if outputs.report is not None:
            shown = write_report(files, outputs.report, model, judged, findings, source)
        if outputs.model is not None:
            save_model(model, files.draft(outputs.model), keep_votes=outputs.keep_votes)
        files.write_json(outputs.json, findings)
    return shown


def write_report(
    files: OutputFiles,
    path: Path,
    model: Aggregator,
    judged: Judged | None,
    findings: Findings,
    source: str,
) -> Findings:
    """Write the page, which names items if the findings do; return what it says."""
    more = describe_next(model, judged, show_items=findings["uncertain"] is not None)
    shown = {**findings, **more}
    files.write_text(path, render_report(shown, judged, source))
    return shown


def show_fit(screen: Console, findings: Findings, outputs: Outputs) -> None:
    """Print the answer, the voters, the scores and where the files are."""
    screen.print(findings["answer"], style="bold", markup=False)
    for line in describe_crowd(findings):
        screen.print(line)
    screen.print("", voter_table(findings["voters"]), "", sep="\n")
    if findings["readings"]:
        screen.print(reading_table(findings["readings"], findings["classes"][1]))
        screen.print("--reading takes another one; gold labels (--gold) can decide.\n")
    if findings["comparison"]:
        tie = "half" if len(findings["classes"]) == 2 else "by its expectation"
        title = f"Against the known truth; a tie counts {tie}"
        screen.print(comparison_table(findings["comparison"], title), "", sep="\n")
    tell_written(screen, *outputs[:4])
    if not any(outputs[:4]):
        screen.print("Nothing was written; add --out labels.csv or --report report.html.")
    screen.print()
    tell_end(screen, *sum_up(findings, outputs.model))


def describe_crowd(findings: Findings) -> Iterator[Text]:
    """Yield the classes and what is known of the crowd: the share of yes, its worth, families."""
    classes, crowd, share = findings["classes"], findings["crowd"], findings["prevalence"]
    if len(classes) == 2:
        yield Text("Positive means ") + printable(classes[1]) + "."
    else:
        yield Text("Classes: ") + list_names(classes, LONGEST_CLASSES)
    if share is not None:
        yield Text("Estimated share of ") + printable(classes[1]) + f" {_show_share(share)}."
    if crowd["effective"] is not None:
        many = count_noun(crowd["voters"], "voter")
        yield Text(f"{many} worth {crowd['effective']:.1f} independent ones.")
    for family in crowd["families"][:LONGEST_FAMILIES]:
        names = [findings["voters"][row]["voter"] for row in family["voters"]]
        yield Text("Family: ") + list_names(names, LONGEST_FAMILIES)


def sum_up(findings: Findings, saved: Path | None) -> tuple[str, str, str]:
    """Return how far to trust the labels, the worst voters, and the command to run next."""
    expected, worst = findings["expected_accuracy"], tell_worst(findings["voters"])
    right = "" if expected is None else f"expected accuracy {_show_share(expected)}"
    then = advise(findings, "" if saved is None else saved.name)
    if findings["reliable"] is False:
        doubt = "these labels cannot be relied on, see the warnings"
        return f"{doubt}; {right}" if right else doubt, worst, then
    return right or "nothing was found that speaks against the labels", worst, then


def tell_worst(voters: Sequence[dict[str, Any]]) -> str:
    """Return the least accurate voters with their accuracies."""
    known = [voter for voter in voters if voter.get("accuracy") is not None]
    if not known:
        return "their accuracies are unknown; see the weights above"
    worst = sorted(known, key=itemgetter("accuracy"))[:MOST_WORST]
    return ", ".join(map(_tell_accuracy, worst))


def _tell_accuracy(voter: dict[str, Any]) -> str:
    name = printable(voter.get("voter", voter.get("name")))
    turned = ", votes reversed" if voter.get("verdict") == "contrarian" else ""
    return f"{name} ({voter['accuracy']:.2f}{turned})"


def _show_share(found: dict[str, Any]) -> str:
    if found["share"] is None:
        return "cannot be estimated"
    if found["low"] is None:
        return f"{found['share']:.1%} (without an interval)"
    return f"{found['share']:.1%} (90% interval {show_range(found['low'], found['high'])})"
