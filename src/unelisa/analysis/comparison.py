"""Every method on the same votes, against the truth."""

import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from unelisa.aggregators import METHODS, Aggregator
from unelisa.aggregators.base import as_chances
from unelisa.analysis.scoring import list_defined, score_classes, score_labels
from unelisa.errors import ModelError, UnelisaWarning, warn_user
from unelisa.kernels.compilation import Stopwatch
from unelisa.votes import Votes


class MethodScore(NamedTuple):
    """One method's row in a comparison; None where undefined, or where it refuses the votes."""

    method: str
    accuracy: float | None = None
    balanced_accuracy: float | None = None
    auc: float | None = None
    log_loss: float | None = None
    seconds: float | None = None
    n_experts: int | None = None


class ClassMethodScore(NamedTuple):
    """One method's row in a comparison on three or more classes; otherwise as `MethodScore`."""

    method: str
    accuracy: float | None = None
    balanced_accuracy: float | None = None
    macro_f1: float | None = None
    log_loss: float | None = None
    calibration_error: float | None = None
    mean_absolute_error: float | None = None
    seconds: float | None = None


def compare_methods(
    votes: Votes,
    truth: NDArray[np.int8],
    methods: Sequence[str] | None = None,
    random_state: int | None = 0,
    *,
    scored: Votes | None = None,
    n_jobs: int | None = None,
) -> Iterator[MethodScore | ClassMethodScore]:
    """Yield one row per method as it is done, a `ClassMethodScore` if there are over two classes.

    Parameters
    ----------
    votes
        The votes that methods are fitted to.
    truth
        In the codes of the votes: -1 / +1 per item, or k + 1 for class k of more than two; 0 where
        unknown.
    methods
        Names in `AGGREGATORS`; by default all that take the votes' classes.
    random_state, n_jobs
        Seed and threads of the methods that use them.
    scored
        The votes on the items of `truth`, where those are not the items of `votes`.

    Examples
    --------
    >>> import unelisa as ue
    >>> simulated = ue.simulate_votes(random_state=0)
    >>> methods = ["majority-vote", "latent-ising"]
    >>> for row in ue.compare_methods(simulated.votes, simulated.truth, methods):
    ...     print(row.method, round(row.accuracy, 2))
    majority-vote 0.69
    latent-ising 0.99
    """
    asked, known = votes if scored is None else scored, truth != 0
    judged = asked if known.all() else asked.take_items(np.flatnonzero(known))
    for name in methods or list_methods(votes):
        model = build_aggregator(name, random_state, n_jobs)
        try:
            with warnings.catch_warnings(), Stopwatch() as watch:
                # every method would repeat the same faults of the same votes
                warnings.simplefilter("ignore", UnelisaWarning)
                model.fit(votes)
        except ModelError as error:
            warn_user(f"{name} was left out: {error}", UnelisaWarning)
            yield MethodScore(name) if votes.n_classes == 2 else ClassMethodScore(name)
            continue
        scores = model.decision_function(judged)
        yield rate_scores(name, model, scores, truth[known], watch.seconds, votes.ordered)


def list_methods(votes: Votes) -> list[str]:
    """Return the names of the methods that take as many classes as the votes have."""
    every = import_module("unelisa.aggregators.registry").AGGREGATORS.items()
    return [name for name, cls in every if votes.n_classes == 2 or cls.takes.any_class]


def build_aggregator(
    name: str, random_state: int | None = None, n_jobs: int | None = None
) -> Aggregator:
    """Return a registered aggregator, with the seed and the threads where it has such a setting."""
    if name in METHODS:  # no other is loaded
        model: Aggregator = getattr(import_module("unelisa.aggregators"), METHODS[name])()
    else:
        model = import_module("unelisa.aggregators.registry").AGGREGATORS[name]()
    wanted = {"random_state": random_state, "n_jobs": n_jobs}
    model.set_params(**{key: wanted[key] for key in wanted.keys() & model.get_params().keys()})
    return model


def rate_scores(
    name: str,
    model: Aggregator,
    scores: NDArray[np.float64],
    truth: NDArray[np.int8],
    seconds: float,
    ordered: bool = False,
) -> MethodScore | ClassMethodScore:
    """Return the row of a fitted model whose scores of the items of `truth` are known."""
    # a method that gives probabilities has log-odds as scores, or log-probabilities of the classes
    honest = hasattr(model, "predict_proba")
    if scores.ndim > 1:
        chances = as_chances(scores) if honest else None
        found = list_defined(score_classes(truth, scores, chances, ordered=ordered))
        return ClassMethodScore(name, **found, seconds=seconds)
    figures = list_defined(score_labels(truth, scores, expit(scores) if honest else None))
    shown = {key: figures[key] for key in MethodScore._fields if key in figures}
    n_experts = len(model.experts_) if "expert" in model.verdicts else None
    return MethodScore(name, **shown, seconds=seconds, n_experts=n_experts)
