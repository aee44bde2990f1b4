"""Certificates: labels that can be given automatically with at most so many errors."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators.known import number_codes, spell_keys
from unelisa.analysis.certified_draws import (
    Design,
    Looks,
    check_choice,
    check_loss,
    check_promise,
    hash_columns,
    hash_weights,
    join_names,
    list_by_item,
    mark_unanswered,
    read_weights,
    score_items,
)
from unelisa.analysis.certified_sets import (
    NOT_DRAWN,
    UNANSWERED,
    Asked,
    Floats,
    Loss,
    Per,
    Scored,
    choose_sets,
)
from unelisa.analysis.rate import count_forgotten, read_sample
from unelisa.errors import ModelError, VotesError
from unelisa.votes import Votes
from unelisa.votes.ballots import list_ballots, take_ballots
from unelisa.votes.columns import spell_name

CERTIFIED, GOLD, LOOK = "certified", "gold", "look"
BY_HAND = "by-hand"
MOST_STRATA = 20


@dataclass(frozen=True, eq=False)
class Guarantee:
    """Labels and what is guaranteed of them.

    `labels` is a table with the columns item, label, probability and status: "certified" (given
    automatically), "gold" (its gold label) or "look" (not covered: a person should look at it).
    `certificate` is everything that the guarantee rests on, as a dict that JSON can hold.
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
    weights: Any = None,
    strata: Any = None,
) -> Guarantee:
    """Return the labels that can be given automatically with at most so many errors.

    Parameters
    ----------
    model, votes
        A fitted aggregator with `predict_proba`, and the votes on the items to label.
    gold
        True labels of items **drawn at random**, without part in the fit: a dict or pandas Series
        from item to label, or one label per item, missing where unknown.
    error, confidence
        The share of wrong labels exceeds `error` with chance 1 - `confidence` at most.
    per
        The share is of all certified and gold labels, the latter counted as right ("file"), of the
        certified labels only ("automatic"), or of the labels of each class ("class").
    loss
        "wrong": a label other than the true one; of ordered classes also "far", off by more than
        one class, and "squared", the mean squared difference in classes.
    looks
        "any": gold labels may be added until the guarantee is given. "once": their number was
        decided before the first look; then more is certified.
    drawn
        "random": all items had the same chance to be drawn. Or the design of `draw_gold`: it is
        verified, only items of its frame can be certified, and unanswered items count as wrong.
        Labels chosen "by-hand" are refused: nothing follows from them for other items.
    weights
        What each item counts, such as its value: a dict or pandas Series by item, or one number per
        item. Shares are then of the sum of weights. The items must be drawn by weight, with
        `draw_gold(..., weights=weights)`, with replacement: each draw is wrong with a chance that
        is the share of wrong labels by weight, so that the binomial bound at all looks holds
        whatever the weights are and whichever items are wrong. `looks` has no effect.
    strata
        The stratum of each item, a dict or pandas Series, if chances differed: items were drawn
        with equal chances within each stratum. The bound is over all strata together, at all looks.

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
    check_promise(error, confidence, loss)
    check_choice("per", per, Per)
    check_choice("looks", looks, Looks)
    _check_drawn(drawn, weights, strata)
    scored = score_items(model, votes)
    check_loss(loss, scored)
    codes = read_sample(gold, scored.votes)
    refuse_fitted(model, scored.votes, codes)
    truth = number_codes(codes, scored.votes.n_classes)
    plain = weights is None and strata is None
    asked, design = Asked(error, confidence, per, loss, 0.0, looks == "once" and plain), None
    scored = scored._replace(
        weights=read_weights(weights, scored.votes), strata=_read_strata(strata, scored.votes)
    )
    times = None
    if drawn != "random":
        design = Design.read(drawn)
        truth, times = mark_unanswered(truth, design.verify(scored), weights is not None)
        asked = asked._replace(above=design.above, whole=design.share > 0)
    chosen = choose_sets(scored, truth, asked, None if weights is None else times)
    return _state(scored, truth, chosen, asked, design)


def _check_drawn(drawn: str, weights: Any, strata: Any) -> None:
    if drawn == BY_HAND:
        raise ModelError(
            "gold labels that were chosen by hand say nothing about the other items, so no "
            "guarantee follows from them; draw items at random, with `unelisa review --aim certify`"
        )
    if drawn == "random" and weights is not None:
        raise ModelError(
            "weights need gold labels that were drawn by weight: draw them with draw_gold(..., "
            "weights=...) or `unelisa certify --draw --weights`"
        )
    if drawn != "random" and strata is not None:
        raise ModelError(
            "strata are of gold labels with equal chances within each: omit them for items that "
            "draw_gold has drawn"
        )


def _read_strata(strata: Any, votes: Votes) -> NDArray[np.intp] | None:
    """Return the number of each item's stratum."""
    if strata is None:
        return None
    named = list_by_item(spell_keys(strata, "strata"), votes, "strata")
    names, found = np.unique(list(map(spell_name, named)), return_inverse=True)
    if len(names) > MOST_STRATA:
        raise VotesError(f"there are {len(names):,} strata; join them to {MOST_STRATA} at most")
    return np.asarray(found, dtype=np.intp)


def refuse_fitted(model: Any, votes: Votes, codes: NDArray[np.int8]) -> None:
    """Refuse gold labels that the model was fitted to, or may have been."""
    if known := count_forgotten(model, votes, codes):
        raise ModelError(
            f"the model was fitted to {known} gold labels that it no longer names, and these may "
            "be among them: fit it without gold labels"
        )


def _state(
    scored: Scored,
    truth: NDArray[np.intp],
    chosen: tuple[Floats, Floats],
    asked: Asked,
    design: Design | None,
) -> Guarantee:
    import pandas as pd  # noqa: PLC0415 - a third of a second that only tables need

    gold, (limits, reached) = truth >= 0, chosen
    limit = limits[scored.label] if asked.per == "class" else limits[0]
    certified = (truth == NOT_DRAWN) & (scored.sure >= np.maximum(limit, asked.above))
    state = np.where(gold, 2, certified.astype(np.intp))
    n_look, n_certified, n_gold = np.bincount(state, minlength=3).tolist()
    columns = {
        "item": scored.votes.items.tolist(),
        "label": scored.classes[np.where(gold, truth, scored.label)],
        "probability": np.where(gold, 1.0, scored.sure),
        "status": np.array([LOOK, CERTIFIED, GOLD], dtype=object)[state],
    }
    facts = {
        **{name: getattr(asked, name) for name in ("error", "confidence", "per", "loss")},
        "looks": "once" if asked.once else "any",
        "n_items": len(gold),
        "n_certified": n_certified,
        "n_gold": n_gold,
        "n_look": n_look,
        "n_drawn": int(np.count_nonzero(truth != NOT_DRAWN)),
        "n_wrong": int(np.count_nonzero(gold & (truth != scored.label))),
        "n_unanswered": int(np.count_nonzero(truth == UNANSWERED)),
        **_describe_weights(scored, certified),
        "drawn": str(design or "random"),
        "seed": None if design is None else design.seed,
        "drawn_above": None if design is None else design.above,
        "thresholds": [None if np.isinf(x) else float(x) for x in limits],
        "certifiable_error": None,
        "votes_sha256": hash_votes(scored.votes),
        "gold_sha256": hash_columns(scored.votes.items[gold], scored.classes[truth[gold]]),
        "labels_sha256": hash_columns(*(columns[name] for name in ("item", "label", "status"))),
    }
    if not n_certified and np.isfinite(reached).any():
        most = np.inf if asked.loss == "squared" else 1.0
        facts["certifiable_error"] = round(min(float(np.nanmax(reached)), most), 4)
    facts["guarantee"] = _put_into_words(facts)
    table = pd.DataFrame(columns)
    return Guarantee(table, n_certified, n_gold, asked.error, asked.confidence, facts)


def _describe_weights(scored: Scored, certified: NDArray[np.bool_]) -> dict[str, Any]:
    weights, strata = scored.weights, scored.strata
    share = None if weights is None else round(float(weights[certified].sum() / weights.sum()), 4)
    return {
        "certified_weight": share,
        "weights_sha256": hash_weights(weights) or None,
        "n_strata": None if strata is None else int(strata.max()) + 1,
        "strata_sha256": None if strata is None else hash_columns(strata),
    }


_WHAT = {
    "wrong": "at most {} wrong labels",
    "far": "at most {} labels off by more than one class",
    "squared": "a mean squared difference of at most {} from the true class",
}
_OF = {
    "file": "certified and gold labels",
    "automatic": "certified labels",
    "class": "certified and gold labels of each class",
}


def _put_into_words(facts: dict[str, Any]) -> str:
    scale, unit = (1, "") if facts["loss"] == "squared" else (100, "%")
    share = f"{scale * facts['error']:g}{unit}"
    answers = f"{facts['n_drawn']:,} random answers"
    if facts["n_unanswered"]:
        answers += f" ({facts['n_unanswered']:,} of them missing, which count as wrong)"
    if not facts["n_certified"]:
        reach = facts["certifiable_error"]
        other = "" if reach is None else f"; {scale * reach:.2g}{unit} can be certified"
        return f"an error of {share} is out of reach with {answers}{other}"
    many = facts["n_certified"] + (0 if facts["per"] == "automatic" else facts["n_gold"])
    weighed = "" if facts["certified_weight"] is None else ", by weight,"
    return (
        f"with {100 * facts['confidence']:g}% confidence, {_WHAT[facts['loss']].format(share)}"
        f"{weighed} among the {many:,} {_OF[facts['per']]}, from {answers}; "
        f"{facts['n_look']:,} items need a look"
    )


def hash_votes(votes: Votes) -> str:
    """Return the SHA-256 of the votes: names of items and voters, classes and codes."""
    digest = sha256()
    for names in (votes.items, votes.voters, votes.classes):
        digest.update(join_names(names))
    cast = take_ballots(list_ballots(votes.blocks), np.arange(votes.n_items))
    for column in (cast.starts, cast.voters, cast.votes):
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()


def read_certificate(path: str | Path) -> dict[str, Any]:
    """Return what is in a certificate file, or raise `ModelError`."""
    file = Path(path)
    try:
        facts = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValueError):
        facts = None
    if not isinstance(facts, dict) or not {"guarantee", "labels_sha256"} <= facts.keys():
        raise ModelError(f"{file.name} was not written by `unelisa certify --certificate`")
    return facts


def check_labels(certificate: Mapping[str, Any], items: Any, labels: Any, status: Any) -> bool:
    """Return whether labels are those that a certificate was given for."""
    return bool(certificate.get("labels_sha256") == hash_columns(items, labels, status))
