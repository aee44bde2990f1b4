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
from unelisa.errors import ModelError
from unelisa.estimator import check_level, check_settings, is_number
from unelisa.outputs import defuse_cell
from unelisa.sources.labels import DRAWN

Floats = NDArray[np.float64]
Looks = Literal["any", "once"]

ROUNDING = 9  # digits of probabilities that make items differ
ANSWERS = (30, 50, 75, 100, 150, 200, 300, 400, 600, 800, 1200, 1600, 2400, 3200)
NEARLY_ALL = 0.95  # of what many answers would certify
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
    """How items were drawn: in random order from those whose label has at least a probability."""

    seed: int
    above: float
    share: float  # of the items that are to be certified together; 0: as many as possible
    check: str  # of all this, and of the items in the order of the draw

    @classmethod
    def read(cls, text: str) -> "Design":
        """Return the design that a text describes, or raise `ModelError`."""
        try:
            named = dict(part.split("=") for part in str(text).split()[1:])
            found = cls(
                int(named["seed"]), float(named["above"]), float(named["share"]), named["check"]
            )
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
        return f"{DRAWN} seed={self.seed} above={above!r} share={share!r}"

    def __str__(self) -> str:
        return f"{self.terms} check={self.check}"

    def order(self, scored: Scored) -> NDArray[np.intp]:
        """Return the items in the order of the draw."""
        frame = np.flatnonzero(scored.sure >= self.above)
        return np.random.default_rng(self.seed).permutation(frame)

    def verify(self, scored: Scored) -> NDArray[np.intp]:
        """Return the items in the order of the draw, or raise `ModelError`: it is another one."""
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


def mark_unanswered(truth: NDArray[np.intp], order: NDArray[np.intp]) -> NDArray[np.intp]:
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
    model: Any,
    votes: Any,
    error: float = 0.05,
    *,
    loss: Loss = "wrong",
    share: float | None = None,
    seed: int = 0,
) -> Drawn:
    """Return the items to answer for a certificate, in the order in which to answer them.

    They are drawn at random from the items that can be certified by the model's probabilities: the
    surest `share` of all items, which are then certified together, or as many as may be within
    `error`. Answer them from the first on, and stop at any time.

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
    design = Design(seed, find_frame_limit(scored, error, share, loss), share or 0.0, "")
    order = design.order(scored)
    design = design._replace(check=_hash_draw(scored, order, design.terms))
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
) -> list[Plan]:
    """Return what different numbers of random gold labels would certify, before any is given.

    After the number in the last row more answers add little. Nothing here is guaranteed: it rests
    on the model's probabilities. To certify only a `share` of the items takes fewer answers.

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
    above, factors = find_frame_limit(scored, error, share, loss), _find_factors(model)
    once, whole = looks == "once", share is not None
    asked = Asked(error, confidence, "file", loss, above, once, whole)
    own = np.flatnonzero(scored.sure >= above)
    own = own[np.argsort(-scored.sure[own], kind="stable")]
    tails = None if scored.tails is None else scored.tails[own]
    frame = scored._replace(label=scored.label[own], sure=scored.sure[own], tails=tails)
    part = len(own) / len(scored.sure)
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
    if share is not None:
        if not is_number(share, Real, 0) or not 0 < share <= 1:
            raise ModelError(f"share must be above 0 and at most 1, found {share!r}")
        return float(sure[int(np.ceil(share * len(sure))) - 1])
    expected = np.cumsum(expect_loss(scored, loss)[order]) / np.arange(1, len(sure) + 1)
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
    drawn = np.full(len(frame.sure), answers / len(frame.sure))
    kinds = list_kinds(asked.loss, len(frame.classes))
    losses = [(weight, drawn * np.minimum(factor * frame.expect(d), 1)) for weight, d in kinds]
    expected = expect_loss(frame, asked.loss)
    evidence = Evidence(frame.sure, drawn, losses, float(answers), expected)
    found = choose_set(evidence, asked, 1 - asked.confidence)
    return float(np.mean(frame.sure >= found))


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
