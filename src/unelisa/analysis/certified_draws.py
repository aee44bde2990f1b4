"""Which items to answer for a certificate, and how many answers it takes.

The design of the draw is recorded with the answers. From it `certify` draws again and verifies that
these items were drawn and answered in this order.
"""

import json
from hashlib import sha256
from numbers import Real
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators.base import Aggregator, pick_classes
from unelisa.aggregators.known import spell_keys
from unelisa.analysis.certified_sets import (
    NEAR,
    NOT_DRAWN,
    UNANSWERED,
    Asked,
    Evidence,
    Loss,
    Scored,
    choose_set,
    expect_loss,
    list_kinds,
)
from unelisa.analysis.error_bounds import TINY
from unelisa.errors import ModelError, VotesError
from unelisa.estimator import check_level, check_settings, is_number
from unelisa.outputs import defuse_cell
from unelisa.sources.labels import DRAWN
from unelisa.votes import Votes
from unelisa.votes.columns import is_missing, spell_name

Floats = NDArray[np.float64]
Looks = Literal["any", "once"]

ROUNDING = 9  # digits of probabilities that make items differ
ANSWERS = (30, 50, 75, 100, 150, 200, 300, 400, 600, 800, 1200, 1600, 2400, 3200)
NEARLY_ALL = 0.95  # of what many answers would certify
DRAWS = 50_000  # with weights, of the same items again and again
CHECKED, CHECK_DIGITS = 1000, 16  # items in the checksum of a draw, and its digits


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
    tails, n_classes = None, table.n_classes
    if table.ordered and n_classes > 2:
        distance = np.abs(np.arange(n_classes) - label[:, None])
        parts = [(chances * (distance >= d)).sum(axis=1) for d in range(1, n_classes)]
        tails = np.stack(parts, axis=1)
    return Scored(table, label, sure, model.classes_, tails)


def read_weights(weights: Any, votes: Votes) -> Floats | None:
    """Return the weight of each item, 1 in the mean, from weights by item or in their order."""
    if weights is None:
        return None
    given = weights
    if hasattr(weights, "items"):
        given = list_by_item(spell_keys(weights, "weights"), votes, "weights")
    try:
        found = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.full(votes.n_items, np.nan)
    if found.shape != (votes.n_items,) or not (np.isfinite(found) & (found >= 0)).all():
        raise VotesError("weights must hold a number of at least 0 for each item")
    if not found.any():
        raise VotesError("weights are all 0; give those that matter a weight")
    return np.asarray(found / found.max() / np.mean(found / found.max()))


def list_by_item(named: dict[str, Any], votes: Votes, whose: str) -> list[Any]:
    """Return the value of each item, or raise `VotesError` where it has none."""
    spelled = [spell_name(item) for item in votes.items.tolist()]
    if missing := sum(is_missing(named.get(name)) for name in spelled):
        raise VotesError(f"{whose} has no value for {missing:,} of the {len(spelled):,} items")
    return [named[name] for name in spelled]


def check_loss(loss: str, scored: Scored) -> None:
    """Refuse a loss that the classes do not have."""
    if loss != "wrong" and scored.tails is None:
        raise ModelError(
            f"loss {loss!r} needs more than two ordered classes; declare their order, with order= "
            "or --order"
        )


def check_choice(name: str, value: Any, kind: Any) -> None:
    """Raise `ModelError` unless a value is one of a literal type."""
    *others, last = get_args(kind)
    if value not in get_args(kind):
        raise ModelError(f"{name} must be {', '.join(others)} or {last}, found {value!r}")


def check_promise(error: float, confidence: float, loss: str = "wrong") -> None:
    """Refuse an error or a confidence that cannot be promised."""
    check_level(confidence, "confidence")
    check_choice("loss", loss, Loss)
    if not is_number(error, Real, 0) or not error:
        raise ModelError(f"error must be a positive number, for example .05, found {error!r}")
    if loss != "squared" and error >= 1:
        raise ModelError(f"error is a share below 1, for example .05, found {error!r}")


class Design(NamedTuple):
    """How items were drawn: in random order from those whose label has at least a probability.

    With weights each draw is of all of them, with chances that are proportional to their weights.
    """

    seed: int
    above: float
    share: float  # of the items that are to be certified together; 0: as many as possible
    check: str  # of all this, and of the items in the order of the draw
    weights: str = ""  # checksum of the weights, if there are any

    @classmethod
    def read(cls, text: str) -> "Design":
        """Return the design that a text describes, or raise `ModelError`."""
        try:
            named = dict(part.split("=") for part in str(text).split()[1:])
            seed, above, share = int(named["seed"]), float(named["above"]), float(named["share"])
            found = cls(seed, above, share, named["check"], named.get("weights", ""))
        except (KeyError, ValueError):
            found = None
        if found is None or found.seed < 0 or str(found) != text:
            raise ModelError(
                "drawn must be random, by-hand or the design that draw_gold returned, found "
                f"{str(text)[:80]!r}"
            )
        return found

    @property
    def terms(self) -> str:
        """What was decided before the draw."""
        above, share = float(self.above), float(self.share)
        weights = f" weights={self.weights}" if self.weights else ""
        return f"{DRAWN} seed={self.seed} above={above!r} share={share!r}{weights}"

    def __str__(self) -> str:
        return f"{self.terms} check={self.check}"

    def order(self, scored: Scored) -> NDArray[np.intp]:
        """Return the items in the order of the draw; with weights, again and again."""
        frame, rng = np.flatnonzero(scored.sure >= self.above), np.random.default_rng(self.seed)
        if scored.weights is None:
            return rng.permutation(frame)
        sums = np.cumsum(scored.weights[frame])
        if not sums[-1]:
            raise ModelError("the items that can be certified have no weight; allow a larger error")
        places = np.searchsorted(sums, rng.random(DRAWS) * sums[-1], "right")
        return np.asarray(frame[np.minimum(places, len(frame) - 1)])

    def verify(self, scored: Scored) -> NDArray[np.intp]:
        """Return the items in the order of the draw, or raise `ModelError`: it is another one."""
        if self.weights != hash_weights(scored.weights):
            raise ModelError(
                "the gold labels were drawn with other weights: certify with those of the draw"
            )
        order = self.order(scored)
        # version 0.3 did not include the terms
        if self.check not in (_hash_draw(scored, order, self.terms), _hash_draw(scored, order)):
            raise ModelError(
                "the gold labels were drawn with another model, from other votes or by another "
                "design: certify with those of the draw, or draw again"
            )
        return order


def _hash_draw(scored: Scored, order: NDArray[np.intp], *terms: str) -> str:
    names = [*terms, len(order), *np.asarray(scored.votes.items)[order[:CHECKED]].tolist()]
    return sha256(join_names(names)).hexdigest()[:CHECK_DIGITS]


def hash_weights(weights: Floats | None) -> str:
    """Return a checksum of weights, empty if there are none."""
    if weights is None:
        return ""
    return sha256(join_names([f"{x:.6g}" for x in weights.tolist()])).hexdigest()[:CHECK_DIGITS]


def list_distinct(order: NDArray[np.intp], weighted: bool) -> NDArray[np.intp]:
    """Return at which draw each item comes for the first time."""
    return np.sort(np.unique(order, return_index=True)[1]) if weighted else np.arange(len(order))


def mark_unanswered(
    truth: NDArray[np.intp], order: NDArray[np.intp], weighted: bool = False
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the truth with the items drawn before the last answer that have none, and all draws.

    Draws of items that were answered before count too, up to the first of an item after the last
    answer.
    """
    inside = np.zeros(len(truth), dtype=np.bool_)
    inside[order] = True
    if strangers := int(np.count_nonzero((truth >= 0) & ~inside)):
        raise ModelError(
            f"{strangers} gold labels are of items outside the draw; keep only those that were "
            "drawn"
        )
    first = list_distinct(order, weighted)
    last = np.flatnonzero(truth[order[first]] >= 0)[-1]
    drawn = order[: first[last + 1] if last + 1 < len(first) else None]
    marked = truth.copy()
    marked[drawn[truth[drawn] == NOT_DRAWN]] = UNANSWERED
    return marked, np.bincount(drawn, minlength=len(truth))


class Drawn(NamedTuple):
    """Items to answer, in random order, and the design for `certify`."""

    items: NDArray[Any]  # their names
    places: NDArray[np.intp]  # and their places among the items of the votes
    design: str


def draw_gold(  # noqa: PLR0913 - a public signature
    model: Any,
    votes: Any,
    error: float = 0.05,
    *,
    loss: Loss = "wrong",
    share: float | None = None,
    seed: int = 0,
    weights: Any = None,
) -> Drawn:
    """Return the items to answer for a certificate, in the order in which to answer them.

    They are drawn at random from the items that can be certified by the model's probabilities: the
    surest `share` of all items, which are then certified together, or as many as may be within
    `error`. Answer them from the first on, and stop at any time. With `weights` (see `certify`),
    chances are proportional to them and `share` is a share of their sum.

    Examples
    --------
    >>> import unelisa as ue
    >>> sample = ue.simulate_votes(random_state=0)
    >>> model = ue.LatentIsing().fit(sample.votes)
    >>> drawn = ue.draw_gold(model, sample.votes, share=0.5)
    >>> first = {item: sample.truth[int(item)] for item in drawn.items[:80].tolist()}
    >>> str(ue.certify(model, sample.votes, first, drawn=drawn.design))[:41]
    'with 95% confidence, at most 5% wrong lab'
    """
    check_promise(error, 0.95, loss)
    check_settings({"seed": seed})
    scored = score_items(model, votes)
    check_loss(loss, scored)
    scored = scored._replace(weights=read_weights(weights, scored.votes))
    above, given = find_frame_limit(scored, error, share, loss), hash_weights(scored.weights)
    design = Design(seed, above, share or 0.0, "", given)
    order = design.order(scored)
    design = design._replace(check=_hash_draw(scored, order, design.terms))
    order = order[list_distinct(order, scored.weights is not None)]
    return Drawn(np.asarray(scored.votes.items)[order], order, str(design))


class Plan(NamedTuple):
    """How many random answers certify how many items, by what the model expects."""

    answers: int
    certified: float  # share of the items; low, high: if the labels are less or more right
    low: float
    high: float
    above: float  # `draw_gold` draws from the items whose label has at least this probability


def plan_certification(  # noqa: PLR0913 - a public signature
    model: Any,
    votes: Any,
    error: float = 0.05,
    confidence: float = 0.95,
    *,
    loss: Loss = "wrong",
    looks: Looks = "any",
    share: float | None = None,
    weights: Any = None,
) -> list[Plan]:
    """Return what different numbers of random gold labels would certify, before any is given.

    After the number in the last row more answers add little. Nothing here is guaranteed: it rests
    on the model's probabilities. To certify only a `share` of the items takes fewer answers. With
    `weights`, shares are of their sum.

    Examples
    --------
    >>> import unelisa as ue
    >>> votes = ue.simulate_votes(random_state=0).votes
    >>> plan = ue.plan_certification(ue.LatentIsing().fit(votes), votes)
    >>> plan[-1].certified > 0.5
    True
    """
    check_promise(error, confidence, loss)
    check_choice("looks", looks, Looks)
    scored = score_items(model, votes)
    check_loss(loss, scored)
    scored = scored._replace(weights=read_weights(weights, scored.votes))
    above, factors = find_frame_limit(scored, error, share, loss), _find_factors(model)
    once, whole = looks == "once", share is not None
    asked = Asked(error, confidence, "file", loss, above, once, whole)
    own = np.flatnonzero(scored.sure >= above)
    own = own[np.argsort(-scored.sure[own], kind="stable")]
    tails, weight = (None if x is None else x[own] for x in (scored.tails, scored.weights))
    frame = scored._replace(label=scored.label[own], sure=scored.sure[own], tails=tails)
    frame = frame._replace(weights=weight)
    part = (len(own) if weight is None else weight.sum()) / len(scored.sure)
    rows = []
    for answers in [n for n in ANSWERS if n <= max(len(own), ANSWERS[0])]:
        shares = [_expect(frame, answers, x, asked) for x in factors]
        middle, low, high = (float(share * part) for share in shares)
        rows.append(Plan(answers, middle, min(low, middle), max(high, middle), above))
    most = max(row.certified for row in rows)
    enough = next(k for k, row in enumerate(rows) if row.certified >= NEARLY_ALL * most)
    return rows[: enough + 1] if most else rows


def find_frame_limit(
    scored: Scored, error: float, share: float | None, loss: Loss = "wrong"
) -> float:
    """Return the probability from which items may be certified: less sure ones are not drawn."""
    order = np.argsort(-scored.sure, kind="stable")
    sure = scored.sure[order]
    weight = np.ones(len(sure)) if scored.weights is None else scored.weights[order]
    total = np.cumsum(weight)
    if share is not None:
        if not is_number(share, Real, 0) or not 0 < share <= 1:
            raise ModelError(f"share must be above 0 and at most 1, found {share!r}")
        wanted = np.ceil(share * len(sure)) if scored.weights is None else share * total[-1]
        return float(sure[np.searchsorted(total, wanted)])
    expected = np.cumsum(weight * expect_loss(scored, loss)[order]) / np.maximum(total, TINY)
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


def _expect(frame: Scored, answers: int, factor: float, asked: Asked) -> float:
    """Return the share of the items that answers certify if `factor` times as many are wrong."""
    n = len(frame.sure)
    weight = np.ones(n) if frame.weights is None else frame.weights
    drawn = answers * weight / weight.sum()
    kinds = list_kinds(asked.loss, len(frame.classes))
    losses = [(weight, drawn * np.minimum(factor * frame.expect(d), 1)) for weight, d in kinds]
    expected = expect_loss(frame, asked.loss)
    given = float(answers if frame.weights is None else weight @ np.minimum(drawn, 1))
    evidence = Evidence(frame.sure, drawn, losses, given, expected, frame.weights)
    found = choose_set(evidence, asked, 1 - asked.confidence)
    return float(np.average(frame.sure >= found, weights=weight))


def hash_columns(*columns: Any) -> str:
    """Return the SHA-256 of columns of names."""
    digest = sha256()
    for column in columns:
        texts = list(map(str, np.asarray(column, dtype=object).tolist()))
        if not "".join(texts).isalnum():  # as files hold them
            safe = {text: str(defuse_cell(text)) for text in dict.fromkeys(texts)}
            texts = [safe[text] for text in texts]
        digest.update(json.dumps(texts).encode())
    return digest.hexdigest()


def join_names(names: Any) -> bytes:
    """Return names as bytes to be hashed."""
    return json.dumps(list(map(str, np.asarray(names, dtype=object).tolist()))).encode()
