"""Certificates: labels that can be given automatically with at most so many errors, and the plan.

Which items are certified is decided in certified_sets.py.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators.base import Aggregator, pick_classes
from unelisa.aggregators.known import number_codes
from unelisa.analysis.certified_sets import (
    NEAR,
    Asked,
    Choice,
    Evidence,
    Loss,
    Per,
    Scored,
    choose_set,
    choose_sets,
)
from unelisa.analysis.gold_sample import count_forgotten, read_sample
from unelisa.errors import ModelError
from unelisa.estimator import check_level
from unelisa.outputs import defuse_cell
from unelisa.votes import Votes
from unelisa.votes.ballots import list_ballots, take_ballots

Floats = NDArray[np.float64]
Looks = Literal["any", "once"]

ROUNDING = 9  # digits of probabilities that tell items apart
ANSWERS = (30, 50, 75, 100, 150, 200, 300, 400, 600, 800, 1200, 1600, 2400, 3200)
NEARLY_ALL = 0.95  # of what many answers would certify
CERTIFIED, GOLD, LOOK = "certified", "gold", "look"


@dataclass(frozen=True, eq=False)
class Guarantee:
    """Labels and what is guaranteed of them.

    Attributes
    ----------
    labels
        One row per item: item, label, probability, status. "certified": given automatically;
        "gold": its gold label; "look": not covered, a person should look at it.
    n_certified, n_gold
        Numbers of items with these statuses.
    error, confidence
        What was asked for.
    certificate
        Everything that the guarantee rests on, as a dict that JSON can hold.
    """

    labels: Any
    n_certified: int
    n_gold: int
    error: float
    confidence: float
    certificate: dict[str, Any]

    def __str__(self) -> str:
        return str(self.certificate["guarantee"])


def certify(  # noqa: PLR0913 - a public signature
    model: Any,
    votes: Any,
    gold: Any,
    error: float = 0.05,
    confidence: float = 0.95,
    *,
    per: Per = "file",
    loss: Loss = "wrong",
    looks: Looks = "any",
    drawn: str = "random",
    above: float = 0.0,
) -> Guarantee:
    """Return the labels that can be given automatically with at most so many errors.

    Parameters
    ----------
    model
        A fitted aggregator with `predict_proba`; the gold labels must have no part in the fit.
    votes
        The votes on the items to label.
    gold
        True labels of items **drawn at random**: a dict or a pandas Series from item to label, or
        one label per item in their order, missing where unknown.
    error, confidence
        The share of wrong labels exceeds `error` with chance 1 - `confidence` at most.
    per
        What the share is of: "file", of all certified and gold labels, where gold labels count as
        right; "automatic", of the certified labels only; "class", of the labels of each class.
    loss
        "wrong": a label other than the true one; of ordered classes also "far", off by more than
        one class, and "squared", the mean squared difference in classes.
    looks
        "any": the guarantee holds at all looks together, so that gold labels may be added until it
        is given. "once": the number of gold labels was decided before the first look; then more
        is certified.
    drawn
        "random"; gold labels chosen "by-hand" are refused, because nothing follows from them for
        other items.
    above
        The draws were from the items whose label has at least this probability, as
        `plan_certification` proposes; the others cannot be certified.

    Examples
    --------
    >>> import numpy as np, unelisa as ue
    >>> sample = ue.simulate_votes(random_state=0)
    >>> model = ue.LatentIsing().fit(sample.votes)
    >>> drawn = np.random.default_rng(0).choice(len(sample.truth), 150, replace=False)
    >>> gold = {int(i): int(sample.truth[i]) for i in drawn}
    >>> found = ue.certify(model, sample.votes, gold, error=0.05)
    >>> found.labels["status"].value_counts().sum() == len(sample.truth)
    np.True_
    """
    _check_request(error, confidence, per, loss, drawn)
    if looks not in ("any", "once"):
        raise ModelError(f"looks must be any or once, found {looks!r}")
    scored = score_items(model, votes)
    _check_loss(loss, scored)
    codes = read_sample(gold, scored.votes)
    _refuse_fitted(model, scored.votes, codes)
    truth = number_codes(codes, scored.votes.n_classes)
    asked = Asked(error, confidence, per, loss, above, looks == "once")
    return _state(scored, truth, choose_sets(scored, truth, asked), asked)


def _check_request(error: float, confidence: float, per: str, loss: str, drawn: str) -> None:
    check_level(confidence)
    if not error > 0:
        raise ModelError(f"error must be positive, for example .05, found {error!r}")
    if per not in ("file", "automatic", "class"):
        raise ModelError(f"per must be file, automatic or class, found {per!r}")
    if loss not in ("wrong", "far", "squared"):
        raise ModelError(f"loss must be wrong, far or squared, found {loss!r}")
    if loss != "squared" and error >= 1:
        raise ModelError(f"error is a share below 1, for example .05, found {error!r}")
    if drawn != "random":
        raise ModelError(
            "gold labels that were chosen by hand say nothing about the other items, so no "
            "guarantee follows from them; draw items at random, with `unelisa review --aim certify`"
        )


def _check_loss(loss: str, scored: Scored) -> None:
    if loss != "wrong" and not (scored.votes.ordered and len(scored.classes) > 2):
        raise ModelError(
            f"loss {loss!r} needs more than two ordered classes; declare their order, with order= "
            "or --order"
        )


def score_items(model: Any, votes: Any) -> Scored:
    """Return the model's labels and their probabilities."""
    if not isinstance(model, Aggregator) or not hasattr(model, "predict_proba"):
        raise ModelError(
            "a guarantee needs a method with probabilities, such as LatentIsing or DawidSkene, "
            f"found {type(model).__name__}"
        )
    table = model._reenter(votes)
    chances = model.predict_proba(table)
    label = pick_classes(chances, model.tie_order_)
    sure = np.round(chances[np.arange(len(label)), label], ROUNDING)
    return Scored(table, label, sure, model.classes_)


def _refuse_fitted(model: Any, votes: Votes, codes: NDArray[np.int8]) -> None:
    """Refuse gold labels that the model was fitted to, or may have been."""
    if known := count_forgotten(model, votes, codes):
        raise ModelError(
            f"the model was fitted to {known} gold labels that it no longer names, and these may "
            "be among them: fit it without gold labels"
        )


def _state(
    scored: Scored, truth: NDArray[np.intp], choices: list[Choice], asked: Asked
) -> Guarantee:
    """Return the labels with their status, and the certificate."""
    import pandas as pd  # noqa: PLC0415 - a third of a second that only tables need

    gold = truth >= 0
    limits = np.array([choice.threshold for choice in choices])
    limit = limits[scored.label] if asked.per == "class" else limits[0]
    certified = ~gold & (scored.sure >= np.maximum(limit, asked.above))
    status = np.where(gold, GOLD, np.where(certified, CERTIFIED, LOOK))
    label = np.where(gold, truth, scored.label)
    columns = {
        "item": list(scored.votes.items),
        "label": scored.classes[label],
        "probability": np.where(gold, 1.0, scored.sure),
        "status": status,
    }
    counts = {name: int(np.count_nonzero(status == name)) for name in (CERTIFIED, GOLD, LOOK)}
    seen = gold & (scored.sure >= asked.above)
    facts: dict[str, Any] = {
        "error": asked.error,
        "confidence": asked.confidence,
        "per": asked.per,
        "loss": asked.loss,
        "looks": "once" if asked.once else "any",
        "n_items": len(gold),
        "n_certified": counts[CERTIFIED],
        "n_gold": counts[GOLD],
        "n_look": counts[LOOK],
        "n_drawn": int(np.count_nonzero(seen)),
        "n_wrong": int(np.count_nonzero(seen & (truth != scored.label))),
        "drawn_above": asked.above,
        "thresholds": [None if np.isinf(x) else float(x) for x in limits],
        "certifiable_error": _find_reach(choices, counts[CERTIFIED]),
        "votes_sha256": hash_votes(scored.votes),
        "gold_sha256": hash_columns(
            np.asarray(scored.votes.items)[gold], scored.classes[truth[gold]]
        ),
        "labels_sha256": hash_columns(columns["item"], columns["label"], status),
    }
    facts["guarantee"] = _put_into_words(facts)
    found = counts[CERTIFIED], counts[GOLD], asked.error, asked.confidence
    return Guarantee(pd.DataFrame(columns), *found, facts)


def _find_reach(choices: list[Choice], n_certified: int) -> float | None:
    """Return the error that would have been certified; None where something is certified."""
    found = [choice.reach for choice in choices if np.isfinite(choice.reach)]
    return None if n_certified or not found else round(min(max(found), 1.0), 4)


_WHAT = {
    "wrong": "wrong labels",
    "far": "labels off by more than one class",
    "squared": "mean squared difference from the true class",
}
_OF = {
    "file": "certified and gold labels",
    "automatic": "certified labels",
    "class": "certified and gold labels of each class",
}


def _put_into_words(facts: dict[str, Any]) -> str:
    share = f"{facts['error']:g}" if facts["loss"] == "squared" else f"{100 * facts['error']:g}%"
    answers = f"{facts['n_drawn']:,} random answers"
    if not facts["n_certified"]:
        reach = facts["certifiable_error"]
        other = "" if reach is None else f"; {100 * reach:.2g}% could be"
        return f"an error of {share} cannot be certified with {answers}{other}"
    many = facts["n_certified"] + (0 if facts["per"] == "automatic" else facts["n_gold"])
    return (
        f"with {100 * facts['confidence']:g}% confidence, at most {share} {_WHAT[facts['loss']]} "
        f"among the {many:,} {_OF[facts['per']]}, from {answers}; "
        f"{facts['n_look']:,} items need a look"
    )


def hash_votes(votes: Votes) -> str:
    """Return the SHA-256 of the votes: names of items and voters, classes and codes."""
    digest = sha256()
    for names in (votes.items, votes.voters, votes.classes):
        digest.update(_join_names(names))
    cast = take_ballots(list_ballots(votes.blocks), np.arange(votes.n_items))
    for column in (cast.starts, cast.voters, cast.votes):
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()


def hash_columns(*columns: Any) -> str:
    """Return the SHA-256 of columns of names.

    Examples
    --------
    >>> hash_columns(["a"], ["yes"])[:8] == hash_columns(["a"], ["yes"])[:8]
    True
    """
    digest = sha256()
    for column in columns:
        texts = [str(name) for name in column]
        safe = {text: defuse_cell(text) for text in set(texts)}  # as files hold them
        digest.update(_join_names([safe[text] for text in texts]))
    return digest.hexdigest()


def _join_names(names: Any) -> bytes:
    return json.dumps([str(name) for name in names]).encode()


class Plan(NamedTuple):
    """How many random answers certify how many items, by what the model expects."""

    answers: int
    certified: float  # share of the items; low, high: if the labels are less or more right
    low: float
    high: float
    above: float  # draw from the items whose label has at least this probability


def plan_certification(
    model: Any,
    votes: Any,
    error: float = 0.05,
    confidence: float = 0.95,
    *,
    looks: Looks = "any",
) -> list[Plan]:
    """Return what different numbers of random gold labels would certify, before any is given.

    The last row has the number after which more answers add little. Nothing here is guaranteed: it
    rests on the model's probabilities, and on the interval of its expected accuracy.

    Examples
    --------
    >>> import unelisa as ue
    >>> votes = ue.simulate_votes(random_state=0).votes
    >>> plan = plan_certification(ue.LatentIsing().fit(votes), votes)
    >>> plan[-1].certified > 0.5
    True
    """
    _check_request(error, confidence, "file", "wrong", "random")
    scored = score_items(model, votes)
    above, factors, once = _find_frame(scored, error), _find_factors(model), looks == "once"
    own = scored.sure >= above
    rows = []
    for answers in [n for n in ANSWERS if n <= max(own.sum(), ANSWERS[0])]:
        shares = [
            _expect(scored.sure[own], answers, x, error, 1 - confidence, once=once) for x in factors
        ]
        middle, low, high = (float(share * own.mean()) for share in shares)
        rows.append(Plan(answers, middle, min(low, middle), max(high, middle), above))
    most = max(row.certified for row in rows)
    enough = next(k for k, row in enumerate(rows) if row.certified >= NEARLY_ALL * most)
    return rows[: enough + 1]


def _find_frame(scored: Scored, error: float) -> float:
    """Return the probability from which items may be certified: less sure ones are not drawn."""
    sure = np.sort(scored.sure)[::-1]
    expected = np.cumsum(1 - sure) / np.arange(1, len(sure) + 1)
    fine = np.flatnonzero(expected <= NEAR * error)
    return float(sure[fine[-1]]) if len(fine) else float(np.quantile(sure, 0.75))


def _find_factors(model: Any) -> tuple[float, float, float]:
    """Return factors of the expected share of wrong labels: 1, the most and the least."""
    expected = getattr(model, "expected_accuracy_", None)
    interval = getattr(model, "expected_accuracy_interval_", None)
    if expected is None or interval is None or expected >= 1:
        return 1.0, 2.0, 0.5
    most, least = ((1 - end) / (1 - expected) for end in interval)
    return 1.0, most, least


def _expect(
    sure: Floats, answers: int, factor: float, error: float, alpha: float, *, once: bool
) -> float:
    """Return the share of the items that answers certify if `factor` times as many are wrong."""
    drawn = np.full(len(sure), answers / len(sure))
    wrong = drawn * np.minimum(factor * (1 - sure), 1)
    found = choose_set(
        Evidence(sure, drawn, [(1.0, wrong)], float(answers)), error, alpha, once=once
    )
    return float(np.mean(sure >= found))


def check_labels(certificate: Mapping[str, Any], items: Any, labels: Any, status: Any) -> bool:
    """Return whether labels are those that a certificate was given for."""
    return bool(certificate.get("labels_sha256") == hash_columns(items, labels, status))
