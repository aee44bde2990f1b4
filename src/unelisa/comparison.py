"""Every method on the same votes, against the truth."""

import warnings
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from unelisa.aggregators import AGGREGATORS, Aggregator
from unelisa.errors import ModelError, UnelisaWarning, warn_user
from unelisa.kernels.compilation import Stopwatch
from unelisa.scoring import score_labels
from unelisa.votes import Votes


class MethodScore(NamedTuple):
    """One method's row in a comparison; None where a figure is not defined.

    n_experts is None for methods that weigh every voter and select none. A method that refuses
    the votes has a row of None.
    """

    method: str
    accuracy: float | None = None
    balanced_accuracy: float | None = None
    auc: float | None = None
    log_loss: float | None = None
    seconds: float | None = None
    n_experts: int | None = None


def compare_methods(
    votes: Votes,
    truth: NDArray[np.int8],
    methods: Sequence[str] | None = None,
    random_state: int | None = 0,
    *,
    scored: Votes | None = None,
    n_jobs: int | None = None,
) -> Iterator[MethodScore]:
    """Yield one row per method as it is done.

    Parameters
    ----------
    votes
        The votes that methods are fitted to; they see nothing else.
    truth
        -1 / +1 per item, 0 where unknown.
    methods
        Names in `AGGREGATORS`; all by default.
    random_state
        Seed of the methods that draw random starts.
    scored
        The votes on the items of `truth`, where those are not the items of `votes`.
    n_jobs
        Threads of the methods that use them.

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
    for name in methods or AGGREGATORS:
        model = build_aggregator(name, random_state, n_jobs)
        try:
            with warnings.catch_warnings(), Stopwatch() as watch:
                # every method would repeat the same faults of the same votes
                warnings.simplefilter("ignore", UnelisaWarning)
                model.fit(votes)
        except ModelError as error:
            warn_user(f"{name} was left out: {error}", UnelisaWarning)
            yield MethodScore(name)
            continue
        asked = votes if scored is None else scored
        yield score_model(name, model, asked, truth, watch.seconds)


def build_aggregator(
    name: str, random_state: int | None = None, n_jobs: int | None = None
) -> Aggregator:
    """Return a registered aggregator, with the seed and the threads where it has such a setting.

    Examples
    --------
    >>> build_aggregator("unelisa", random_state=3).get_params()["random_state"]
    3
    """
    model = AGGREGATORS[name]()
    wanted = {"random_state": random_state, "n_jobs": n_jobs}
    model.set_params(**{key: wanted[key] for key in wanted.keys() & model.get_params().keys()})
    return model


def score_model(
    name: str, model: Aggregator, votes: Votes, truth: NDArray[np.int8], seconds: float
) -> MethodScore:
    """Return the row of a fitted model.

    Parameters
    ----------
    name
        What the method is called in the table.
    model
        The fitted model.
    votes, truth
        The items it is asked about, and their true signs, 0 where unknown.
    seconds
        What the fit took, without compilation.
    """
    known = truth != 0
    asked = votes if known.all() else votes.take_items(np.flatnonzero(known))
    return rate_scores(name, model, model.decision_function(asked), truth[known], seconds)


def rate_scores(
    name: str,
    model: Aggregator,
    scores: NDArray[np.float64],
    truth: NDArray[np.int8],
    seconds: float,
) -> MethodScore:
    """Return the row of a fitted model whose scores of the items of `truth` are known."""
    # a method that gives probabilities has log-odds as scores
    proba = expit(scores) if hasattr(model, "predict_proba") else None
    result = score_labels(truth, scores, proba)
    return MethodScore(
        method=name,
        accuracy=_defined(result.accuracy),
        balanced_accuracy=_defined(result.balanced_accuracy),
        auc=_defined(result.auc),
        log_loss=_defined(result.log_loss),
        seconds=seconds,
        n_experts=len(model.experts_) if "expert" in model.verdicts else None,
    )


def _defined(figure: float) -> float | None:
    return None if np.isnan(figure) else figure
