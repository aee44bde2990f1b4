"""Every number that a report shows, as plain data: no HTML here, no numbers elsewhere.

The findings name voters; they name items only with `show_items`, because items may be patients.
"""

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

import unelisa
from unelisa.aggregators import AGGREGATORS, Aggregator
from unelisa.analysis.judged import (
    Judged,
    Reference,
    count_ease,
    count_scores,
    describe_items,
    estimate_shares,
    score_reference,
)
from unelisa.analysis.prevalence import trace_prevalence
from unelisa.outputs import make_plain
from unelisa.report.answer import list_checks, tell_answer
from unelisa.report.cautions import list_cautions
from unelisa.report.classes import describe_classes
from unelisa.report.drawing import describe_graph
from unelisa.report.items import list_differing, list_hard, list_uncertain
from unelisa.report.readings import describe_structure, list_readings
from unelisa.report.voters import (
    Network,
    estimate_rates,
    list_voters,
    rank_voters,
    selects_experts,
)

VERSION = 5  # of the findings' form; a reader of stored findings checks it

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
    voters alone; `notes` are further warnings, such as those of the fit; `show_items` names items
    that are uncertain, hard, or labeled otherwise than by the majority.

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
    network, ranking = Network.of_model(model), rank_voters(model)
    shares, untold = estimate_shares(model, judged)
    share = shares[1] if shares and len(shares) == 2 else None
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
        "expected_accuracy": _describe_expected(model),
        "histogram": None if judged is None else count_scores(judged),
        "ease": None if judged is None else count_ease(judged),
        "uncertain": list_uncertain(judged) if judged is not None and show_items else None,
        "hard": list_hard(judged) if judged is not None and show_items else None,
        "differing": list_differing(judged) if judged is not None and show_items else None,
        **_describe_voters(model, judged, network, ranking),
        "structure": describe_structure(model),
        "readings": list_readings(model, ranking, judged),
        "truth": None if reference is None else score_reference(reference),
        "comparison": [{key: make_plain(value) for key, value in row.items()} for row in rows],
        "fit": _describe_fit(model, seconds),
    }
    cautions = list_cautions(model, judged, findings["crowd"], findings["items"])
    told = {"warnings": [*cautions, *untold, *notes], "checks": list_checks(model, judged)}
    return {**findings, "answer": tell_answer(findings), **told}


def name_method(model: Aggregator) -> str:
    """Return the name under which a model's class is registered."""
    known = {cls: name for name, cls in AGGREGATORS.items()}
    return known.get(type(model), type(model).__name__)


def _describe_expected(model: Aggregator) -> Findings | None:
    """Return the accuracy that a model expects of its labels, its values None where it cannot tell.

    None where the method never says.
    """
    fitted: Any = model
    if not hasattr(fitted, "expected_accuracy_"):
        return None
    low, high = fitted.expected_accuracy_interval_ or (None, None)
    values = {"share": fitted.expected_accuracy_, "low": low, "high": high}
    return {name: make_plain(value) for name, value in values.items()}


def _describe_voters(
    model: Aggregator, judged: Judged | None, network: Network, ranking: list[int]
) -> dict[str, Any]:
    """Return the voters' rows, and their graph in the same order with the strongest links."""
    rates = {} if judged is None else estimate_rates(judged)
    return {
        "voters": list_voters(model, ranking, network, rates),
        "graph": describe_graph(network, ranking),
    }


def _describe_crowd(model: Aggregator, network: Network, ranking: list[int]) -> dict[str, Any]:
    """Return who counts, and how many independent voters they are worth.

    Where a method selects experts, only they count. In a consensus every voter counts who is
    clearly tied to the truth, and experts are those better than the crowd.
    """
    selects, place = selects_experts(model), {s: k for k, s in enumerate(ranking)}
    consensus = not selects and "expert" in model.verdicts
    families = [
        {"name": network.names[kin[0]], "voters": sorted(place[s] for s in kin)}
        for kin in network.families
    ]
    return {
        "voters": int(model.n_features_in_),
        "selects": selects,
        "consensus": consensus,
        "counted": int(network.counted.sum()) if consensus else len(model.experts_),
        "experts": len(model.experts_) if selects or consensus else None,
        "contrarians": network.roles.count("contrarian"),
        "families": families,
        "effective": make_plain(getattr(model, "effective_voters_", None)),
    }


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
