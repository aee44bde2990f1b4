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
    NOT_DRAWN,
    UNANSWERED,
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
from unelisa.sources.labels import DRAWN
from unelisa.votes import Votes
from unelisa.votes.ballots import list_ballots, take_ballots

Floats = NDArray[np.float64]
Looks = Literal["any", "once"]

ROUNDING = 9  # digits of probabilities that tell items apart
ANSWERS = (30, 50, 75, 100, 150, 200, 300, 400, 600, 800, 1200, 1600, 2400, 3200)
NEARLY_ALL = 0.95  # of what many answers would certify
CERTIFIED, GOLD, LOOK = "certified", "gold", "look"
BY_HAND = "by-hand"
CHECKED, CHECK_DIGITS = 1000, 16  # items in the checksum of a draw, and its digits


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
        "random": all items had the same chance to be drawn. Or the design of `draw_gold`, which
        the file of a review records: it is verified, only items of its frame can be certified, and
        items that were drawn but not answered count as wrong. Gold labels chosen "by-hand" are
        refused, because nothing follows from them for other items.

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
    asked, design = Asked(error, confidence, per, loss, 0.0, looks == "once"), None
    if drawn != "random":
        design = Design.read(drawn)
        truth = _mark_unanswered(truth, design.verify(scored))
        asked = asked._replace(above=design.above, whole=design.share > 0)
    return _state(scored, truth, choose_sets(scored, truth, asked), asked, design)


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
    if drawn == BY_HAND:
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


class Design(NamedTuple):
    """How items were drawn: in random order from those whose label has at least a probability."""

    seed: int
    above: float
    share: float  # of the items that are to be certified together; 0: as many as possible
    check: str  # of the items in the order of the draw

    @classmethod
    def read(cls, text: str) -> "Design":
        """Return the design that a text describes, or raise `ModelError`."""
        try:
            kind, *parts = text.split()
            named = dict(part.split("=") for part in parts)
            found = cls(
                int(named["seed"]), float(named["above"]), float(named["share"]), named["check"]
            )
        except (KeyError, ValueError):
            kind, found = "", None
        if kind != DRAWN or found is None or str(found) != text:
            raise ModelError(
                "drawn must be random, by-hand or the design that draw_gold returned, found "
                f"{text[:80]!r}"
            )
        return found

    def __str__(self) -> str:
        above, share = float(self.above), float(self.share)
        return f"{DRAWN} seed={self.seed} above={above!r} share={share!r} check={self.check}"

    def order(self, scored: Scored) -> NDArray[np.intp]:
        """Return the items in the order of the draw."""
        frame = np.flatnonzero(scored.sure >= self.above)
        return np.random.default_rng(self.seed).permutation(frame)

    def verify(self, scored: Scored) -> NDArray[np.intp]:
        """Return the items in the order of the draw, or raise `ModelError`: it is another one."""
        order = self.order(scored)
        if _check_order(scored, order) != self.check:
            raise ModelError(
                "the gold labels were drawn with another model or from other votes: certify with "
                "those of the draw, or draw again"
            )
        return order


def _check_order(scored: Scored, order: NDArray[np.intp]) -> str:
    names = [len(order), *np.asarray(scored.votes.items)[order[:CHECKED]].tolist()]
    return sha256(_join_names(names)).hexdigest()[:CHECK_DIGITS]


def _mark_unanswered(truth: NDArray[np.intp], order: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the truth with the items that were drawn before the last answer and have none."""
    inside = np.zeros(len(truth), dtype=np.bool_)
    inside[order] = True
    if strangers := int(np.count_nonzero((truth >= 0) & ~inside)):
        raise ModelError(
            f"{strangers} gold labels are of items outside the draw; keep only those that were "
            "drawn"
        )
    drawn = order[: np.flatnonzero(truth[order] >= 0)[-1] + 1]
    marked = truth.copy()
    marked[drawn[truth[drawn] == NOT_DRAWN]] = UNANSWERED
    return marked


class Drawn(NamedTuple):
    """Items to answer, in random order, and the design for `certify`."""

    items: NDArray[Any]  # their names
    places: NDArray[np.intp]  # and their places among the items of the votes
    design: str


def draw_gold(
    model: Any, votes: Any, error: float = 0.05, *, share: float | None = None, seed: int = 0
) -> Drawn:
    """Return the items to answer for a certificate, in the order in which to answer them.

    They are drawn at random from the items that the model's probabilities allow to certify: those
    of the surest labels that make up `share` of all items, which are then certified together, or
    as many as may be within `error`. Answer them from the first on, and stop at any time.

    Examples
    --------
    >>> import unelisa as ue
    >>> sample = ue.simulate_votes(random_state=0)
    >>> model = ue.LatentIsing().fit(sample.votes)
    >>> drawn = draw_gold(model, sample.votes, share=0.5)
    >>> first = {item: sample.truth[int(item)] for item in drawn.items[:80].tolist()}
    >>> str(ue.certify(model, sample.votes, first, drawn=drawn.design))[:41]
    'with 95% confidence, at most 5% wrong lab'
    """
    _check_request(error, 0.95, "file", "wrong", "random")
    scored = score_items(model, votes)
    design = Design(seed, _find_frame(scored, error, share), share or 0.0, "")
    order = design.order(scored)
    design = design._replace(check=_check_order(scored, order))
    return Drawn(np.asarray(scored.votes.items)[order], order, str(design))


def _state(
    scored: Scored,
    truth: NDArray[np.intp],
    choices: list[Choice],
    asked: Asked,
    design: Design | None,
) -> Guarantee:
    """Return the labels with their status, and the certificate."""
    import pandas as pd  # noqa: PLC0415 - a third of a second that only tables need

    gold = truth >= 0
    limits = np.array([choice.threshold for choice in choices])
    limit = limits[scored.label] if asked.per == "class" else limits[0]
    certified = (truth == NOT_DRAWN) & (scored.sure >= np.maximum(limit, asked.above))
    status = np.where(gold, GOLD, np.where(certified, CERTIFIED, LOOK))
    label = np.where(gold, truth, scored.label)
    columns = {
        "item": list(scored.votes.items),
        "label": scored.classes[label],
        "probability": np.where(gold, 1.0, scored.sure),
        "status": status,
    }
    counts = {name: int(np.count_nonzero(status == name)) for name in (CERTIFIED, GOLD, LOOK)}
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
        "n_drawn": int(np.count_nonzero(truth != NOT_DRAWN)),
        "n_wrong": int(np.count_nonzero(gold & (truth != scored.label))),
        "n_unanswered": int(np.count_nonzero(truth == UNANSWERED)),
        "drawn": str(design or "random"),
        "seed": None if design is None else design.seed,
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
    above: float  # `draw_gold` draws from the items whose label has at least this probability


def plan_certification(
    model: Any,
    votes: Any,
    error: float = 0.05,
    confidence: float = 0.95,
    *,
    looks: Looks = "any",
    share: float | None = None,
) -> list[Plan]:
    """Return what different numbers of random gold labels would certify, before any is given.

    The last row has the number after which more answers add little. Nothing here is guaranteed: it
    rests on the model's probabilities, and on the interval of its expected accuracy. With `share`,
    only so many of the items are to be certified, which takes fewer answers.

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
    above, factors = _find_frame(scored, error, share), _find_factors(model)
    once, whole = looks == "once", share is not None
    asked = Asked(error, confidence, "file", "wrong", above, once, whole)
    own = scored.sure >= above
    rows = []
    for answers in [n for n in ANSWERS if n <= max(own.sum(), ANSWERS[0])]:
        shares = [_expect(scored.sure[own], answers, x, asked) for x in factors]
        middle, low, high = (float(share * own.mean()) for share in shares)
        rows.append(Plan(answers, middle, min(low, middle), max(high, middle), above))
    most = max(row.certified for row in rows)
    enough = next(k for k, row in enumerate(rows) if row.certified >= NEARLY_ALL * most)
    return rows[: enough + 1]


def _find_frame(scored: Scored, error: float, share: float | None) -> float:
    """Return the probability from which items may be certified: less sure ones are not drawn."""
    sure = np.sort(scored.sure)[::-1]
    if share is not None:
        if not 0 < share <= 1:
            raise ModelError(f"share must be above 0 and at most 1, found {share!r}")
        return float(sure[int(np.ceil(share * len(sure))) - 1])
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


def _expect(sure: Floats, answers: int, factor: float, asked: Asked) -> float:
    """Return the share of the items that answers certify if `factor` times as many are wrong."""
    drawn = np.full(len(sure), answers / len(sure))
    wrong = drawn * np.minimum(factor * (1 - sure), 1)
    evidence = Evidence(sure, drawn, [(1.0, wrong)], float(answers))
    found = choose_set(evidence, asked, 1 - asked.confidence)
    return float(np.mean(sure >= found))


def check_labels(certificate: Mapping[str, Any], items: Any, labels: Any, status: Any) -> bool:
    """Return whether labels are those that a certificate was given for."""
    return bool(certificate.get("labels_sha256") == hash_columns(items, labels, status))
