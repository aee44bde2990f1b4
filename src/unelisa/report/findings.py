"""Every number that a report shows, as plain data: no HTML here, no numbers elsewhere.

The findings name voters; they name items only with `show_items`, because items may be patients.
"""

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

import unelisa
from unelisa.aggregators import AGGREGATORS, Aggregator
from unelisa.em import bound_share
from unelisa.report.cautions import list_cautions
from unelisa.report.drawing import place_voters
from unelisa.report.judged import (
    Judged,
    Reference,
    count_scores,
    describe_items,
    list_uncertain,
    score_reference,
)
from unelisa.report.voters import MOST_LINKS, Network, estimate_rates, list_voters, rank_voters
from unelisa.report.wording import count_noun, make_plain

VERSION = 2  # of the findings' form; a reader of stored findings checks it
# key, title and kind of each column of the table of structures
STRUCTURE_COLUMNS = (
    ("structure", "Structure", "text"),
    ("gain", "Gain", "log"),
    ("standard_error", "Standard error", "log"),
    ("agreement", "Agreement", "percent"),
    ("admissible", "Allowed", "flag"),
    ("gold_log_score", "Gold log score", "number"),
    ("weight", "Weight", "percent"),
    ("kept", "Kept", "flag"),
)
# what the names of structures mean; for a graph, where the search for the truth started
_MEANINGS = {
    "plain": "votes depend on the truth alone",
    "tilt": "voters also share a misreading of some items",
    "discount": "near-duplicate votes count less",
    "duplicates once": "near-duplicate voters count once",
    "residual scores up to 4": "search started from residuals of the edges, clipped at 4",
    "residual scores": "search started from residuals of the edges",
    "correlations": "search started from plain correlations",
    "fewer edges": "edges explained by the truth removed",
}

Findings = dict[str, Any]


def collect_findings(
    model: Aggregator,
    judged: Judged | None = None,
    reference: Reference | None = None,
    seconds: float | None = None,
    notes: Sequence[str] = (),
    *,
    show_items: bool = False,
) -> Findings:
    """Return everything that a report says about a fitted model, as data that JSON can hold.

    Only the model's public attributes are read. Without judged items the findings describe the
    voters alone; `notes` are further warnings, such as those of the fit; `show_items` names the
    most uncertain items.

    Examples
    --------
    >>> import unelisa as ue
    >>> votes = ue.Votes.of([[1, 1, -1], [-1, -1, 1]])
    >>> model = ue.MajorityVote().fit(votes)
    >>> collect_findings(model, Judged.of(model, votes))["items"]["positive"]
    1
    """
    given = () if reference is None else reference.comparison
    rows = (row if isinstance(row, Mapping) else row._asdict() for row in given)
    findings: Findings = {
        "version": VERSION,
        "method": name_method(model),
        "classes": [make_plain(label) for label in model.classes_.tolist()],
        "reliable": getattr(model, "reliable_", None),
        "crowd": _describe_crowd(model),
        "items": None if judged is None else describe_items(judged),
        "prevalence": _describe_prevalence(model, judged),
        "histogram": None if judged is None else count_scores(judged),
        "uncertain": list_uncertain(judged) if judged is not None and show_items else None,
        **_describe_voters(model, judged),
        "structure": describe_structure(model),
        "truth": None if reference is None else score_reference(reference),
        "comparison": [{key: make_plain(value) for key, value in row.items()} for row in rows],
        "fit": _describe_fit(model, seconds),
    }
    cautions = list_cautions(model, judged, findings["crowd"], findings["items"])
    return {**findings, "answer": _answer(findings), "warnings": [*cautions, *notes]}


def name_method(model: Aggregator) -> str:
    """Return the name under which a model's class is registered."""
    known = {cls: name for name, cls in AGGREGATORS.items()}
    return known.get(type(model), type(model).__name__)


def _describe_prevalence(model: Aggregator, judged: Judged | None) -> Findings | None:
    """Return the prevalence, with the model's own interval if it gives one."""
    share: Any = getattr(model, "prevalence_", None)
    bounds: Any = getattr(model, "prevalence_interval_", None)
    if bounds is not None:
        return {"share": float(share), "low": float(bounds[0]), "high": float(bounds[1])}
    if share is None or not hasattr(model, "predict_proba"):
        return None
    chances = None if judged is None else judged.chances
    if judged is not None and chances is not None:
        chances = chances[judged.voted_on]
    return bound_prevalence(float(share), chances)


def bound_prevalence(share: float, posteriors: NDArray[np.float64] | None) -> Findings:
    """Return the share of positive items with the 95 % interval of `em.bound_share`.

    The interval takes the voters' reliabilities as known. It is None where pi is not the mean of
    the posteriors: then these are not the items that pi was estimated from.

    Examples
    --------
    >>> {key: round(x, 2) for key, x in bound_prevalence(.5, np.repeat([0., 1.], 50)).items()}
    {'share': 0.5, 'low': 0.4, 'high': 0.6}
    """
    low = high = None
    # EM stops within a thousandth of its fixed point
    if posteriors is not None and len(posteriors) and abs(posteriors.mean() - share) <= 1e-3:
        information = float(((posteriors - share) ** 2).sum())
        if 0 < share < 1 and information > 0:
            low, high = bound_share(share, information)
    return {"share": share, "low": low, "high": high}


def _describe_voters(model: Aggregator, judged: Judged | None) -> dict[str, Any]:
    """Return the voters' rows, and their graph in the same order with the strongest links."""
    network, ranking = Network.of_model(model), rank_voters(model)
    rates = {} if judged is None else estimate_rates(judged.votes, judged.as_shares())
    places = place_voters(network)
    row = {voter: k for k, voter in enumerate(ranking)}
    return {
        "voters": list_voters(model, ranking, network, rates),
        "graph": {
            "places": [places[s].tolist() for s in ranking],
            "ties": [float(network.weights[s]) for s in ranking],
            "counted": [bool(network.counted[s]) for s in ranking],
            "links": [[row[s], row[t], w] for s, t, w in network.links[:MOST_LINKS]],
            "n_links": len(network.links),
        },
    }


def _describe_crowd(model: Aggregator) -> dict[str, Any]:
    counted = model.experts_
    return {
        "voters": int(model.n_features_in_),
        "selects": "expert" in model.verdicts,
        "counted": len(counted),
        "contrarians": int(np.count_nonzero(model.polarity_[counted] < 0)),
    }


def describe_structure(model: Aggregator) -> dict[str, Any] | None:
    """Return the reading, its coherence and the candidates; None where a method chooses nothing.

    Examples
    --------
    >>> import unelisa as ue
    >>> describe_structure(ue.MajorityVote().fit([[1, -1], [-1, 1]])) is None
    True
    """
    fitted: Any = model
    table: Any = getattr(fitted, "structure_", None)
    if table is None:
        return None
    columns = [column for column in STRUCTURE_COLUMNS if column[0] in table]
    rows = [
        {key: make_plain(row[key]) for key, *_ in columns}
        | {"structure": explain_structure(row["structure"])}
        for row in table.to_dict("records")
    ]
    return {
        "reading": fitted.reading_,
        "coherence": float(fitted.coherence_),
        "asked_for": bool(fitted.structure != "auto"),
        "two_readings": bool(fitted.two_readings_),
        "columns": [dict(zip(("key", "title", "kind"), one, strict=True)) for one in columns],
        "rows": rows,
    }


def explain_structure(name: str) -> str:
    """Return the name of a structure with what it means.

    Examples
    --------
    >>> explain_structure("tilt")
    'tilt: voters also share a misreading of some items'
    >>> explain_structure("edges, start edges up to 0.3, fewer edges")
    'edges: search started from edges clipped at 0.3; edges explained by the truth removed'
    """
    kind, *parts = name.replace(", start ", ", ").split(", ")
    told = [_MEANINGS[kind]] if kind in _MEANINGS else []
    for part in parts:
        words = part.replace("edges up to", "search started from edges clipped at")
        told.append(_MEANINGS.get(part, words))
    return f"{kind}: {'; '.join(told)}" if told else name


def _describe_fit(model: Aggregator, seconds: float | None) -> dict[str, Any]:
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


def _answer(findings: Findings) -> str:
    items, crowd = findings["items"], findings["crowd"]
    role = "are experts" if crowd["selects"] else "count"
    who = f"{crowd['counted']} of {crowd['voters']} voters {role}"
    if crowd["contrarians"]:
        who += f", including {count_noun(crowd['contrarians'], 'contrarian')} (votes reversed)"
    if items is None:
        return f"{who}."
    share = f"{items['share_positive']:.1%}"
    return f"{count_noun(items['n'], 'item')} labeled, {share} of them positive; {who}."
