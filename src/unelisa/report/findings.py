"""Every number that a report shows, as plain data: no HTML here, no numbers elsewhere.

The findings hold voters' names; items' names only with `show_items`, because items may be patients.
"""

import platform
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

import unelisa
from unelisa.aggregators import AGGREGATORS, Aggregator
from unelisa.report.cautions import list_cautions
from unelisa.report.items import Judged, count_scores, describe_items, list_uncertain
from unelisa.report.layout import place_voters
from unelisa.report.network import MOST_LINKS, Network
from unelisa.report.plain import count_noun, make_plain
from unelisa.report.prevalence import Prevalence, bound_prevalence
from unelisa.report.reference import Reference, score_reference
from unelisa.report.structure import describe_structure
from unelisa.report.voters import estimate_rates, list_voters, rank_voters
from unelisa.votes import Votes

VERSION = 2  # of the findings' form; a reader of stored findings checks it

Findings = dict[str, Any]


def collect_findings(
    model: Aggregator,
    votes: Votes | None = None,
    *,
    reference: Reference | None = None,
    seconds: float | None = None,
    notes: Sequence[str] = (),
    show_items: bool = False,
) -> Findings:
    """Return all that a report tells of a fitted model, as data that JSON can hold.

    Parameters
    ----------
    model
        The fitted model; only its public attributes are read.
    votes
        The votes it labels. Without them the findings tell of the voters alone.
    reference
        The truth where it is known, with all methods' scores.
    seconds
        What the fit took.
    notes
        Further sentences to show as warnings, such as those of the fit.
    show_items
        Whether to name the most uncertain items.

    Examples
    --------
    >>> import unelisa as ue
    >>> votes = ue.Votes.of([[1, 1, -1], [-1, -1, 1]])
    >>> collect_findings(ue.MajorityVote().fit(votes), votes)["items"]["positive"]
    1
    """
    votes = None if votes is None else _match_voters(model, votes)
    findings: Findings = {
        "version": VERSION,
        "method": name_method(model),
        "classes": [make_plain(label) for label in model.classes_.tolist()],
        "reliable": getattr(model, "reliable_", None),
        "crowd": _describe_crowd(model),
        **_describe_labels(model, votes, show_items),
        **_describe_voters(model, votes),
        "structure": describe_structure(model),
        "truth": None if reference is None else score_reference(model, reference),
        "comparison": [] if reference is None else _list_methods(reference),
        "fit": _describe_fit(model, seconds),
    }
    cautions = list_cautions(model, votes, findings["crowd"], findings["items"])
    return {**findings, "answer": _answer(findings), "warnings": [*cautions, *notes]}


def name_method(model: Aggregator) -> str:
    """Return the name under which a model's class is registered."""
    known = {cls: name for name, cls in AGGREGATORS.items()}
    return known.get(type(model), type(model).__name__)


def _match_voters(model: Aggregator, votes: Votes) -> Votes:
    """Return the votes with the model's voters as columns; strangers' names go by position."""
    known = set(map(str, model.voter_names_)) & set(map(str, votes.voters))
    if not known and votes.n_voters == model.n_features_in_:
        return votes
    return votes.align(model.voter_names_)


def _describe_labels(model: Aggregator, votes: Votes | None, show_items: bool) -> dict[str, Any]:
    """Return what the model says of the items; None throughout where there are no votes."""
    share = getattr(model, "prevalence_", None) if hasattr(model, "predict_proba") else None
    if votes is None:
        bare = None if share is None else bound_prevalence(float(share), None)
        return {
            "items": None,
            "prevalence": _own_interval(model) or bare,
            "histogram": None,
            "uncertain": None,
        }
    judged = Judged.of(model, votes)
    known = None if judged.chances is None else judged.chances[judged.voted_on]
    return {
        "items": describe_items(judged),
        "prevalence": _own_interval(model)
        or (None if share is None else bound_prevalence(float(share), known)),
        "histogram": count_scores(judged),
        "uncertain": list_uncertain(judged, votes) if show_items else None,
    }


def _own_interval(model: Aggregator) -> Prevalence | None:
    """Return the prevalence with the interval that the model itself gives, if it does."""
    bounds: Any = getattr(model, "prevalence_interval_", None)
    if bounds is None:
        return None
    share: Any = getattr(model, "prevalence_", None)
    return {"share": float(share), "low": float(bounds[0]), "high": float(bounds[1])}


def _describe_voters(model: Aggregator, votes: Votes | None) -> dict[str, Any]:
    network, ranking = Network.of_model(model), rank_voters(model)
    rates = {} if votes is None else estimate_rates(votes, Judged.of(model, votes).as_shares())
    return {
        "voters": list_voters(model, ranking, network, rates),
        "graph": _describe_graph(network, ranking),
    }


def _describe_crowd(model: Aggregator) -> dict[str, Any]:
    counted = model.experts_
    return {
        "voters": int(model.n_features_in_),
        "selects": "expert" in model.verdicts,
        "counted": len(counted),
        "contrarians": int(np.count_nonzero(model.polarity_[counted] < 0)),
    }


def _describe_graph(network: Network, ranking: list[int]) -> dict[str, Any]:
    """Return where every voter stands and the strongest links, in the order of the voters' rows."""
    places = place_voters(network)
    row = {voter: k for k, voter in enumerate(ranking)}
    return {
        "places": [places[s].tolist() for s in ranking],
        "ties": [float(network.weights[s]) for s in ranking],
        "counted": [bool(network.counted[s]) for s in ranking],
        "links": [[row[s], row[t], w] for s, t, w in network.links[:MOST_LINKS]],
        "n_links": len(network.links),
    }


def _list_methods(reference: Reference) -> list[dict[str, Any]]:
    return [{key: make_plain(value) for key, value in row.items()} for row in reference.rows()]


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
    if crowd["selects"]:
        who = f"{crowd['counted']} of {crowd['voters']} voters are experts"
    else:
        who = f"{crowd['counted']} of {crowd['voters']} voters count"
    if crowd["contrarians"]:
        many = crowd["contrarians"]
        who += f", {many} of them {'a contrarian' if many == 1 else 'contrarians'} turned around"
    if items is None:
        return f"{who}."
    share = f"{items['share_positive']:.1%}"
    return f"{count_noun(items['n'], 'item')} labelled, {share} of them positive; {who}."
