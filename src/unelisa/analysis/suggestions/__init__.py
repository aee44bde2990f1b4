"""Which votes to buy next: on which items (gains.py, batch.py), and from whom (advice.py)."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.analysis.suggestions.batch import (
    Question,
    Terms,
    ask_everybody,
    plan_questions,
    without,
)
from unelisa.analysis.suggestions.gains import WORTH, Criterion, Panel, build_panel, can_suggest
from unelisa.errors import ModelError, VotesWarning, warn_user
from unelisa.estimator import COUNT
from unelisa.votes import Votes
from unelisa.votes.ballots import Floats, list_ballots
from unelisa.votes.blocks import ItemBlocks
from unelisa.votes.frames import list_names

__all__ = ["COLUMNS", "can_suggest", "plan_batch", "share_evenly", "suggest_votes"]

HUMAN = "human"
COLUMNS = ("item", "voter", "gain", "cost", "chance_now")
NOTHING = {
    "errors": "nothing worth buying: no single vote is expected to change a label",
    "log_loss": "nothing worth buying: no vote is expected to add information",
    "rate": "nothing worth buying: no vote is expected to make a rate surer",
}
ONLY = {
    "errors": "no other single vote is expected to change a label; criterion='log_loss' also ranks "
    "votes that only add information",
    "log_loss": "no other vote is expected to add information",
    "rate": "no other vote is expected to make a rate surer",
}


def suggest_votes(  # noqa: PLR0913 - a public signature
    model: Any,
    votes: Any,
    n: int = 50,
    cost: Mapping[Any, float] | None = None,
    voters: Sequence[Any] | None = None,
    *,
    criterion: Criterion = "errors",
    gold_cost: float | None = None,
    gold_accuracy: float = 1.0,
    spread: bool = True,
    chances: Any = None,
) -> Any:
    """Return the votes of the largest gain per cost: whom to ask about which item.

    The gain of a vote is how much it is expected to lower the expected number of wrong labels::

        gain = sum_v P(v) max_k P(k | votes, v) - max_k P(k | votes)

    with v drawn from the model, given all votes on the item and answers to the rows above. Of exact
    copies only the first is asked.

    One item gets at most about 256 combinations of answers in one batch. A spread batch shows where
    the model is wrong about a voter: a voter's price grows by its own amount with every n / (number
    of voters) questions; and a quarter of the batch, if that is one question per voter or more,
    goes to items that all voters answer, until half of the pairs of voters share fifty items.

    Under "errors", but not "log_loss", two votes that change a label only together have no gain.

    The table has one row per vote, by gain per cost: item, voter, gain, cost, chance_now (the
    probability of the item's label today). `attrs`: "stop", the expected gain of the next `n`
    votes; "expected_errors" today; and "note", why there are fewer than `n` rows.

    Parameters
    ----------
    model
        A fitted `LatentIsing`, `DawidSkene` or `OneCoinDawidSkene`, of two classes or more.
    votes
        All votes on the items so far, as in `predict`. Nobody is asked twice about an item.
    n, voters
        Number of votes to buy, and names of those who can be asked; all by default.
    cost
        Price of a vote by voter, a dict or pandas Series; 1 for those who are not listed.
    criterion
        "errors", the number of wrong labels; "log_loss", which also values votes that no label
        depends on yet; or "rate", the summed variance of the numbers of items of each class.
    gold_cost, gold_accuracy
        Price of the label of one more voter, named "human", and P(it is right).
    spread
        Whether the batch is spread over the voters, as above.
    chances
        `predict_proba` of the votes, where that is known already.

    Examples
    --------
    >>> import unelisa as ue
    >>> crowd = ue.simulate_classes(n_classes=3, n_voters=8, n_items=200, random_state=0)
    >>> model = ue.DawidSkene().fit(crowd.votes)
    >>> ask = ue.suggest_votes(model, crowd.votes, n=5)
    >>> list(ask.columns), len(ask), bool((ask["gain"] > 0).all())
    (['item', 'voter', 'gain', 'cost', 'chance_now'], 5, True)
    """
    if not COUNT.holds(n):
        raise ModelError(f"n must be {COUNT.words}, found {str(n)[:60]!r}")
    if criterion not in WORTH:
        raise ModelError(f"criterion must be one of {', '.join(WORTH)}, found {criterion!r}")
    panel = build_panel(model)
    known = model._reenter(votes)
    prices = _set_prices(model, panel, cost, voters, gold_cost)
    labels = _expect_labels(gold_accuracy, panel.n_classes)
    even = share_evenly(n, prices) if spread else np.inf
    terms = Terms(prices, labels, criterion, spread=even, n=2 * n)  # with the next batch
    chances = model.predict_proba(known) if chances is None else chances
    listed: Any = getattr(model, "_list_ballots", lambda votes: list_ballots(votes.blocks))
    first, found = plan_batch(panel, listed(known), chances, terms, n)
    asked = _order([*first, *islice(found, n - len(first))], prices)
    frame = _tabulate(model, known, asked, prices, chances)
    frame.attrs["stop"] = float(sum(question.gain for question in islice(found, n)))
    frame.attrs["expected_errors"] = float((1 - chances.max(axis=1)).sum())
    frame.attrs["note"] = _note(asked, n, known, prices, criterion)
    return frame


def plan_batch(
    panel: Panel, ballots: ItemBlocks, chances: Floats, terms: Terms, n: int
) -> tuple[list[Question], Iterator[Question]]:
    """Return the questions that show who repeats whom, then those of the largest gains."""
    first = ask_everybody(panel, ballots, chances, terms, n) if np.isfinite(terms.spread) else []
    if first:
        terms = without(terms, first, (len(chances), panel.n_voters))
    others = plan_questions(panel, ballots, chances, terms)
    best = next(others, None)
    return ([], others) if best is None else (first, chain([best], others))


def share_evenly(n: int, prices: Floats) -> float:
    """Return how many of n questions each voter would get if all were asked equally often."""
    return n / max(int(np.isfinite(prices[:-1]).sum()), 1)


def _set_prices(
    model: Any, panel: Panel, cost: Any, voters: Any, gold_cost: float | None
) -> Floats:
    """Return the price of every voter's vote and of a human's label; infinite: not asked."""
    names = model.voter_names_.tolist()
    place = {name: s for s, name in enumerate(names)}
    prices = np.append(np.ones(len(names)), np.inf)
    listed = dict(cost.items()) if cost is not None else {}
    _refuse_strangers(place, list(listed), "cost")
    for name, price in listed.items():
        prices[place[name]] = _check_price(price, f"the cost of {name}")
    if voters is not None:
        wanted = [voters] if isinstance(voters, str) else list(voters)
        _refuse_strangers(place, wanted, "voters")
        prices[:-1][~np.isin(np.arange(len(names)), [place[name] for name in wanted])] = np.inf
    prices[:-1][~panel.known] = np.inf
    if gold_cost is not None:
        if HUMAN in place:
            raise ModelError(f"a voter is named {HUMAN!r}: rename it, or omit gold_cost")
        prices[-1] = _check_price(gold_cost, "gold_cost")
    return prices


def _refuse_strangers(place: dict[Any, int], names: list[Any], where: str) -> None:
    strangers = [name for name in names if name not in place]
    if strangers:
        raise ModelError(
            f"{where} names voters unknown to the model: {list_names(strangers)}; check their names"
        )


def _check_price(price: Any, what: str) -> float:
    if not isinstance(price, Real) or not 0 < float(price) < np.inf:
        raise ModelError(f"{what} must be a positive number, found {str(price)[:60]!r}")
    return float(price)


def _expect_labels(accuracy: Any, n_classes: int) -> Floats:
    """Return P(human says v | class k), classes x answers."""
    if not isinstance(accuracy, Real) or not 1 / n_classes < float(accuracy) <= 1:
        raise ModelError(
            f"gold_accuracy must be a probability above 1/{n_classes}, found {str(accuracy)[:60]!r}"
        )
    wrong = (1 - float(accuracy)) / (n_classes - 1)
    return np.where(np.eye(n_classes) > 0, float(accuracy), wrong)


def _order(asked: list[Question], prices: Floats) -> list[Question]:
    """Return the questions by gain per cost; none comes before an earlier one on its item."""
    least: dict[int, float] = {}
    keys = []
    for question in asked:
        ratio = question.gain / float(prices[question.voter])
        least[question.item] = min(ratio, least.get(question.item, np.inf))
        keys.append(-least[question.item])
    return [asked[k] for k in np.argsort(keys, kind="stable")]


def _tabulate(
    model: Any, votes: Votes, asked: list[Question], prices: Floats, chances: Floats
) -> Any:
    import pandas as pd  # noqa: PLC0415 - a third of a second that only tables need

    items = np.array([question.item for question in asked], dtype=np.intp)
    voters = np.array([question.voter for question in asked], dtype=np.intp)
    names: NDArray[Any] = np.array([*model.voter_names_.tolist(), HUMAN], dtype=object)
    gains = np.array([question.gain for question in asked], dtype=np.float64)
    now = chances[items].max(axis=1, initial=0.0)
    columns = votes.items[items], names[voters], gains, prices[voters], now
    return pd.DataFrame(dict(zip(COLUMNS, columns, strict=True)))


def _note(asked: list[Question], n: int, votes: Votes, prices: Floats, criterion: Criterion) -> str:
    """Return why there are fewer questions than wanted; warn if there are not so many pairs."""
    if len(asked) == n:
        return ""
    open_ = np.isfinite(prices[:-1])
    left = int((votes.n_items - votes.vote_counts()[open_]).sum())
    left += votes.n_items * int(np.isfinite(prices[-1]))
    if left < n:
        warn_user(
            f"only {left} votes are left to ask for, fewer than the {n} that were wanted",
            VotesWarning,
        )
    return ONLY[criterion] if asked else NOTHING[criterion]
