"""Every number that a report shows, as plain data; items, who may be patients, only if asked."""

import platform
import warnings
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

import unelisa
from unelisa.aggregators import METHODS, Aggregator
from unelisa.aggregators.base import pick_classes
from unelisa.analysis.confusions import list_pairs, measure_confusions, pool_confusions
from unelisa.analysis.judged import (
    Judged,
    Reference,
    count_ease,
    count_scores,
    describe_items,
    estimate_shares,
    score_reference,
)
from unelisa.analysis.rate import trace_prevalence
from unelisa.analysis.suggestions import can_suggest, suggest_votes
from unelisa.errors import UnelisaWarning
from unelisa.outputs import make_plain
from unelisa.report.answer import describe_answer, list_cautions, list_checks
from unelisa.report.drawing import describe_graph
from unelisa.report.voters import Network, estimate_rates, list_voters, rank_voters, selects_experts
from unelisa.report.wording import show_name
from unelisa.votes.coding import encode_classes

VERSION = 5  # of the findings' form; a reader of stored findings checks it
MOST_DRAWN = 24  # classes in a picture of confusions; more cannot be read
MOST_CELLS = 200_000  # numbers of voters' own confusions in a page, so that it stays small

MOST_LISTED = 200  # items of each kind
SUGGESTED = 50
MOST_SEARCHED = 50_000_000  # items x voters beyond which a report does not look for them
MOST_SAID, LONGEST_VOTER = 4, 20  # voters that are named beside each label

Findings = dict[str, Any]

_MEANINGS = {
    "auto": "voters who repeat each other count for less, and some items are easier than others",
    "plain": "every voter counts once, all items are as easy",
    "ease": "every voter counts once, and some items are easier than others",
    "families": "voters who repeat each other count for less, all items are as easy",
    "repeaters apart": "voters who repeat each other count once each",
    "edges": "the truth is the hub of the voters' graph",
}


def collect_findings(
    model: Aggregator,
    judged: Judged | None = None,
    reference: Reference | None = None,
    seconds: float | None = None,
    notes: Sequence[str] = (),
    *,
    show_items: bool = False,
) -> Findings:
    """Return everything that a report says about a fitted model, as data that JSON can hold."""
    given = () if reference is None else reference.comparison
    rows = (row if isinstance(row, Mapping) else row._asdict() for row in given)
    network, ranking = Network.of_model(model), rank_voters(model)
    shares, unknown = estimate_shares(model, judged)
    share = shares[1] if shares and len(shares) == 2 else None
    rates = {} if judged is None else estimate_rates(judged)
    findings: Findings = {
        "version": VERSION,
        "method": name_method(model),
        "classes": [make_plain(label) for label in model.classes_.tolist()],
        "reliable": getattr(model, "reliable_", None),
        "crowd": _describe_crowd(model, network, ranking),
        "items": None if judged is None else describe_items(judged),
        "by_class": describe_classes(model, judged, ranking, shares),
        "prevalence": share,
        "by_prevalence": trace_prevalence(model, judged, share),
        "expected_accuracy": describe_expected(model),
        "open_votes": count_open(model, judged),
        "histogram": None if judged is None else count_scores(judged),
        "ease": None if judged is None else count_ease(judged),
        **list_items(judged if show_items else None),
        "voters": list_voters(model, ranking, network, rates),
        "graph": describe_graph(network, ranking),
        "structure": describe_structure(model),
        "readings": list_readings(model, ranking, judged),
        "truth": None if reference is None else score_reference(reference),
        "comparison": [{key: make_plain(value) for key, value in row.items()} for row in rows],
        "fit": _describe_fit(model, seconds),
    }
    cautions = list_cautions(model, judged, findings["crowd"], findings["items"])
    words = {"warnings": [*cautions, *unknown, *notes], "checks": list_checks(model, judged)}
    return {**findings, "answer": describe_answer(findings), **words}


def name_method(model: Aggregator) -> str:
    """Return the name under which a model's class is registered."""
    kind = type(model).__name__
    return next((name for name, cls in METHODS.items() if cls == kind), kind)


def describe_expected(model: Aggregator) -> Findings | None:
    """Return the accuracy that a model expects of its labels; None if it has no estimate."""
    fitted: Any = model
    if not hasattr(fitted, "expected_accuracy_"):
        return None
    values = (fitted.expected_accuracy_, *(fitted.expected_accuracy_interval_ or (None, None)))
    return dict(zip(("share", "low", "high"), map(make_plain, values), strict=True))


def _describe_crowd(model: Aggregator, network: Network, ranking: list[int]) -> Findings:
    """Return who counts (experts, or all clearly tied ones), and how many independent voters."""
    selects, place = selects_experts(model), {s: k for k, s in enumerate(ranking)}
    consensus = not selects and "expert" in model.verdicts
    return {
        "voters": int(model.n_features_in_),
        "selects": selects,
        "consensus": consensus,
        "counted": int(network.counted.sum()) if consensus else len(model.experts_),
        "experts": len(model.experts_) if selects or consensus else None,
        "contrarians": network.roles.count("contrarian"),
        "families": [
            {"name": network.names[kin[0]], "voters": sorted(place[s] for s in kin)}
            for kin in network.families
        ],
        "effective": None if selects else make_plain(getattr(model, "effective_voters_", None)),
    }


def _describe_fit(model: Aggregator, seconds: float | None) -> Findings:
    packages = ("numpy", "scipy", "scikit-learn")
    bound = np.atleast_1d(getattr(model, "lower_bound_", ()))
    return {
        "settings": {k: make_plain(v) for k, v in model.get_params(deep=False).items()},
        "rounds": make_plain(getattr(model, "n_iter_", None)),
        "last_rise": float(bound[-1] - bound[-2]) if len(bound) > 1 else None,
        "seconds": seconds,
        "versions": {
            "unelisa": unelisa.__version__,
            "python": platform.python_version(),
            **{name: version(name) for name in packages},
        },
    }


def describe_classes(
    model: Aggregator,
    judged: Judged | None,
    ranking: list[int],
    shares: Sequence[dict[str, Any]] | None = None,
) -> Findings | None:
    """Return the items per class, what voters confuse, and hard pairs; None for two classes."""
    labels, n = [make_plain(label) for label in model.classes_.tolist()], len(model.classes_)
    if n == 2:
        return None
    counts = [None] * n if judged is None else np.bincount(judged.picked, minlength=n).tolist()
    rates = shares or [{"share": None, "low": None, "high": None}] * n
    found: Findings = {"ordered": bool(getattr(model, "ordered_", False))}
    found["shares"] = [
        {"label": label, "labeled": m, "prevalence": x["share"], "low": x["low"], "high": x["high"]}
        for label, m, x in zip(labels, counts, rates, strict=True)
    ]
    if (measured := measure_confusions(model, judged)) is None:
        return {**found, "drawn": [], "confusion": None, "pairs": [], "voters": []}
    tables, votes = measured
    pooled, totals = pool_confusions(tables, votes), votes.sum(axis=0)
    # all classes, or those with most votes, in their own order
    drawn = np.sort(np.argsort(-totals, kind="stable")[:MOST_DRAWN])
    own = [tables[s][np.ix_(drawn, drawn)] for s in ranking[: MOST_CELLS // len(drawn) ** 2]]
    return {
        **found,
        "drawn": drawn.tolist(),
        "confusion": pooled[np.ix_(drawn, drawn)].round(4).tolist(),
        "pairs": list_pairs(pooled, totals),
        "voters": [table.round(3).tolist() for table in own],
    }


def describe_structure(model: Aggregator) -> Findings | None:
    """Return the reading that was taken, in words, and its coherence; None for other methods."""
    fitted: Any = model
    if not hasattr(fitted, "structure_"):
        return None
    return {
        "reading": fitted.reading_,
        "meaning": explain_structure(fitted.structure_),
        "coherence": make_plain(fitted.coherence_),
        "asked_for": bool(fitted.structure != "auto"),
        "two_readings": bool(fitted.two_readings_),
    }


def explain_structure(name: str) -> str:
    """Return what the name of a structure means."""
    return _MEANINGS.get(name, name)


def list_readings(model: Aggregator, ranking: list[int], judged: Judged | None) -> list[Findings]:
    """Return the readings that the votes allow, if several; voters by row in the ranking."""
    fitted: Any = model
    if getattr(fitted, "n_readings_", 1) < 2:
        return []
    return [
        {
            **{key: make_plain(value) for key, value in row.items() if key != "voters"},
            "structure": explain_structure(row["structure"]),
            "differ": judged and (_count_different(other, judged) if k else 0),
            **_place_voters(other, ranking),
        }
        for k, row in enumerate(fitted.readings_.to_dict("records"))
        for other in [fitted.read(k)]
    ]


def _count_different(reading: Any, judged: Judged) -> int:
    scores = np.asarray(reading.decision_function(judged.votes))
    return int(np.count_nonzero(pick_classes(scores) != judged.picked))


def _place_voters(reading: Any, ranking: list[int]) -> Findings:
    verdicts, row = reading.voter_columns_["verdict"], {s: k for k, s in enumerate(ranking)}
    voter = {str(name): s for s, name in enumerate(reading.voter_names_)}
    families = [sorted(row[voter[str(name)]] for name in kin) for kin in reading.families_]
    places: dict[str, list[int]] = {"alone": [], "contrarians": [], "uninformative": []}
    for k in sorted(set(range(len(ranking))).difference(*families)):
        role = verdicts[ranking[k]].replace("contrarian", "contrarians")
        places[role if role in places else "alone"].append(k)
    return {**places, "families": families}


def list_items(judged: Judged | None) -> Findings:
    """Return the items to look at: uncertain, hard, and labeled against most votes."""
    if judged is None:
        return dict.fromkeys(("uncertain", "hard", "differing"))
    sure = judged.leads if judged.two_classes or judged.chances is None else judged.chances
    return {
        "uncertain": _name_items(judged, sure),
        "hard": [] if judged.ease is None else _name_items(judged, judged.ease),
        "differing": _name_items(judged, np.where(judged.differs, -judged.leads, np.nan)),
    }


def _name_items(judged: Judged, order: NDArray[np.float64]) -> list[Findings]:
    ease = np.full(len(order), np.nan) if judged.ease is None else judged.ease
    first = [int(i) for i in np.argsort(order, kind="stable")[:MOST_LISTED] if order[i] == order[i]]
    return [
        {
            "item": str(judged.votes.items[i]),
            "label": str(judged.labels(slice(i, i + 1))[0]),
            "probability": None if judged.chances is None else float(judged.chances[i]),
            "score": float(judged.scores[i] if judged.two_classes else judged.leads[i]),
            "ease": None if not np.isfinite(ease[i]) else float(ease[i]),
            "said": said,
        }
        for i, said in zip(first, describe_votes(judged, first), strict=True)
    ]


def describe_votes(judged: Judged, items: list[int]) -> list[str]:
    """Return who voted for what on some items, in words, the most frequent label first."""
    votes, codes = judged.votes, encode_classes(len(judged.classes))
    names = [show_name(name, LONGEST_VOTER) for name in votes.voters]
    described = []
    for row in votes.blocks.take(np.array(items, dtype=np.intp)).expand() if items else ():
        found = [
            (label, np.flatnonzero(row == np.int8(code)))
            for label, code in zip(judged.classes, codes, strict=True)
        ]
        parts = [
            f"{show_name(label, LONGEST_VOTER)} {len(who)}: "
            + ", ".join(names[s] for s in who[:MOST_SAID])
            + ("\u00a0…" if len(who) > MOST_SAID else "")
            for label, who in sorted(found, key=lambda one: -len(one[1]))
            if len(who)
        ]
        described.append("; ".join(parts))
    return described


def count_open(model: Aggregator, judged: Judged | None) -> int | None:
    """Return how many votes nobody has cast yet; None where the method cannot rank them."""
    if judged is None or not can_suggest(model):
        return None
    votes = judged.votes
    return int(votes.n_items * votes.n_voters - votes.vote_counts().sum())


def describe_next(
    model: Aggregator, judged: Judged | None, *, show_items: bool = False
) -> Findings:
    """Return whom to ask how often and what it should gain; {} where there is no such section."""
    votes: Any = None if judged is None else judged.votes
    if judged is None or not can_suggest(model) or votes.n_items * votes.n_voters > MOST_SEARCHED:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnelisaWarning)  # the note says why there are fewer
        rows = suggest_votes(model, votes, n=SUGGESTED, chances=judged.as_columns())
    sums = rows.groupby("voter", sort=False).agg(votes=("gain", "size"), gain=("gain", "sum"))
    sums = sums.sort_values(["votes", "gain"], ascending=False, kind="stable")
    listed = rows.head(MOST_LISTED).to_dict("records") if show_items else []
    place = {item: i for i, item in enumerate(votes.items.tolist())} if listed else {}
    said = describe_votes(judged, [place[row["item"]] for row in listed])
    found = {
        "n": len(rows),
        "items": int(rows["item"].nunique()),
        "gain": float(rows["gain"].sum()),
        **{key: rows.attrs[key] for key in ("stop", "expected_errors", "note")},
        "voters": [
            {"voter": name, "votes": int(row.votes), "gain": float(row.gain)}
            for name, row in sums.iterrows()
        ],
        "rows": [
            {**{key: make_plain(value) for key, value in row.items()}, "said": who}
            for row, who in zip(listed, said, strict=True)
        ],
    }
    return {"next_votes": found}
