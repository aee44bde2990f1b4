"""How accurate LatentIsing is where its assumptions do not hold; see docs/model_tables.md.

    python benchmarks/latent.py                    every part, into results/latent.json
    python benchmarks/latent.py --parts gold noise some parts
    python benchmarks/latent.py --page             the tables of docs/model_tables.md

broken     section 5.1's votes with one assumption broken; 49 voters, medium signal
intercepts the paper's method with intercepts on the same votes
gold       10, 20 and 50 random gold labels, 20 draws, scored on all other items (a row per set)
noise      votes without any truth
ensembles  votes of small classifiers, and of rules they learn, on scikit-learn's data sets

Results are kept row by row in results/latent.jsonl, so an interrupted run continues; they are added
to results/latent.json. Seeds start at 30,000; nothing was chosen on them. Real sets are in the
folder --data (as `unelisa reproduce real` reads them); they were used to develop the method.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from ensembles import KINDS, draw_ensemble, tasks
from sklearn.datasets import load_breast_cancer

import unelisa as ue
from studies.pages.model import write_pages
from studies.real.gold import run_gold as run_gold_labels
from studies.real.sets import find_sets
from unelisa.analysis.comparison import build_aggregator
from unelisa.analysis.scoring import score_experts
from unelisa.kernels.threads import one_blas_thread

HERE = Path(__file__).parent
ROWS = HERE.parent / "results" / "latent.jsonl"
RESULTS = HERE / "results" / "latent.json"
FIRST_SEED = 30_000
BROKEN = {
    "expert edges": {"sqrt": {"expert_edges": 3}, "quarter": {"expert_edges": 6}},
    "voters with fields": {"voter_fields": 0.45, "field": 0.3},
    "unbalanced truth": {"field": 0.5},
    "30 % missing": {"missing": 0.3},
    "50 % missing": {"missing": 0.5},
    "70 % missing": {"missing": 0.7},
}
RIVALS = ("unelisa", "dawid-skene", "majority-vote", "spectral-meta-learner")
ENSEMBLES = 5  # draws of each
LONG_GOLD = "dream_s1"  # 92,362 items, which would be scored about 200 times: left out


def up_to_sign(scores, truth):
    right = np.where(scores == 0, 0.5, np.sign(scores) == truth).mean()
    return float(max(right, 1 - right))


def accuracies(scores, truth):
    """Accuracy and balanced accuracy on the items with known truth; a tie counts half."""
    right = np.where(scores == 0, 0.5, np.sign(scores) == truth)
    known = truth != 0
    classes = [right[truth == side].mean() for side in (-1, 1) if (truth == side).any()]
    return {"accuracy": float(right[known].mean()), "balanced": float(np.mean(classes))}


def fitted(votes):
    """A fitted LatentIsing and its processor seconds."""
    start = time.process_time()
    model = ue.LatentIsing().fit(votes)
    return model, time.process_time() - start


def compile_kernels():
    """Fit both readings once, so that no task's seconds include compilation."""
    fitted(ue.simulate_votes(random_state=0).votes)
    data = load_breast_cancer().data
    fitted(np.where(data > np.median(data, axis=0), 1, -1).astype(np.int8))


def broken_tasks(trials, **_):
    for size in ("sqrt", "quarter"):
        for name, settings in BROKEN.items():
            for seed in range(FIRST_SEED, FIRST_SEED + trials):
                yield {"size": size, "broken": name, "seed": seed}, settings.get(size, settings)


def run_broken(key, settings):
    drawn = ue.simulate_votes(49, key["size"], "medium", random_state=key["seed"], **settings)
    scores = {}
    model, seconds = fitted(drawn.votes)
    scores["latent-ising"] = up_to_sign(model.decision_function(drawn.votes), drawn.truth)
    for name in RIVALS:
        rival = build_aggregator(name, random_state=key["seed"]).fit(drawn.votes)
        scores[name] = up_to_sign(rival.decision_function(drawn.votes), drawn.truth)
    if "missing" not in settings:
        scores["oracle"] = up_to_sign(drawn.model.posterior(drawn.votes.values) - 0.5, drawn.truth)
    positive = float(np.mean(drawn.truth > 0))
    facts = {"seconds": seconds, "rarer_class": min(positive, 1 - positive)}
    return {"scores": scores, **facts, **experts_found(model, drawn)}


def run_intercepts(key, settings):
    drawn = ue.simulate_votes(49, key["size"], "medium", random_state=key["seed"], **settings)
    model = ue.UnElisa(fit_intercept=True, random_state=key["seed"]).fit(drawn.votes)
    return {"accuracy": up_to_sign(model.decision_function(drawn.votes), drawn.truth)}


def experts_found(model, drawn):
    found = score_experts(model.experts_, drawn.experts)
    return {"hit_rate": float(found.hit_rate), "precision": float(found.precision)}


def gold_tasks(sets, **_):
    for name, read in sets.items():
        if name != LONG_GOLD:
            yield {"set": name}, read


def run_gold(_, read):
    return run_gold_labels(read(), FIRST_SEED)


def noise_tasks(trials, **_):
    for yes in (0.5, 0.2):
        for seed in range(FIRST_SEED, FIRST_SEED + trials):
            yield {"yes": yes, "seed": seed}, yes


def run_noise(key, yes):
    rng = np.random.default_rng(key["seed"])
    votes = np.where(rng.random((1000, 25)) < yes, 1, -1).astype(np.int8)
    model, _ = fitted(votes)
    return {"experts": len(model.experts_), "reliable": bool(model.reliable_)}


def ensembles_tasks(**_):
    for kind in KINDS:
        for task in tasks():
            for seed in range(FIRST_SEED, FIRST_SEED + ENSEMBLES):
                yield {"kind": kind, "task": task, "seed": seed}, kind


def run_ensembles(key, _):
    drawn, truth = draw_ensemble(**key)
    votes = ue.Votes.of(drawn, coding="pm1")
    scores = {}
    for name in ("latent-ising", *RIVALS):
        model = build_aggregator(name, random_state=key["seed"]).fit(votes)
        scores[name] = accuracies(model.decision_function(votes), truth)
    return scores


PARTS = {
    "broken": (broken_tasks, run_broken),
    "intercepts": (broken_tasks, run_intercepts),
    "gold": (gold_tasks, run_gold),
    "noise": (noise_tasks, run_noise),
    "ensembles": (ensembles_tasks, run_ensembles),
}


def read_rows():
    if not ROWS.exists():
        return []
    return [json.loads(line) for line in ROWS.read_text().splitlines()]


def run_part(part, tasks, run):
    done = {json.dumps(row["key"]) for row in read_rows() if row["part"] == part}
    for key, given in tasks:
        if json.dumps(key) in done:
            continue
        row = {"part": part, "key": key, "value": run(key, given)}
        with ROWS.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(part, *key.values(), row["value"], flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--trials", type=int, default=10, help="trials of simulated votes")
    parser.add_argument("--data", type=Path, help="folder of real sets with truth")
    parser.add_argument("--page", action="store_true", help="only write the tables of the page")
    asked = parser.parse_args()
    if not asked.page:
        ROWS.parent.mkdir(exist_ok=True)
        sets = find_sets(asked.data) if asked.data else {}
        warnings.simplefilter("ignore")
        with one_blas_thread():
            compile_kernels()
            for part in asked.parts:
                tasks, run = PARTS[part]
                given = tasks(trials=asked.trials, sets=sets)
                run_part(part, given, run)
        stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
        rows = {(row["part"], json.dumps(row["key"])): row for row in [*stored, *read_rows()]}
        RESULTS.write_text(json.dumps([rows[key] for key in sorted(rows)], indent=0) + "\n")
    for page in write_pages(json.loads(RESULTS.read_text()), HERE.parent / "docs"):
        print(f"written: {page}")


if __name__ == "__main__":
    main()
