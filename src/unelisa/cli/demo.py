"""`unelisa demo`: the whole job on examples whose truth is known, without a network."""

import json
import shlex
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.rule import Rule

from unelisa.cli import options
from unelisa.cli.compare import run_methods
from unelisa.cli.files import OutputFiles, make_folder, output_files
from unelisa.cli.screen import busy, comparison_table, voter_table
from unelisa.cli.simulate import write_votes

if TYPE_CHECKING:
    import numpy as np

    from unelisa.aggregators import Aggregator
    from unelisa.cli.fitting import Outputs
    from unelisa.report.findings import Findings
    from unelisa.sources.labels import KnownLabels
    from unelisa.votes import Votes

# this seed draws two contrarians among the experts, which makes plain counting fail visibly
CROWD_SEED = 2
CLASS_SEED = 1
SEED = 0
N_NEW, N_QUESTIONS = 40, 80  # items and questions of the example files
JUDGES = {"gpt": 0.92, "claude": 0.9, "llama": 0.8, "qwen": 0.75, "mistral": 0.7}  # accuracies
SYSTEMS = {"assistant-1": 0.6, "assistant-2": 0.75}  # shares of answers that are right
BLIND = "No method knows who is who, and the truth is used for scoring only."
WRITTEN = {
    "report.html": "open it in a browser: every voter's verdict and the reason",
    "labels.csv": "a label and a probability for every item",
    "votes.csv, truth.csv": "the input, to try other commands on",
    "new.csv, texts.csv, logs": "more votes, texts to review, logs of LLM judges",
}
Rows = list[dict[str, Any]]


@options.takes_form
def demo(
    out: Path = Path("demo"), classes: int = 2, run: options.RunForm = options.USUAL_RUN
) -> None:
    """Show what unelisa does, on a simulated crowd and on medical data with 30 rules.

    --out FOLDER: Folder for the labels and the report.
    --classes K 2-: With more than two: a crowd on K classes.
    """
    from unelisa.cli.fitting import Outputs

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
    screen.print()
    screen.print(Rule("What was written", align="left"))
    for name, what in WRITTEN.items():
        if (out / name.split(", ")[-1]).exists():
            screen.print(f"{out}/{name}: {what}", markup=False, soft_wrap=True)
    again = f"{own_name()} fit {out}/votes.csv --truth {out}/truth.csv"
    screen.print(f"Next: {again}", markup=False, soft_wrap=True)


def _show_crowd(screen: Console, outputs: "Outputs", inputs: Sequence[Path], force: bool) -> Rows:
    from unelisa.analysis.scoring import score_experts
    from unelisa.simulation.designs import simulate_votes

    with busy("drawing votes"):
        drawn = simulate_votes(25, "quarter", "high", random_state=CROWD_SEED)
    votes = replace(drawn.votes, classes=("no", "yes"))
    with output_files(force) as files:
        write_votes((votes, drawn.truth, True), inputs, files)
    with output_files(force) as files:  # then, so that a refusal leaves no folder behind
        write_examples(inputs[0].parent, votes, files)
    sides = drawn.model.edges[0, 1:][drawn.experts]
    n_experts, p = len(drawn.experts), votes.n_voters
    screen.print(Rule("1. A simulated crowd", align="left"))
    screen.print(
        f"{p} voters say yes or no on {len(votes)} items. {n_experts} are experts, who recognize "
        f"the truth nearly 9 times in 10, but {int((sides < 0).sum())} of them say the opposite. "
        f"The other {p - n_experts} know nothing and only echo others. {BLIND}"
    )
    rows, model, _ = _fit_crowd(screen, _known(votes, drawn.truth), outputs, None)
    found = score_experts(model.experts_, drawn.experts)
    screen.print(
        f"It found {found.hit_rate:.0%} of the true experts, and {found.precision:.0%} of those it "
        "named are true experts. A negative weight reverses a contrarian's votes."
    )
    return rows


def _show_classes(
    screen: Console, number: int, outputs: "Outputs", inputs: Sequence[Path], force: bool
) -> Rows:
    from unelisa.simulation.designs import simulate_classes

    with busy("drawing votes"):
        drawn = simulate_classes(number, 30, 600, copies=0.2, missing=0.7, random_state=CLASS_SEED)
    with output_files(force) as files:
        write_votes((drawn.votes, drawn.truth, True), inputs, files)
    n_copies = sum(k != source for k, source in enumerate(drawn.sources))
    screen.print(Rule(f"A simulated crowd on {number} classes", align="left"))
    screen.print(
        f"{drawn.votes.n_voters} voters put {len(drawn.votes)} items into {number} classes, some "
        f"of which look alike; each voter sees 3 items in 10. {len(drawn.spammers)} voters answer "
        f"without looking and {n_copies} copy another one. {BLIND}"
    )
    rows, _, findings = _fit_crowd(screen, _known(drawn.votes, drawn.truth), outputs, 10)
    for pair in findings["by_class"]["pairs"][:1]:
        first, second = (drawn.votes.classes[pair[key]] for key in ("first", "second"))
        screen.print(f"The classes that voters confuse most: {first} and {second}.")
    return rows


def _show_cancer(screen: Console) -> Rows:
    cancer = breast_cancer_votes()
    screen.print()
    screen.print(Rule("2. Breast cancer: 30 rules, no diagnosis needed", align="left"))
    screen.print(
        f"{len(cancer.votes)} patients of the data set that scikit-learn ships. Each of 30 "
        "measurements of the tumor votes malignant where it is above its median. Radius, "
        "perimeter and area measure nearly the same, so these voters are far from independent."
    )
    return _compare(screen, cancer)


def breast_cancer_votes() -> "KnownLabels":
    """Return scikit-learn's breast cancer data as votes: "malignant" where above the median."""
    import numpy as np
    from sklearn.datasets import load_breast_cancer

    from unelisa.votes import Votes

    cancer: Any = load_breast_cancer()
    above = cancer.data > np.median(cancer.data, axis=0)
    values = np.asfortranarray(np.where(above, 1, -1).astype(np.int8))
    names = np.array([f"{name} is high" for name in cancer.feature_names], dtype=object)
    votes = Votes.of_values(values, np.arange(len(values)), names, ("benign", "malignant"))
    return _known(votes, np.where(cancer.target == 0, 1, -1).astype(np.int8))


def _known(votes: "Votes", truth: Any) -> "KnownLabels":
    import numpy as np

    from unelisa.sources.labels import KnownLabels

    return KnownLabels(votes, truth, np.empty(0, dtype=object), np.empty(0, dtype=np.int8))


def _compare(screen: Console, known: "KnownLabels") -> Rows:
    from unelisa.analysis.comparison import list_methods

    rows = run_methods(list_methods(known.votes), known, SEED, -1)
    screen.print("", comparison_table(rows, "All methods against the truth"), "", sep="\n")
    best = max(rows, key=lambda row: row["accuracy"] or 0.0)
    ours = next(row for row in rows if row["method"] == options.DEFAULT_METHOD)
    said = f"Highest accuracy: {best['method']} with {best['accuracy']:.1%}"
    more = "" if best is ours else f"; {ours['method']}, the default, has {ours['accuracy']:.1%}"
    screen.print(f"{said}{more}.")
    return rows


def _fit_crowd(
    screen: Console, crowd: "KnownLabels", outputs: "Outputs", longest: int | None
) -> tuple[Rows, "Aggregator", "Findings"]:
    from unelisa.analysis.judged import Judged, Reference
    from unelisa.cli.fitting import fit_model, write_outputs
    from unelisa.report.findings import collect_findings

    rows, model = _compare(screen, crowd), options.build_method(options.DEFAULT_METHOD, SEED, -1)
    seconds, _ = fit_model(model, crowd.votes)
    judged = Judged.of(model, crowd.votes)
    reference = Reference.of(model, judged, crowd.signs, rows)
    findings = collect_findings(model, judged, reference, seconds)
    write_outputs(outputs, model, judged, findings, source="votes.csv")
    screen.print(f"\n[bold]The voters as {options.DEFAULT_METHOD} sees them[/bold]")
    screen.print(voter_table(findings["voters"], longest or len(model.experts_) + 3), "", sep="\n")
    return rows, model, findings


def write_examples(folder: Path, votes: "Votes", files: OutputFiles) -> None:
    """Write files for the commands of the README beside the votes: new.csv, texts.csv and logs."""
    import numpy as np

    rng = np.random.default_rng(0)
    codes = votes.values[:N_NEW] * np.where(rng.random((N_NEW, votes.n_voters)) < 0.1, -1, 1)
    codes[rng.random(codes.shape) < 0.5] = 0  # missing
    new = ([f"new{i}", *votes.name_codes(row)] for i, row in enumerate(codes.astype(np.int8)))
    files.write_csv(folder / "new.csv", ["item", *map(str, votes.voters)], new)
    texts = ((item, f"The text of item {item}.") for item in votes.items.tolist())
    files.write_csv(folder / "texts.csv", ("item", "text"), texts)
    make_folder(folder / "logs")
    for k, system in enumerate(SYSTEMS):
        text = json.dumps(draw_log(system, np.random.default_rng(k)), indent=1)
        files.write_text(folder / "logs" / f"{system}.json", f"{text}\n")


def draw_log(system: str, rng: "np.random.Generator") -> dict[str, Any]:
    """Return a log in the form of Inspect AI: each judge's score of each answer of a system."""
    samples = []
    for k in range(N_QUESTIONS):
        right = rng.random() < SYSTEMS[system]
        said = {name: right == (rng.random() < share) for name, share in JUDGES.items()}
        scores = {name: {"value": "C" if passed else "I"} for name, passed in said.items()}
        samples.append({"id": f"q{k}", "epoch": 1, "input": f"Question {k}", "scores": scores})
    about = {"eval_id": system, "run_id": system, "task": "demo", "model": system}
    return {"version": 2, "status": "success", "eval": about, "samples": samples}


def own_name() -> str:
    """Return what to type to call this program again from the same folder."""
    called, plain = sys.argv[0], shutil.which("unelisa")
    if Path(called).name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m unelisa"
    with suppress(OSError):
        if plain is not None and Path(plain).samefile(called):
            return "unelisa"
    return shlex.quote(called)
