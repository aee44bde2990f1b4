"""What `Phenotyper` says of itself, and what is true, on the simulated datamart.

    python benchmarks/doubts.py                          into results/doubts.json, and a table
    python benchmarks/doubts.py --seeds 0,1,2 --out x.json

Cases are left out to make the disease rarer, and patients to make the cohort smaller. Seeds 0 to 4
and 100 to 309 were used to choose the constants of `unelisa.ehr`; the default seeds were not. A row
is one share of cases, one number of patients and one set of anchors: means over the seeds, how many
fits were called reliable, and in how many the 95 % intervals hold.

A second table shows small probabilities on the simulators of `studies/rules`, with and without the
allowance for cases whom the anchors do not show.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np

from studies.rules.worlds import PREVALENCES, SIMULATORS
from unelisa.analysis.scoring import score_labels
from unelisa.ehr.datamart import simulate_ehr
from unelisa.ehr.phenotyper import Phenotyper

RESULTS = Path(__file__).parent / "results" / "doubts.json"
CODE, CONCEPT = "ICD:714.0", "NLP:rheumatoid arthritis"
ANCHORS = [[CODE, CONCEPT], [CODE], [CONCEPT], [CODE, "NLP:pregnancy"]]
COHORTS = [(0.225, 10_000), (0.05, 10_000), (0.02, 10_000), (0.01, 10_000), (0.002, 20_000)]
COHORTS += [(0.225, 400), (0.225, 100)]
LOW = (0.01, 0.05)  # where P(case) is small, but not negligible
WORLDS, WORLD_SIZE = range(710, 715), 20_000  # seeds of the rules' simulators, and their patients


def take(drawn, share: float, n: int, seed: int) -> tuple:
    """Return counts and truth of n patients, of whom a share are cases."""
    rng, case = np.random.default_rng(seed), drawn.truth.to_numpy() > 0
    cases = rng.choice(np.flatnonzero(case), round(share * n), replace=False)
    others = rng.choice(np.flatnonzero(~case), n - len(cases), replace=False)
    rows = np.sort(np.r_[cases, others])
    return drawn.counts.iloc[rows], case[rows]


def judge(counts, case, anchors: list[str]) -> dict:
    """Return what one fit says, and what is true."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Phenotyper(anchors, "note_count", random_state=0).fit(counts)
    chances = model.predict_proba(counts)[:, 1]
    flagged = chances >= model.threshold_
    with np.errstate(invalid="ignore", divide="ignore"):
        true = {
            "ppv": float((case & flagged).sum() / flagged.sum()),
            "npv": float((~case & ~flagged).sum() / (~flagged).sum()),
            "sensitivity": float((case & flagged).sum() / case.sum()),
        }
    said = {"ppv": model.ppv_, "npv": model.npv_, "sensitivity": model.sensitivity_}
    low = (chances >= LOW[0]) & (chances < LOW[1])
    signs = np.where(case, 1, -1).astype(np.int8)
    return {
        "auc": score_labels(signs, chances).auc,
        "prevalence": model.prevalence_,
        "reliable": model.reliable_,
        "low_end": [int(low.sum()), float(chances[low].sum()), int(case[low].sum())],
        "true": true,
        "low": {name: one.low for name, one in said.items()},
        "high": {name: one.high for name, one in said.items()},
    }


def summarize(share: float, n: int, anchors: list[str], fits: list[dict]) -> dict:
    """Return one row: means, and counts of what held."""
    patients, expected, cases = np.sum([fit["low_end"] for fit in fits], axis=0)
    row = {"share": share, "patients": n, "anchors": anchors, "fits": len(fits)}
    row |= {name: float(np.mean([fit[name] for fit in fits])) for name in ("auc", "prevalence")}
    row |= {"reliable": sum(fit["reliable"] for fit in fits)}
    row |= {"low_end_said": float(expected / max(patients, 1))}
    row |= {"low_end_true": float(cases / max(patients, 1))}
    for name in ("ppv", "npv", "sensitivity"):
        true = np.array([fit["true"][name] for fit in fits])
        low, high = (np.array([fit[end][name] for fit in fits]) for end in ("low", "high"))
        row[name] = [float(np.nanmean(x)) for x in (true, low, high)]
        row[f"{name}_held"] = int(((low <= true) & (true <= high)).sum())
    return row


def show(row: dict) -> str:
    """Return a row of the table."""
    anchors = " + ".join(
        name.split(":")[0] if "preg" not in name else "pregnancy" for name in row["anchors"]
    )
    cells = [f"{row['share']:.1%}", f"{row['patients']:,}", anchors, f"{row['auc']:.3f}"]
    cells += [f"{row['prevalence']:.1%}", f"{row['reliable']} of {row['fits']}"]
    for name in ("ppv", "sensitivity"):
        true, low, high = row[name]
        cells.append(f"{true:.2f} ({low:.2f} to {high:.2f})")
    cells.append(f"{row['low_end_said']:.1%} / {row['low_end_true']:.1%}")
    return f"| {' | '.join(cells)} |"


def judge_worlds(simulator: str, prevalence: float) -> dict:
    """Return AUC and small probabilities on worlds of one simulator, with the allowance and not."""
    aucs, found = [], {"with": np.zeros(3), "without": np.zeros(3)}
    shares, losses = [], {"with": [], "without": []}
    for seed in WORLDS:
        world = SIMULATORS[simulator](prevalence, seed, WORLD_SIZE)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            anchors = list(world.anchors)
            model = Phenotyper(anchors, world.utilization, random_state=0).fit(world.counts)
        ways = {
            "with": model.predict_proba(world.counts)[:, 1],
            "without": model._judges.chances[0],
        }
        signs = np.where(world.case, 1, -1).astype(np.int8)
        aucs.append([score_labels(signs, chances).auc for chances in ways.values()])
        shares.append([world.case.mean(), *(chances.mean() for chances in ways.values())])
        for way, chances in ways.items():
            low = (chances >= LOW[0]) & (chances < LOW[1])
            found[way] += low.sum(), chances[low].sum(), world.case[low].sum()
            right = np.clip(np.where(world.case, chances, 1 - chances), 1e-6, 1)
            losses[way].append(-np.log(right).mean())
    row = {"simulator": simulator, "prevalence": prevalence, "fits": len(WORLDS)}
    row["auc"] = np.mean(aucs, axis=0).tolist()
    row["shares"] = np.mean(shares, axis=0).tolist()
    for way, (patients, said, true) in found.items():
        row[way] = {
            "patients": int(patients),
            "said": said / max(patients, 1),
            "true": true / max(patients, 1),
            "log_loss": float(np.mean(losses[way])),
        }
    return row


def show_worlds(row: dict) -> str:
    """Return a row of the second table."""
    cells = [row["simulator"], f"{row['prevalence']:.1%}", f"{row['auc'][0]:.3f}"]
    for way in ("without", "with"):
        one = row[way]
        cells += [f"{one['said']:.1%} / {one['true']:.1%} ({one['patients']:,})"]
        cells += [f"{one['log_loss']:.4f}"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Run every cohort and set of anchors."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", default="710,711,712,713,714")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    seeds = [int(seed) for seed in options.seeds.split(",")]
    drawn = {seed: simulate_ehr(random_state=seed) for seed in seeds}
    rows = []
    for share, n in COHORTS:
        for anchors in ANCHORS:
            fits = [judge(*take(drawn[seed], share, n, seed), anchors) for seed in seeds]
            rows.append(summarize(share, n, anchors, fits))
            print(show(rows[-1]), flush=True)
    worlds = [judge_worlds(name, share) for name in SIMULATORS for share in PREVALENCES]
    print("\n".join(show_worlds(row) for row in worlds))
    found = {"seeds": seeds, "rows": rows, "worlds": worlds}
    options.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
