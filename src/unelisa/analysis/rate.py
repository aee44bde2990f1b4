"""Rates: the share of each class among the items, with an interval, with or without gold labels.

With gold labels by power-tuned prediction-powered inference (Angelopoulos et al. 2023); a stated
prevalence adds an offset to the log-odds of all items with votes.
"""

from collections.abc import Mapping
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri

from unelisa.aggregators.base import Aggregator
from unelisa.aggregators.known import read_gold, spell_keys
from unelisa.aggregators.latent_ising import LatentIsing
from unelisa.analysis.scoring import bound_frequency
from unelisa.errors import ModelError, ReliabilityWarning, VotesError, warn_user
from unelisa.estimator import check_level
from unelisa.kernels.roots import find_root
from unelisa.latent.trust import LEVEL
from unelisa.paper.em import bound_share
from unelisa.votes import Votes
from unelisa.votes.ballots import count_heard
from unelisa.votes.coding import encode_classes
from unelisa.votes.columns import spell_name

Floats = NDArray[np.float64]
LEAST_VOTERS = 3  # of whom each can be checked by two others
STEP = 0.01  # between the prevalences that are tried
ENOUGH = 20_000  # items, evenly spaced by their log-odds, that give the mean
FARTHEST = 50.0  # offset beyond which only gold labels resist
FLAT = 1e-9  # variation of probabilities below which they are all the same


class Rate(NamedTuple):
    """The share of a class, and its interval."""

    share: float
    low: float
    high: float


def estimate_rate(model: Any, votes: Any, gold: Any = None, level: float = 0.95) -> Any:
    """Return the share of each class among the items, with an interval, as a pandas table.

    One row per class, in the order of `classes_`; columns share, low, high.

    Gold labels correct the errors of the model (prediction-powered inference): the interval is on
    average never more than 5 % wider than that of the gold labels alone. It does not hold for items
    that were labeled because they looked difficult or interesting, and too rarely for a class of
    which a handful of labels contains hardly any.

    Without gold labels the share is the mean probability of the class. With `LatentIsing` the
    interval comes from sets of votes whose truth is known; other methods assume that their model of
    the voters holds, and voters who repeat each other make the interval too narrow. Where the votes
    cannot identify a truth, a warning says so, and low and high may be NaN.

    Parameters
    ----------
    model, votes
        A fitted aggregator with `predict_proba`, and the votes on the items in question.
    gold
        True labels of a **random sample** of these items, which had no part in the fit: a dict or a
        pandas Series from item to label, or one label per item, missing where unknown.
    level
        Of the intervals of each class.

    Examples
    --------
    >>> import unelisa as ue
    >>> sample = ue.simulate_votes(random_state=0)
    >>> model = ue.LatentIsing().fit(sample.votes)
    >>> gold = {i: sample.truth[i] for i in range(50)}
    >>> ue.estimate_rate(model, sample.votes, gold).columns.tolist()
    ['share', 'low', 'high']
    """
    if not isinstance(model, Aggregator) or not hasattr(model, "predict_proba"):
        raise ModelError(
            "rates need a method with probabilities, such as LatentIsing or DawidSkene, found "
            f"{type(model).__name__}"
        )
    check_level(level)
    table = model._reenter(votes)
    chances = model.predict_proba(table)
    if gold is None:
        rates = ask_model(model, table, chances, level)
    else:
        codes = read_sample(gold, table)
        if known := count_forgotten(model, table, codes):
            warn_user(
                f"the model was fitted to {known} gold labels that it no longer names: if these "
                "are among them, the interval is too narrow",
                ReliabilityWarning,
            )
        classes = np.array(encode_classes(table.n_classes), dtype=np.int8)
        rates = correct_shares(codes[:, None] == classes, chances, level)
    return _tabulate(rates, model.classes_)


def _tabulate(rates: list[Rate], classes: NDArray[Any]) -> Any:
    import pandas as pd  # noqa: PLC0415 - a third of a second that only tables need

    return pd.DataFrame(rates, index=pd.Index(classes, name="class"))


def correct_shares(labels: NDArray[np.bool_], chances: Floats, level: float) -> list[Rate]:
    """Return the share of every class by prediction-powered inference, normalized to sum to 1."""
    known = labels.any(axis=1)
    rates = [
        correct_share(own[known].astype(np.float64), chance[known], chance, level)
        for own, chance in zip(labels.T, chances.T, strict=True)
    ]
    total = sum(rate.share for rate in rates)
    shares = [rate.share / total for rate in rates]
    return [
        Rate(share, min(rate.low, share), max(rate.high, share))
        for share, rate in zip(shares, rates, strict=True)
    ]


def correct_share(
    own: Floats, chances: Floats, everywhere: Floats, level: float, weights: Floats | None = None
) -> Rate:
    """Return the share of one class by prediction-powered inference.

    With labels y, probabilities p, their mean M and variance V over all N items, and sums S of
    products of deviations over the n items with gold labels, the share is::

        ybar + lambda (M(p) - pbar),  lambda = S_yp / (S_pp + z^2 V),  u = 1 - lambda S_yp / S'_yy

    The interval is Wilson's of n / (u (N - n) / (N - 1)) labels; the z^2 items that it adds to a
    sample (half of them of the class, in S') vary in p as all items do. Items drawn with unequal
    chances are weighted by 1 / the chance, and count as (sum w)^2 / sum w^2 (Kish).
    """
    equal = np.ones(len(own)) if weights is None else weights / weights.mean()
    n, total = float(equal.sum() ** 2 / (equal @ equal)), len(everywhere)
    equal *= n / equal.sum()
    added = float(ndtri((1 + level) / 2)) ** 2  # Wilson's items
    mean, expected = float(equal @ own) / n, float(equal @ chances) / n
    moves, follows = own - mean, chances - expected
    both = float((equal * moves) @ follows)
    spread = float((equal * follows) @ follows + added * everywhere.var())
    slope = both / spread if spread > FLAT else 0.0
    apart = n * added / (n + added) * (mean - 0.5) ** 2
    unexplained = 1 - slope * both / float((equal * moves) @ moves + added / 4 + apart)
    share = float(np.clip(mean + slope * (everywhere.mean() - expected), 0, 1))
    rest = (total - n) / max(total - 1, 1)
    worth = n / (unexplained * rest) if rest > 0 else np.inf
    return Rate(share, *bound_frequency(share, worth, level))


def ask_model(model: Any, votes: Votes, chances: Floats, level: float) -> list[Rate]:
    """Return the model's own shares, with NaN for bounds that the votes do not determine."""
    obstacle = find_obstacle(model, votes)
    if obstacle:
        warn_user(
            f"the votes do not show the share of each class: {obstacle}; pass gold labels of a "
            "random sample of the items",
            ReliabilityWarning,
        )
    if isinstance(model, LatentIsing):
        heard = model._list_ballots(votes).concatenate(count_heard) > 0
        return _extend_shares(model, chances[heard], level)
    shares = chances.mean(axis=0)
    if obstacle:
        return [Rate(float(share), np.nan, np.nan) for share in shares]
    information = np.maximum(((chances - shares) ** 2).sum(axis=0), FLAT)
    inside = np.clip(shares, FLAT, 1 - FLAT)
    return [
        Rate(float(own), *bound_share(float(one), known, level))
        for own, one, known in zip(shares, inside, information, strict=True)
    ]


def _extend_shares(model: LatentIsing, chances: Floats, level: float) -> list[Rate]:
    """Return the shares of items with votes, with intervals as wide as the fit's, in log-odds."""
    own, bounds = np.asarray(model.prevalence_), np.asarray(model.prevalence_interval_)
    if own.ndim == 0:
        own, bounds = np.stack([1 - own, own]), np.column_stack([1 - bounds[::-1], bounds])
    n = max(len(chances), 1)
    shares = np.clip(chances.sum(axis=0) / n, 0.5 / n, 1 - 0.5 / n)
    shares /= shares.sum()
    if model.__dict__.get("_beside") == "prevalence":
        shares = own  # what was stated, which the mean of P is near
    wider = ndtri((1 + level) / 2) / ndtri((1 + LEVEL) / 2)
    reach = wider * (logit(bounds) - logit(own))
    low = expit(logit(shares) + np.minimum(reach[0], 0))  # a stated share is met but for rounding
    high = expit(logit(shares) + np.maximum(reach[1], 0))
    return [Rate(*map(float, row)) for row in zip(shares, low, high, strict=True)]


def find_obstacle(model: Any, votes: Votes) -> str:
    """Return why the votes cannot determine how common the classes are; "" if they can."""
    if isinstance(model, LatentIsing):
        return "" if model.expected_accuracy_ is not None else model.reliability_reason_
    if not getattr(model, "reliable_", True):
        return str(model.reliability_reason_)
    if np.count_nonzero(votes.discerning()) < LEAST_VOTERS:
        return f"fewer than {LEAST_VOTERS} voters vary"
    return ""


def read_sample(gold: Any, votes: Votes) -> NDArray[np.int8]:
    """Return the gold labels in the codes of the votes, 0 where unknown."""
    codes = np.zeros(votes.n_items, dtype=np.int8)
    if not hasattr(gold, "items"):
        codes = read_gold(gold, votes, "gold")
    elif named := spell_keys(gold, "gold"):  # also of a Series whose items are called 0, 1, 2, ...
        spelled = enumerate(map(spell_name, votes.items.tolist()))
        places = {name: i for i, name in spelled if name in named}
        rows = [places[name] for name in named if name in places]
        if len(rows) < len(named):
            raise VotesError(
                f"{len(named) - len(rows)} of the {len(named)} items with gold labels are not "
                "among the votes: gold labels must be a random sample of the items with votes"
            )
        codes[rows] = read_gold(list(named.values()), votes.take_items(rows), "gold")
    if not codes.any():
        raise VotesError("gold has no label; omit it, or label a random sample of the items")
    return codes


def count_forgotten(model: Any, votes: Votes, codes: NDArray[np.int8]) -> int:
    """Return how many unnamed gold labels the model was fitted to; refuse if these are known."""
    fitted: NDArray[np.int8] | None = model._recall_gold(votes)
    if fitted is None:
        return int(model.__dict__.get("_n_gold", 0))
    both = int(np.count_nonzero((fitted != 0) & (codes != 0)))
    if both:
        raise ModelError(
            f"the model was fitted to {both} of the {np.count_nonzero(codes)} gold labels, "
            "which it predicts better than other items: fit it without them, or pass labels that "
            "it has not seen"
        )
    return 0


def trace_prevalence(
    model: Any, judged: Any, share: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """Return how many items are labeled positive at each prevalence; None if `fit` takes none."""
    if judged is None or share is None or not judged.two_classes or not takes_prevalence(model):
        return None
    heard = np.sort(judged.scores[judged.voted_on])
    if not len(heard):
        return None
    end = 0.5 if (share["high"] or share["share"]) <= 0.5 else 1.0
    grid = np.arange(1, round(min(end, 1 - STEP) / STEP) + 1) * STEP
    rows = []
    for prevalence in grid.tolist():
        offset = find_offset(heard, prevalence)
        if offset is not None:
            labeled = int(np.count_nonzero(judged.scores + offset >= 0))
            shares = {"prevalence": round(prevalence, 2), "share": labeled / len(judged.scores)}
            rows.append({**shares, "labeled": labeled})
    return {"end": end, "rows": rows}


def takes_prevalence(model: Any) -> bool:
    """Return whether a method's `fit` takes a stated prevalence."""
    return "prevalence" in signature(type(model).fit).parameters


def find_offset(odds: Floats, prevalence: float) -> float | None:
    """Return the shift of sorted log-odds that makes the mean of P a prevalence; None if none."""
    places = np.linspace(0, len(odds) - 1, min(len(odds), ENOUGH)).astype(np.intp)
    some = odds[places]

    def miss(offset: float) -> float:
        return float(expit(some + offset).mean()) - prevalence

    if miss(-FARTHEST) > 0 or miss(FARTHEST) < 0:
        return None
    return find_root(miss, -FARTHEST, FARTHEST, 1e-9)
