"""How accurate LatentIsing is, and what each of its parts contributes; see docs/model_tables.md.

    python benchmarks/latent.py                    every part, into results/latent.json
    python benchmarks/latent.py --parts real gold  some parts
    python benchmarks/latent.py --page             the tables of docs/model_tables.md

broken     section 5.1's votes with one assumption broken; 49 voters, medium signal
intercepts the paper's method with intercepts on the same votes
parts      every structure forced in turn, on simulated cells
real       the same on real votes with known truth
gold       10, 20 and 50 random gold labels, 20 draws, scored on all other items (a row per set)
medical    breast cancer (scikit-learn): 30 medians as voters, and nine nested thresholds each
rate       the weight of the estimated class rate, chosen on all other sets, for every set
doubt      the constants of the doubt, chosen by log loss on all other sets, for every set
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
from unittest import mock

import numpy as np
from ensembles import KINDS, draw_ensemble, tasks
from sklearn.datasets import load_breast_cancer

import unelisa as ue
from studies.pages.model import STRUCTURES, write_pages
from studies.paper.cells import CELLS
from studies.real.gold import run_gold as run_gold_labels
from studies.real.sets import find_panels, find_sets
from unelisa.comparison import build_aggregator
from unelisa.kernels.blas import one_blas_thread
from unelisa.latent.consensus import doubt, pool
from unelisa.scoring import score_experts, score_labels

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
RATES = (1.0, 0.75, 0.5, 0.25, 0.0)
SHARES = (0.05, 0.1, 0.25)  # weight of the share of yes without doubt
FULL_DOUBTS = ((0.05, 0.1), (0.1, 0.2), (0.2, 0.4))  # misfit and share of items apart
FITS = 3  # of which the fastest counts, since other work slows a machine down
ENSEMBLES = 5  # draws of each
LONG_GOLD = "dream_s1"  # 92,362 items, which would be scored about 200 times: left out
MOST_IN_GRAPH = 250  # voters, for forced edges on real votes


def up_to_sign(scores, truth):
    right = np.where(scores == 0, 0.5, np.sign(scores) == truth).mean()
    return float(max(right, 1 - right))


def accuracies(scores, truth):
    """Accuracy and balanced accuracy on the items with known truth; a tie counts half."""
    right = np.where(scores == 0, 0.5, np.sign(scores) == truth)
    known = truth != 0
    classes = [right[truth == side].mean() for side in (-1, 1) if (truth == side).any()]
    return {"accuracy": float(right[known].mean()), "balanced": float(np.mean(classes))}


def fitted(votes, **settings):
    """A fitted LatentIsing and its processor seconds."""
    start = time.process_time()
    gold = settings.pop("y", None)
    model = ue.LatentIsing(random_state=0, **settings).fit(votes, gold)
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


def parts_tasks(trials, **_):
    for cell in CELLS:
        for seed in range(FIRST_SEED, FIRST_SEED + max(1, trials // 10)):
            yield {"cell": cell.name, "seed": seed}, cell


def run_parts(key, cell):
    drawn = ue.simulate_votes(cell.n_voters, cell.size, cell.snr, random_state=key["seed"])
    scores = {}
    for structure in STRUCTURES:
        model, _ = fitted(drawn.votes, structure=structure)
        scores[structure] = up_to_sign(model.decision_function(drawn.votes), drawn.truth)
    scores["oracle"] = up_to_sign(drawn.model.posterior(drawn.votes.values) - 0.5, drawn.truth)
    return {"scores": scores}


def score_all(model, known):
    return accuracies(model.decision_function(known.scored_votes()), known.scored_signs())


def real_tasks(sets, **_):
    for name, read in sets.items():
        for structure in STRUCTURES:
            yield {"set": name, "structure": structure}, read


def run_real(key, read):
    known = read()
    if key["structure"] == "edges" and known.votes.n_voters > MOST_IN_GRAPH:
        return {"accuracy": None, "balanced": None}
    n_fits = FITS if key["structure"] == "auto" else 1
    fits = [fitted(known.votes, structure=key["structure"]) for _ in range(n_fits)]
    model, seconds = fits[0][0], min(cost for _, cost in fits)
    scores = score_all(model, known)
    kept = model.structure_.loc[model.structure_["kept"], "structure"]
    facts = {"kept": str(kept.iloc[0]) if len(kept) else "", "coherence": float(model.coherence_)}
    return {**scores, **facts, "seconds": seconds, "two_readings": bool(model.two_readings_)}


def gold_tasks(sets, panels, **_):
    for name, read in {**sets, **panels}.items():
        if name != LONG_GOLD:
            yield {"set": name}, read


def run_gold(_, read):
    return run_gold_labels(read(), FIRST_SEED)


def medical_tasks(**_):
    for thresholds in (1, 9):
        yield {"thresholds": thresholds}, thresholds


def run_medical(_, thresholds):
    data = load_breast_cancer()
    levels = np.arange(1, thresholds + 1) / (thresholds + 1)
    cut = np.quantile(data.data, levels, axis=0).transpose(1, 0)
    votes = np.where(data.data[:, :, None] > cut[None], 1, -1).reshape(len(data.data), -1)
    truth = np.where(data.target == 0, 1, -1).astype(np.int8)  # malignant
    model, seconds = fitted(votes.astype(np.int8))
    scores = accuracies(model.decision_function(votes), truth)
    majority = accuracies(votes.sum(axis=1), truth)["accuracy"]
    return {**scores, "majority": majority, "seconds": seconds, "reliable": bool(model.reliable_)}


def rate_tasks(sets, **_):
    for name, read in sets.items():
        for rate in RATES:
            yield {"set": name, "rate": rate}, read


def run_rate(key, read):
    known = read()
    with mock.patch.object(pool, "RATE", key["rate"]):
        model, _ = fitted(known.votes)
        return score_all(model, known)


def doubt_tasks(sets, **_):
    for name, read in sets.items():
        for least in SHARES:
            for misfit, apart in FULL_DOUBTS:
                yield {"set": name, "share": least, "misfit": misfit, "apart": apart}, read


def run_doubt(key, read):
    known = read()
    constants = {"SHARE": key["share"], "MISFIT": key["misfit"], "APART": key["apart"]}
    with mock.patch.multiple(doubt, **constants):
        model, _ = fitted(known.votes)
    asked = known.scored_votes()
    scores, chances = model.decision_function(asked), model.predict_proba(asked)[:, 1]
    return {"log_loss": score_labels(known.scored_signs(), scores, chances).log_loss}


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
    "parts": (parts_tasks, run_parts),
    "real": (real_tasks, run_real),
    "gold": (gold_tasks, run_gold),
    "medical": (medical_tasks, run_medical),
    "rate": (rate_tasks, run_rate),
    "doubt": (doubt_tasks, run_doubt),
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
    parser.add_argument("--panels", type=Path, help="folder of panels of judges, for gold labels")
    parser.add_argument("--page", action="store_true", help="only write the tables of the page")
    asked = parser.parse_args()
    if not asked.page:
        ROWS.parent.mkdir(exist_ok=True)
        sets = find_sets(asked.data) if asked.data else {}
        panels = find_panels(asked.panels) if asked.panels else {}
        warnings.simplefilter("ignore")
        with one_blas_thread():
            compile_kernels()
            for part in asked.parts:
                tasks, run = PARTS[part]
                given = tasks(trials=asked.trials, sets=sets, panels=panels)
                run_part(part, given, run)
        stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
        rows = {(row["part"], json.dumps(row["key"])): row for row in [*stored, *read_rows()]}
        RESULTS.write_text(json.dumps([rows[key] for key in sorted(rows)], indent=0) + "\n")
    for page in write_pages(json.loads(RESULTS.read_text()), HERE.parent / "docs"):
        print(f"written: {page}")


if __name__ == "__main__":
    main()
