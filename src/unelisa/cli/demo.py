"""`unelisa demo`: the whole job on examples whose truth is known, without a network."""

import shlex
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from rich.console import Console
from rich.rule import Rule

from unelisa.aggregators import Aggregator
from unelisa.analysis.comparison import list_methods
from unelisa.analysis.judged import Judged, Reference
from unelisa.analysis.scoring import score_experts
from unelisa.cli import options
from unelisa.cli.compare import run_methods
from unelisa.cli.examples import write_examples
from unelisa.cli.files import make_folder, output_files
from unelisa.cli.fitting import Outputs, fit_model, write_outputs
from unelisa.cli.forms import option, takes_form
from unelisa.cli.screen import busy, comparison_table, voter_table
from unelisa.cli.simulate import write_votes
from unelisa.report.findings import Findings, collect_findings
from unelisa.simulation.designs import simulate_classes, simulate_votes
from unelisa.sources.labels import KnownLabels
from unelisa.votes import Votes

# this seed draws two contrarians among the experts, which makes plain counting fail visibly
CROWD_SEED = 2
CLASS_SEED = 1
SEED = 0
BLIND = "No method knows who is who, and the truth is used for scoring only."
Rows = list[dict[str, Any]]


@takes_form
def demo(
    out: Path = Path("demo"),
    classes: Annotated[int, option("K", "With more than two: a crowd on K classes.", min=2)] = 2,
    run: options.RunForm = options.USUAL_RUN,
) -> None:
    """Show what unelisa does, on a simulated crowd and on medical data with 30 rules.

    --out FOLDER: Folder for the labels and the report.
    """
    make_folder(out)
    outputs = Outputs(out / "labels.csv", out / "report.html")
    inputs = out / "votes.csv", out / "truth.csv"
    run.check(*outputs[:2])
    # the same votes may be there already
    run._replace(force=True).check(*outputs[:2], tables=inputs)
    screen = run.screen()
    if classes > 2:
        found = {"crowd": _show_classes(screen, classes, outputs, inputs, run.force)}
    else:
        rows = _show_crowd(screen, outputs, inputs, run.force)
        found = {"crowd": rows, "breast_cancer": _show_cancer(screen)}
    with run.files() as files:
        files.write_json(run.json, found)
    _point_to_files(screen, out)


def _show_crowd(screen: Console, outputs: Outputs, inputs: Sequence[Path], force: bool) -> Rows:
    """Show the job on a crowd of two classes, write its files; return the methods' rows."""
    with busy("drawing votes"):
        drawn = simulate_votes(25, "quarter", "high", random_state=CROWD_SEED)
    crowd = _known(replace(drawn.votes, classes=("no", "yes")), drawn.truth)
    with output_files(force) as files:
        write_votes(crowd.votes, drawn.truth, inputs, wide=True, files=files)
    with output_files(force) as files:  # then, so that a refusal leaves no folder behind
        write_examples(inputs[0].parent, crowd.votes, files)
    sides = drawn.model.edges[0, 1:][drawn.experts]
    n_experts, p = len(drawn.experts), drawn.votes.n_voters
    screen.print(Rule("1. A simulated crowd", align="left"))
    screen.print(
        f"{p} voters say yes or no on {len(drawn.votes)} items. {n_experts} are experts, who "
        f"recognize the truth nearly 9 times in 10, but {int((sides < 0).sum())} of them say the "
        f"opposite. The other {p - n_experts} know nothing and only echo others. {BLIND}"
    )
    rows = _compare(screen, crowd)
    model, findings = _fit_crowd(crowd, rows, outputs)
    _show_voters(screen, findings, len(model.experts_) + 3)
    found = score_experts(model.experts_, drawn.experts)
    screen.print(
        f"It found {found.hit_rate:.0%} of the true experts, and {found.precision:.0%} of those it "
        "named are true experts. A negative weight reverses a contrarian's votes."
    )
    return rows


def _show_cancer(screen: Console) -> Rows:
    """Compare the methods on medical data; return their rows."""
    cancer = breast_cancer_votes()
    screen.print()
    screen.print(Rule("2. Breast cancer: 30 rules, no diagnosis needed", align="left"))
    screen.print(
        f"{len(cancer.votes)} patients of the data set that scikit-learn ships. Each of 30 "
        "measurements of the tumor votes malignant where it is above its median. Radius, "
        "perimeter and area measure nearly the same, so these voters are far from independent."
    )
    return _compare(screen, cancer)


def _show_classes(
    screen: Console, number: int, outputs: Outputs, inputs: Sequence[Path], force: bool
) -> Rows:
    """Show the job on a simulated crowd of K classes; return the methods' rows."""
    with busy("drawing votes"):
        drawn = simulate_classes(number, 30, 600, copies=0.2, missing=0.7, random_state=CLASS_SEED)
    with output_files(force) as files:
        write_votes(drawn.votes, drawn.truth, inputs, wide=True, files=files)
    n_copies = int((drawn.sources != np.arange(drawn.votes.n_voters)).sum())
    screen.print(Rule(f"A simulated crowd on {number} classes", align="left"))
    screen.print(
        f"{drawn.votes.n_voters} voters put {len(drawn.votes)} items into {number} classes, some "
        f"of which look alike; each voter sees 3 items in 10. {len(drawn.spammers)} voters answer "
        f"without looking and {n_copies} copy another one. {BLIND}"
    )
    crowd = _known(drawn.votes, drawn.truth)
    rows = _compare(screen, crowd)
    _, findings = _fit_crowd(crowd, rows, outputs)
    _show_voters(screen, findings, 10)
    pairs = findings["by_class"]["pairs"]
    if pairs:
        hard = [str(drawn.votes.classes[pairs[0][key]]) for key in ("first", "second")]
        screen.print(f"The classes that voters confuse most: {hard[0]} and {hard[1]}.")
    return rows


def breast_cancer_votes() -> KnownLabels:
    """Return scikit-learn's breast cancer data as votes: a rule per measurement, and the truth.

    A rule says "malignant" where its measurement is above the median of all patients.
    """
    from sklearn.datasets import load_breast_cancer

    cancer: Any = load_breast_cancer()
    above = cancer.data > np.median(cancer.data, axis=0)
    values = np.asfortranarray(np.where(above, 1, -1).astype(np.int8))
    names = np.array([f"{name} is high" for name in cancer.feature_names], dtype=object)
    votes = Votes.of_values(values, np.arange(len(values)), names, ("benign", "malignant"))
    return _known(votes, np.where(cancer.target == 0, 1, -1).astype(np.int8))


def _known(votes: Votes, truth: Any) -> KnownLabels:
    return KnownLabels(votes, truth, np.empty(0, dtype=object), np.empty(0, dtype=np.int8))


def _compare(screen: Console, known: KnownLabels) -> Rows:
    """Print the methods side by side, and which one is best; return their rows."""
    rows = run_methods(list_methods(known.votes), known, SEED, -1)
    screen.print()
    screen.print(comparison_table(rows, "All methods against the truth"))
    screen.print()
    best = max(rows, key=lambda row: row["accuracy"] or 0.0)
    ours = next(row for row in rows if row["method"] == options.DEFAULT_METHOD)
    said = f"Highest accuracy: {best['method']} with {best['accuracy']:.1%}"
    more = "" if best is ours else f"; {ours['method']}, the default, has {ours['accuracy']:.1%}"
    screen.print(f"{said}{more}.")
    return rows


def _fit_crowd(crowd: KnownLabels, rows: Rows, outputs: Outputs) -> tuple[Aggregator, Findings]:
    """Fit the default method, write its labels and report; return it and what the report says."""
    model = options.build_method(options.DEFAULT_METHOD, SEED, -1)
    seconds, _ = fit_model(model, crowd.votes)
    judged = Judged.of(model, crowd.votes)
    reference = Reference.of(model, judged, crowd.signs, rows)
    findings = collect_findings(model, judged, reference, seconds)
    write_outputs(outputs, model, judged, findings, source="votes.csv")
    return model, findings


def _show_voters(screen: Console, findings: Findings, longest: int) -> None:
    screen.print(f"\n[bold]The voters as {options.DEFAULT_METHOD} sees them[/bold]")
    screen.print(voter_table(findings["voters"], longest))
    screen.print()


def _point_to_files(screen: Console, out: Path) -> None:
    screen.print()
    screen.print(Rule("What was written", align="left"))
    written = {
        "report.html": "open it in a browser: every voter's verdict and the reason",
        "labels.csv": "a label and a probability for every item",
        "votes.csv, truth.csv": "the input, to try other commands on",
        "new.csv, texts.csv, logs": "more votes, texts to review, logs of LLM judges",
    }
    for name, what in written.items():
        screen.print(f"{out}/{name}: {what}", markup=False, soft_wrap=True)
    again = f"{own_name()} fit {out}/votes.csv --truth {out}/truth.csv"
    screen.print(f"Next: {again}", markup=False, soft_wrap=True)


def own_name() -> str:
    """Return what to type to call this program again from the same folder.

    Its plain name where the shell finds it; otherwise as it was called this time.
    """
    called, plain = sys.argv[0], shutil.which("unelisa")
    if Path(called).name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m unelisa"
    with suppress(OSError):
        if plain is not None and Path(plain).samefile(called):
            return "unelisa"
    return shlex.quote(called)
