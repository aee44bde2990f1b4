"""Guarantees for groups of items: how common a class is in each, how many of a cohort are cases.

Nothing is assumed of the model: gold labels are drawn at random within each group or stratum, and
the model's labels divide it into parts with few errors, for which bounds are narrow.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators.known import number_codes, spell_keys
from unelisa.analysis.certified_draws import Looks, check_choice, hash_columns, score_items
from unelisa.analysis.certify import refuse_fitted
from unelisa.analysis.error_bounds import Draws, bound_strata, bound_wrong
from unelisa.analysis.rate import read_sample
from unelisa.errors import ModelError, VotesError
from unelisa.estimator import check_level
from unelisa.votes.columns import is_missing, spell_name

LIKELY = 0.1  # share of wrong labels where bounds should soon be narrow; it decides no guarantee


def certify_rates(  # noqa: PLR0913 - a public signature
    model: Any,
    votes: Any,
    gold: Any,
    groups: Mapping[Any, Any],
    confidence: float = 0.95,
    *,
    label: Any = None,
    looks: Looks = "any",
) -> Any:
    """Return bounds for how common a class is in each group, such as the systems of a jury.

    A pandas table by group: items, answers, share by the model's labels, low, high. With
    probability `confidence` all bounds hold together.

    Parameters
    ----------
    model, votes, gold, looks
        As in `certify`; gold labels were drawn with equal chances within each group.
    groups
        The group of each item, by its name; other items are left out.
    label
        The class; by default the last one, which is "pass" or "yes" of two.

    Examples
    --------
    >>> import numpy as np, unelisa as ue
    >>> sample = ue.simulate_votes(random_state=0)
    >>> model = ue.LatentIsing().fit(sample.votes)
    >>> systems = {i: "AB"[i % 2] for i in range(len(sample.truth))}
    >>> gold = {i: sample.truth[i] for i in range(200)}
    >>> found = ue.certify_rates(model, sample.votes, gold, systems)
    >>> bool(((found["low"] <= found["share"]) & (found["share"] <= found["high"])).all())
    True
    """
    import pandas as pd  # noqa: PLC0415 - a third of a second that only tables need

    check_level(confidence, "confidence")
    check_choice("looks", looks, Looks)
    scored = score_items(model, votes)
    codes = read_sample(gold, scored.votes)
    refuse_fitted(model, scored.votes, codes)
    classes = [spell_name(one) for one in scored.classes]
    if label is not None and spell_name(label) not in classes:
        raise ModelError("label is not a class of the votes")
    wanted = len(classes) - 1 if label is None else classes.index(spell_name(label))
    truth = number_codes(codes, scored.votes.n_classes)
    named = {k: spell_name(x) for k, x in spell_keys(groups, "groups").items() if not is_missing(x)}
    known = np.array([named.get(spell_name(x), "") for x in scored.votes.items.tolist()])
    names = sorted(set(known.tolist()) - {""})
    if not names:
        raise VotesError("groups names none of the items of the votes; compare their names")
    alpha, once = (1 - confidence) / len(names), looks == "once"
    rows = []
    for name in names:
        own = known == name
        given, right, drawn = scored.label[own] == wanted, truth[own] == wanted, truth[own] >= 0
        low, high = _bound_count(given, right, drawn, alpha, once=once)
        n = len(given)
        rows.append((n, int(drawn.sum()), float(given.mean()), low / n, high / n))
    columns = ["items", "answers", "share", "low", "high"]
    return pd.DataFrame(rows, index=pd.Index(names, name="group"), columns=columns)


def _bound_count(
    given: NDArray[np.bool_],
    right: NDArray[np.bool_],
    drawn: NDArray[np.bool_],
    alpha: float,
    *,
    once: bool,
) -> tuple[float, float]:
    """Return bounds for the number of items of a class; each of the four has a quarter of alpha."""
    low = high = 0.0
    for part, likely in ((given, 1 - LIKELY), (~given, LIKELY)):
        n, k = float(np.count_nonzero(part)), float(np.count_nonzero(part & drawn))
        e = float(np.count_nonzero(part & drawn & right))
        high += bound_wrong(Draws(n, k, e, likely), alpha / 4, once=once)
        low += n - bound_wrong(Draws(n, k, k - e, 1 - likely), alpha / 4, once=once)
    return low, high


def certify_cohort(
    strata: Mapping[Any, Any],
    charts: Mapping[Any, Any],
    error: float = 0.1,
    confidence: float = 0.95,
) -> dict[str, Any]:
    """Return a certificate: at most so many of the patients of a cohort are no cases.

    Patients whose chart shows no case leave the cohort. Charts may be added until the guarantee is
    given: it holds at all looks together.

    Parameters
    ----------
    strata
        The stratum of each flagged patient, within which charts were drawn with equal chances.
        Patients of a stratum without charts all count as no cases.
    charts
        1 or True for a case and 0 for none, by patient; charts of other patients are left out.
    error
        The largest share of the cohort that are no cases: .1 is a PPV of .9.

    Examples
    --------
    >>> import unelisa as ue
    >>> flagged = {i: "sure" if i < 400 else "likely" for i in range(500)}
    >>> found = ue.certify_cohort(flagged, {i: i != 450 for i in range(0, 500, 5)})
    >>> found["certified"], found["n_cohort"], found["n_removed"]
    (True, 499, 1)
    """
    check_level(confidence, "confidence")
    check_level(error, "error")
    strata, charts = (
        spell_keys(given, name, "patients")
        for given, name in ((strata, "strata"), (charts, "charts"))
    )
    if not strata:
        raise ModelError("there is no flagged patient to certify")
    patients = list(strata)
    case = _find_cases(patients, charts)
    draws = _count_strata(strata, case, error)
    removed = len(case) - sum(case.values())
    left = bound_strata(draws, 1 - confidence) - removed
    cohort = len(patients) - removed
    ppv = max(1 - left / cohort, 0.0) if cohort else 0.0
    facts: dict[str, Any] = {
        "error": error,
        "confidence": confidence,
        "n_flagged": len(patients),
        "n_charts": len(case),
        "n_removed": removed,
        "n_cohort": cohort,
        "n_strata": len(draws),
        "ppv_at_least": round(ppv, 4),
        "certified": bool(left <= error * cohort + 1e-9) and cohort > 0,
        "charts_sha256": hash_columns(list(case), list(map(int, case.values()))),
    }
    percent, sure = f"{100 * error:g}%", f"{100 * confidence:g}%"
    facts["guarantee"] = (
        f"with {sure} confidence, at most {percent} of the {cohort:,} patients are no cases, from "
        f"{len(case):,} random charts"
        if facts["certified"]
        else f"at most {percent} cannot be certified with {len(case):,} random charts; with {sure} "
        f"confidence the PPV is at least {ppv:.2f}"
    )
    return facts


def _find_cases(patients: Sequence[str], charts: Mapping[str, Any]) -> dict[str, bool]:
    """Return whether the patients with charts are cases."""
    case = {name: charts[name] == 1 for name in patients if name in charts}
    if charts and not case:
        raise VotesError(
            f"none of the {len(charts):,} charts is of a flagged patient; compare how patients are "
            "named"
        )
    if any(charts[name] not in (0, 1) for name in case):
        raise VotesError("labels of charts must be 0 or 1, 1 for a case")
    return case


def _count_strata(
    strata: Mapping[Any, Any], case: Mapping[Any, bool], error: float
) -> Sequence[Draws]:
    """Return how many charts of each stratum were drawn, and how many of them show no case."""
    counts: dict[Any, NDArray[np.float64]] = {}
    for name, given in strata.items():
        stratum, seen = spell_name(given), name in case
        count = counts.setdefault(stratum, np.zeros(3))
        count += 1, seen, seen and not case[name]
    return [Draws(n, k, e, error / 2) for n, k, e in np.array(list(counts.values())).tolist()]
