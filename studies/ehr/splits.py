"""Table 5.4: phenotyping from counts, on random halves of the reviewed charts.

Three protocols side by side:

- "paper": the voters are nine percentiles and k-means of every feature; those with an AUC between
  .6 and .8 on ALL reviewed charts are kept, including the test half, whose labels leak.
- "train": the same, but the voters are chosen on the training half.
- "none": no labels are used.

penLog on all features, without voters, is a supervised reference independent of the paper. The
rivals of unElisa see the same voters and the same votes of the training half. "unElisa, 10,000"
sees the paper's voters on that many patients instead, whose labels it does not need.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegressionCV

from studies.ehr.baselines import BASELINES
from studies.ehr.sets import Places, ReviewedSet, Signs
from studies.ehr.voters import FeatureVotes, votes_from_percentiles
from studies.fingerprints import KEY, drop_stale, stamp_with
from studies.records import Json, open_results, read_lines
from unelisa.aggregators import (
    Aggregator,
    DawidSkene,
    LatentIsing,
    LatentSpectralMetaLearner,
    MajorityVote,
    SpectralMetaLearner,
    UnElisa,
)
from unelisa.analysis.scoring import score_labels
from unelisa.ehr.phenotyper import Phenotyper
from unelisa.errors import UnelisaWarning
from unelisa.kernels.threads import one_blas_thread
from unelisa.votes import Votes

Floats = NDArray[np.float64]
FIGURES = ("auc", "ppv", "npv", "f_score", "accuracy")
SPLITS = 100
TRAIN_SHARE = 200 / 435
LOW_AUC, HIGH_AUC = 0.6, 0.8
PENALTIES = np.logspace(-2, 0.5, 8)  # 1 / penalty: from no feature to nearly all
STAMP = stamp_with(
    *(f"{__name__}:{name}" for name in ("prepare", "run_split", "describe_set")),
    *(f"studies.ehr.sets:{name}" for name in ("simulated_set", "phecap_set")),
)
PAPER, TRAIN, NONE = "paper", "train", "none"
OURS, UNELISA, PENLOG, FULL_PENLOG = "Phenotyper", "unElisa", "penLog", "penLog, counts"
UNLABELED = 10_000  # patients whose votes are used without their labels
MANY_UNELISA = f"{UNELISA}, {UNLABELED:,} patients"
AGGREGATED: dict[str, Callable[[], Aggregator]] = {
    UNELISA: lambda: UnElisa(fit_intercept=True, random_state=0),
    "majority vote": MajorityVote,
    "Dawid-Skene": lambda: DawidSkene(random_state=0),
    "SML": SpectralMetaLearner,
    "SML-Latent": lambda: LatentSpectralMetaLearner(random_state=0),
    "LatentIsing": lambda: LatentIsing(random_state=0),
}


class Split(NamedTuple):
    """Positions of the training and test charts among the reviewed ones."""

    train: Places
    test: Places


class Prepared(NamedTuple):
    """What is computed once per set: voters, and the scores of methods without labels."""

    voters: FeatureVotes
    many: Floats  # of the paper's method, fitted to the paper's voters on many patients
    logs: NDArray[np.float32]
    scores: dict[str, Floats]
    phenotyper: Phenotyper
    seconds: float


def draw_split(signs: Signs, number: int) -> Split:
    """Return the training part (200 of 435, with 46 of 98 cases, as in the paper) and the rest.

    Examples
    --------
    >>> signs = np.array([1] * 98 + [-1] * 337, dtype=np.int8)
    >>> split = draw_split(signs, 0)
    >>> len(split.train), len(split.test), int((signs[split.train] > 0).sum())
    (200, 235, 46)
    """
    rng = np.random.default_rng([number, len(signs)])
    size, cases = round(TRAIN_SHARE * len(signs)), rng.permutation(np.flatnonzero(signs > 0))
    others = rng.permutation(np.flatnonzero(signs < 0))
    n_cases = int(np.ceil(TRAIN_SHARE * len(cases)))
    train = np.concatenate([cases[:n_cases], others[: size - n_cases]])
    return Split(np.sort(train), np.setdiff1d(np.arange(len(signs)), train))


def prepare(data: ReviewedSet) -> Prepared:
    """Return the voters, and fit what needs no labels to all patients."""
    start = time.process_time()
    model = fit_phenotyper(data)
    seconds = time.process_time() - start
    rows = data.reviewed
    scores = {OURS: model.decision_function(data.counts)[rows]}
    for name, baseline in BASELINES.items():
        scores[name] = baseline(data.counts, data.anchor_places)[rows]
    made = votes_from_percentiles(data.counts)
    voters = FeatureVotes(made.votes.take_items(rows), made.features)
    many = score_many(made.votes, data)
    logs = np.column_stack([np.log1p(data.counts.values[rows]), data.counts.log_use[rows]])
    logs = (logs - logs.mean(axis=0)) / (logs.std(axis=0) + 1e-9)
    return Prepared(voters, many, logs.astype(np.float32), scores, model, seconds)


def score_many(votes: Votes, data: ReviewedSet) -> Floats:
    """Return the paper's method on the reviewed charts, fitted to the votes on many patients.

    Its voters are those of the protocol "paper", so that the labels leak in the same way.
    """
    reviewed = votes.take_items(data.reviewed)
    kept = screen_voters(reviewed, data.signs, np.arange(len(data.signs)))
    rng, n = np.random.default_rng(0), min(UNLABELED, votes.n_items)
    rows = np.sort(rng.choice(votes.n_items, n, replace=False))
    model = AGGREGATED[UNELISA]().fit(votes.take_voters(kept).take_items(rows))
    return np.asarray(model.decision_function(reviewed.take_voters(kept)))


def fit_phenotyper(data: ReviewedSet, prevalence: float | None = None, y: Any = None) -> Phenotyper:
    """Return the Phenotyper with its defaults, fitted to all patients of a set."""
    return Phenotyper(data.anchors, None, prevalence, random_state=0).fit(data.counts, y)


def run_split(data: ReviewedSet, made: Prepared, number: int) -> Iterator[Json]:
    """Yield the rows of all methods on one split."""
    split = draw_split(data.signs, number)
    truth = data.signs[split.test]

    def row(protocol: str, method: str, scores: Floats) -> Json:
        facts = {"set": data.name, "split": number, "protocol": protocol, "method": method}
        return {**facts, "figures": score_test(truth, scores)}

    for protocol, judges in ((PAPER, np.arange(len(data.signs))), (TRAIN, split.train)):
        kept = screen_voters(made.voters.votes, data.signs, judges)
        votes = made.voters.votes.take_voters(kept)
        for method in AGGREGATED:
            yield row(protocol, method, _score_votes(method, votes, split))
        if protocol == PAPER:
            yield row(PAPER, MANY_UNELISA, made.many[split.test])
        yield row(protocol, PENLOG, _score_penlog(votes.values, data.signs, split, number))
    yield row(TRAIN, FULL_PENLOG, _score_penlog(made.logs, data.signs, split, number))
    for method, scores in made.scores.items():
        yield row(NONE, method, scores[split.test])


def screen_voters(votes: Votes, signs: Signs, judges: Places) -> Places:
    """Return the voters with an AUC between .6 and .8 on the given charts.

    The AUC of a binary vote is (sensitivity + specificity) / 2. If no voter is in that range, the
    ten best are kept.
    """
    values, truth = votes.values[judges], signs[judges]
    sensitivity = (values[truth > 0] > 0).mean(axis=0)
    specificity = (values[truth < 0] < 0).mean(axis=0)
    auc = (sensitivity + specificity) / 2
    kept = np.flatnonzero((auc >= LOW_AUC) & (auc <= HIGH_AUC))
    return kept if len(kept) else np.sort(np.argsort(-auc, kind="stable")[:10])


def _score_votes(method: str, votes: Votes, split: Split) -> Floats:
    """Return a method's scores of the test votes, fitted to the training votes without labels."""
    model = AGGREGATED[method]().fit(votes.take_items(split.train))
    return np.asarray(model.decision_function(votes.take_items(split.test)))


def _score_penlog(values: NDArray[Any], signs: Signs, split: Split, seed: int) -> Floats:
    """Return l1-penalized logistic regression, the penalty chosen by log loss in five folds."""
    model = LogisticRegressionCV(
        Cs=PENALTIES,
        cv=5,
        l1_ratios=(1.0,),
        solver="liblinear",
        scoring="neg_log_loss",
        random_state=seed,
        use_legacy_attributes=False,
    )
    inputs = values.astype(np.float32)
    model.fit(inputs[split.train], signs[split.train])
    return np.asarray(model.decision_function(inputs[split.test]), dtype=np.float64)


def score_test(truth: Signs, scores: Floats) -> dict[str, float | None]:
    """Return the paper's figures and accuracy; None if one is undefined (nobody is flagged)."""
    found = score_labels(truth, scores)
    figures = {name: float(getattr(found, name)) for name in FIGURES}
    return {name: round(x, 5) if np.isfinite(x) else None for name, x in figures.items()}


def describe_set(data: ReviewedSet, made: Prepared) -> Json:
    """Return the facts about a set that do not depend on splits.

    selected and roles show what each way selects: the paper's experts on all reviewed charts with
    its screening by labels, and ours. everybody has our figures on all patients, if their truth is
    known; prevalence is our estimate, cases the number among the reviewed.
    """
    table, scores = made.phenotyper.features_, made.phenotyper.decision_function(data.counts)
    selected = {
        PAPER: paper_selection(data, made),
        OURS: [str(name) for name in table["feature"][table["selected"]]],
    }
    return {
        "set": data.name,
        "patients": data.counts.n_patients,
        "features": len(data.counts.features),
        "reviewed": len(data.reviewed),
        "cases": int((data.signs > 0).sum()),
        "prevalence": round(made.phenotyper.prevalence_, 5),
        "ppv": [round(x, 5) for x in made.phenotyper.ppv_[:3]],
        "seconds": round(made.seconds, 3),
        "everybody": {} if data.truth is None else score_test(data.truth, scores),
        "selected": selected,
        "roles": {way: count_roles(data, names) for way, names in selected.items()},
    }


def paper_selection(data: ReviewedSet, made: Prepared) -> list[str]:
    """Return the features of the paper's experts, learned from the votes on all reviewed charts."""
    kept = screen_voters(made.voters.votes, data.signs, np.arange(len(data.signs)))
    model = AGGREGATED[UNELISA]().fit(made.voters.votes.take_voters(kept))
    places = np.unique(made.voters.features[kept[model.experts_]])
    return [str(name) for name in data.counts.features[places]]


def count_roles(data: ReviewedSet, names: list[str]) -> dict[str, int]:
    """Return how many of the named features have each role; nothing if roles are unknown."""
    found = [data.roles[name] for name in names if name in data.roles]
    return {role: found.count(role) for role in dict.fromkeys(data.roles.values())}


def run_set(
    data: ReviewedSet,
    folder: Path,
    n_splits: int = SPLITS,
    done: Callable[[int], Any] = lambda _count: None,
) -> None:
    """Run the splits of a set that the results in a folder lack, and append each as it finishes."""
    fresh = drop_stale(read_splits(folder), STAMP)
    there = {row["split"] for row in fresh if row["set"] == data.name}
    missing = [number for number in range(n_splits) if number not in there]
    facts_there = drop_stale(read_lines(folder / "ehr_sets.jsonl"), STAMP)
    described = {fact["set"] for fact in facts_there}
    done(n_splits - len(missing))
    if not missing and data.name in described:
        return
    with (
        open_results(folder / "ehr.jsonl", STAMP) as rows,
        open_results(folder / "ehr_sets.jsonl", STAMP) as facts,
        one_blas_thread(),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", UnelisaWarning)  # few experts: the figures show it
        warnings.simplefilter("ignore", ConvergenceWarning)  # penLog's smallest penalties
        made = prepare(data)
        if data.name not in described:
            facts.append(describe_set(data, made))
        for number in missing:
            rows.append({"rows": list(run_split(data, made, number))})
            done(1)


def read_splits(folder: Path) -> list[Json]:
    """Return all rows in a results folder; one line holds all methods of a split."""
    lines = read_lines(folder / "ehr.jsonl")
    return [{**row, KEY: line.get(KEY)} for line in lines for row in line["rows"]]
