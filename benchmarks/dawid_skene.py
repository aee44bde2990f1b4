"""Dawid and Skene's EM beside crowd-kit's: accuracy on the shared sets, and processor seconds.

    python benchmarks/dawid_skene.py --sets ../shared        one row per set, ours and theirs
    python benchmarks/dawid_skene.py --speed 10_000_000     votes drawn from the model itself

A row of --sets has the accuracies on items with votes (a tie counts by its expectation) of our
default, of crowd-kit, and of ours without smoothing, from the majority alone, after as many
iterations as crowd-kit made; then the number of these. --speed prints processor and wall seconds on
the same votes, and ratios.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import unelisa as ue
from studies.sets import list_sets, read_known
from unelisa.analysis.scoring import score_classes
from unelisa.votes.ballots import count_heard, list_ballots, take_ballots

SAME = 0.005  # difference of accuracies that does not matter
SHORT = 2_000  # votes on which kernels are compiled before anything is measured


def as_frame(votes):
    """Return the votes as crowd-kit reads them: task, worker, label, by number."""
    ballots = take_ballots(list_ballots(votes.blocks), np.arange(votes.n_items))
    said = ballots.answer(votes.n_classes)
    return pd.DataFrame({"task": ballots.items, "worker": ballots.voters, "label": said})


def ask_ours(votes, **settings):
    """Return the log-probabilities, items x classes."""
    scores = ue.DawidSkene(**settings).fit(votes).decision_function(votes)
    return scores if scores.ndim > 1 else np.column_stack([-scores / 2, scores / 2])


def ask_crowd_kit(votes):
    """Return crowd-kit's probabilities, items x classes, and the number of its iterations."""
    from crowdkit.aggregation import DawidSkene  # noqa: PLC0415 - a reference, not a dependency

    model = DawidSkene()
    found = model.fit_predict_proba(as_frame(votes))
    filled = found.reindex(index=range(votes.n_items), columns=range(votes.n_classes))
    filled[filled.isna().all(axis=1)] = 1.0  # items without votes
    return filled.fillna(0.0).to_numpy(), len(model.loss_history_)


def number_truth(signs, n_classes):
    """Return the codes of `score_classes`: class k (from 0) is k + 1, 0 unknown."""
    return signs if n_classes > 2 else np.where(signs == 0, 0, (signs > 0) + 1).astype(np.int8)


def compare_sets(folder):
    print(f"{'set':24} {'K':>2} {'ours':>6} {'theirs':>6} {'same':>6} {'steps':>5}")
    apart = 0
    for one in list_sets(folder):
        known = read_known(folder, one)
        votes = known.votes
        heard = list_ballots(votes.blocks).concatenate(count_heard) > 0
        truth = number_truth(np.where(heard, known.signs, 0).astype(np.int8), votes.n_classes)
        chances, steps = ask_crowd_kit(votes)
        alike = {"smoothing": 0.0, "n_starts": 1, "max_iter": steps}
        answers = ask_ours(votes), chances, ask_ours(votes, **alike)
        ours, theirs, same = (score_classes(truth, answer).accuracy for answer in answers)
        apart += abs(same - theirs) > SAME
        shown = f"{ours:6.3f} {theirs:6.3f} {same:6.3f} {steps:5}"
        print(f"{one.name:24} {one.classes:2} {shown}", flush=True)
    print(f"more than {SAME} apart after as many iterations: {apart} sets")


def draw_votes(n_votes, n_classes, seed=0):
    """Return votes drawn from the model: ten on each item, a thousand voters or more."""
    rng = np.random.default_rng(seed)
    n_items = n_votes // 10
    n_voters = max(50, n_votes // 2_000) // 10 * 10
    truth = rng.integers(n_classes, size=n_items)
    items = np.repeat(np.arange(n_items), 10)
    apart = np.arange(10) * (n_voters // 10)  # ten voters on each item, all different
    voters = (apart + rng.integers(n_voters // 10, size=(n_items, 10))).ravel()
    right = rng.random(len(items)) < rng.uniform(0.5, 0.95, n_voters)[voters]
    other = (truth[items] + rng.integers(1, n_classes, len(items))) % n_classes
    said = np.where(right, truth[items], other)
    frame = pd.DataFrame({"item": items, "voter": voters, "vote": said})
    return ue.Votes.of(frame)


def timed(work, votes):
    wall, used = time.perf_counter(), time.process_time()
    work(votes)
    return time.process_time() - used, time.perf_counter() - wall


def compare_speed(n_votes, classes):
    print(f"{'K':>2} {'program':24} {'CPU s':>8} {'wall s':>8} {'ratio':>7}")
    programs = {
        "crowd-kit DawidSkene": ask_crowd_kit,
        "ours": lambda some: ue.DawidSkene().fit(some),
        "ours, n_jobs=2": lambda some: ue.DawidSkene(n_jobs=2).fit(some),
    }
    for n_classes in classes:
        votes, short = draw_votes(n_votes, n_classes), draw_votes(SHORT, n_classes)
        reference = None
        for name, work in programs.items():
            work(short)
            cpu, wall = timed(work, votes)
            reference = reference or cpu
            figures = f"{cpu:8.2f} {wall:8.2f} {cpu / reference:7.3f}"
            print(f"{n_classes:2} {name:24} {figures}", flush=True)


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", type=Path)
    parser.add_argument("--speed", type=int)
    parser.add_argument("--classes", type=int, nargs="+", default=[2, 5])
    given = parser.parse_args()
    if given.sets is not None:
        compare_sets(given.sets)
    if given.speed:
        compare_speed(given.speed, given.classes)


if __name__ == "__main__":
    main()
