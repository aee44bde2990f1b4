"""Rates: the share of each class among the items, with an interval, with or without gold labels.

With gold labels it is prediction-powered inference (Angelopoulos et al. 2023) in its power-tuned
form (PPI++). Of class k, y_i is whether a gold label names it and p_i the model's probability; bars
are means over the n items with gold labels, M the mean over all N items::

    share = ybar + lambda (M(p) - pbar),   lambda = S_yp / (S_pp + z^2 V)

S are sums of products of deviations from the mean, V is the variance of p over all items, and z the
normal quantile. The gold labels alone make the share right; the model makes it precise, as far as
its probabilities follow them. The interval is Wilson's, of as many labels as that is worth::

    n / (u (N - n) / (N - 1)),   u = 1 - lambda S_yp / S'_yy

u is the part of the labels' variance that the model leaves. Both terms with z^2 stand for the z^2
items that Wilson's interval adds to a sample, half of them of the class (S' includes them; Agresti
and Coull 1998): there the model's probabilities vary as everywhere, and do not follow the labels.
So lambda is shrunk toward 0 where labels are few, and u stays above 0 where they show no error of
the model. With a useless model, or with all labels in one class, the result is that of the gold
labels alone.

A stated prevalence adds an offset to the log-odds of all items, with which the mean P(positive) of
those with votes equals it, as `LatentIsing.fit(prevalence=...)` does; gold labels stay.
"""

from collections.abc import Mapping
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri

from unelisa.aggregators.base import Aggregator
from unelisa.aggregators.known import by_name, read_gold
from unelisa.aggregators.latent_ising import LatentIsing
from unelisa.analysis.scoring import bound_frequency
from unelisa.errors import ModelError, ReliabilityWarning, VotesError, warn_user
from unelisa.estimator import check_level
from unelisa.latent.trust import LEVEL
from unelisa.paper.em import bound_share
from unelisa.votes import Votes
from unelisa.votes.ballots import count_heard
from unelisa.votes.coding import encode_classes

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

    Parameters
    ----------
    model
        A fitted aggregator with `predict_proba`, such as `LatentIsing`.
    votes
        The votes on the items whose rate is asked: `Votes`, or what `predict` takes.
    gold
        True labels of a **random sample** of these items: a dict or a pandas Series from item to
        label, or one label per item in their order, missing where unknown. A model that was fitted
        to some of them is refused.
    level
        Of the intervals, which hold for each class by itself.

    Notes
    -----
    With gold labels the interval holds whatever the model's quality (prediction-powered inference);
    the better the model, the narrower. It is on average never more than 5 % wider than that of the
    gold labels alone. It does not hold for items that were labeled because they looked difficult or
    interesting.

    Without gold labels the share is the mean probability of the class. With `LatentIsing` the
    interval comes from sets of votes whose truth is known; of the items of the fit these are
    `prevalence_` and, at level .9, `prevalence_interval_`. With any other method it assumes that
    the method's model of the voters holds: voters who repeat each other, or who are all lenient,
    make it too narrow. Where the votes cannot identify a truth, a warning says so, and low and high
    may be NaN.

    Examples
    --------
    Nine judges, most of them lenient; 50 answers are checked by hand:

    >>> import numpy as np, unelisa as ue
    >>> rng = np.random.default_rng(0)
    >>> good = rng.random(1000) < 0.3
    >>> says_yes = np.where(good[:, None], 0.9, [0.1, 0.2, 0.2, 0.3, 0.3, 0.3, 0.3, 0.4, 0.4])
    >>> votes = np.where(rng.random((1000, 9)) < says_yes, 1, 0)
    >>> model = ue.LatentIsing().fit(votes)
    >>> gold = {int(i): int(good[i]) for i in rng.choice(1000, 50, replace=False)}
    >>> ue.estimate_rate(model, votes, gold).round(1).reset_index()
       class  share  low  high
    0      0    0.7  0.7   0.8
    1      1    0.3  0.2   0.3
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
    """Return the share of every class by prediction-powered inference.

    `labels` and `chances` are items x classes; an item without a gold label is of no class. Shares
    of more than two classes are divided by their sum, which differs from 1 as lambda does between
    classes.
    """
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
    """Return the share of one class; `chances` are the probabilities of the items with gold labels.

    Items drawn with unequal chances are weighted by 1 / the chance, and count as
    (sum w)^2 / sum w^2 items drawn with equal ones (Kish).
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
    """Return the shares of items with votes; intervals reach as far as those of the fit.

    On the log-odds scale, and for another level as those of a normal distribution do.
    """
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
    if not isinstance(gold, Mapping) and hasattr(gold, "index") and hasattr(gold, "items"):
        gold = dict(gold.items())  # a Series names its items, also if they are called 0, 1, 2, ...
    unknown = len((by_name(gold) or {}).keys() - {str(item) for item in votes.items})
    if unknown:
        raise VotesError(
            f"{unknown} of the {len(gold)} items with gold labels are not among the votes: gold "
            "labels must be a random sample of the items with votes"
        )
    codes = read_gold(gold, votes, "gold")
    if not codes.any():
        raise VotesError("gold has no label; omit it, or label a random sample of the items")
    return codes


def count_forgotten(model: Any, votes: Votes, codes: NDArray[np.int8]) -> int:
    """Return how many gold labels the model was fitted to without naming them any more.

    Raises `ModelError` where it was fitted to some of these: it predicts them better than others.
    """
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
    """Return how many items are labeled positive at each prevalence; None where it is not asked.

    That is for methods whose `fit` takes a prevalence, with two classes. `share` is the estimated
    one. The prevalences reach to .5, or to .99 where the estimate may be larger.
    """
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
    """Return what, added to sorted log-odds, makes the mean of P equal a prevalence.

    None where gold labels, whose log-odds are beyond reach, do not allow it.
    """
    from scipy.optimize import brentq  # noqa: PLC0415 - takes a tenth of a second

    places = np.linspace(0, len(odds) - 1, min(len(odds), ENOUGH)).astype(np.intp)
    some = odds[places]

    def miss(offset: float) -> float:
        return float(expit(some + offset).mean()) - prevalence

    if miss(-FARTHEST) > 0 or miss(FARTHEST) < 0:
        return None
    return float(brentq(miss, -FARTHEST, FARTHEST, xtol=1e-9))
