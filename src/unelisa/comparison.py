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
    asked, known = votes if scored is None else scored, truth != 0
    judged = asked if known.all() else asked.take_items(np.flatnonzero(known))
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
        scores = model.decision_function(judged)
        yield rate_scores(name, model, scores, truth[known], watch.seconds)


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
    figures = score_labels(truth, scores, proba)._asdict()
    shown = {key: figures[key] for key in MethodScore._fields if key in figures}
    defined = {key: None if np.isnan(figure) else figure for key, figure in shown.items()}
    n_experts = len(model.experts_) if "expert" in model.verdicts else None
    return MethodScore(name, **defined, seconds=seconds, n_experts=n_experts)
