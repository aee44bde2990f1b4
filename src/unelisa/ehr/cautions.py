"""What is rejected before a phenotype is fitted, and what makes the fitted one unreliable.

The constants come from simulated datamarts; `docs/how_to/health_records.md` gives the numbers.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from unelisa.ehr.anchors import FEWEST_REPEATED, is_binary
from unelisa.ehr.counts import CountTable, Floats, Places, Roles
from unelisa.ehr.features import SCREEN, correlate, remove_utilization
from unelisa.ehr.phenotype import THRESHOLD, PhenotypeFit
from unelisa.ehr.posterior import MODEL
from unelisa.errors import ModelError, VotesError

_CUT = re.compile(r"[<>]=?-?[\d.]+$")  # a condition on the measured value
FEWEST_PATIENTS = 20
# below this, the estimated prevalence of 22.5 % was anything from 5 to 25 %, the AUC .70 to .98;
# above it, from 12 to 22 %, and at least .82
ENOUGH_REPEATED = 25
# features of the simulated datamart have a correlation of at most .43 with utilization
FOLLOWS = 0.5
MOST_UNFLAGGED = 2.0  # times the share of flagged patients; 1.0 to 1.7 where the labels were good
# of the share with two records of every anchor; .26 to 1.1 where the labels were good
LEAST_OF_REPEATED = 0.25
LEAST_PPV = 0.5  # more false cases than true ones
# of two anchors, above which they count the same records; .18 to .93 between others
COPIED = 0.97
ABOUT = 1.5  # a prevalence that is one number is true within this factor
LOW_PPV = "the PPV cannot be estimated without charts"
FEWEST_BINARY = 3  # anchors that are present or absent, to learn how often they are wrong


def read_prevalence(stated: float | Sequence[float] | None) -> tuple[float, float] | None:
    """Return the bounds of a stated prevalence: a number p is between p / 1.5 and 1.5 p."""
    if stated is None:
        return None
    if isinstance(stated, int | float):
        ends = (stated / ABOUT, min(stated * ABOUT, (1 + stated) / 2))
    else:
        ends = (stated[0], stated[1]) if len(stated) == 2 else (1.0, 0.0)
    if not 0 < ends[0] <= ends[1] < 1:
        raise ModelError(
            f"prevalence must be strictly between 0 and 1, or (low, high), found {stated}"
        )
    return round(float(ends[0]), 12), round(float(ends[1]), 12)


def read_anchors(anchors: Sequence[str]) -> list[str]:
    """Return the names of the anchors."""
    if isinstance(anchors, str):
        raise ModelError("anchors must be a list of feature names, found a single string")
    names = [str(name) for name in anchors]
    if not names or len(set(names)) < len(names):
        raise ModelError("anchors must name at least one feature, and each feature only once")
    return names


def find_roles(table: CountTable, names: Sequence[str], related: Sequence[str]) -> Roles:
    """Return the anchors, and the features that share records with one: by code, or as stated."""
    if table.n_patients < FEWEST_PATIENTS:
        raise VotesError(
            f"the table has {table.n_patients} patients; at least {FEWEST_PATIENTS} are required"
        )
    anchors = table.find(names, "an anchor")
    for name, place in zip(names, anchors, strict=True):
        _check_anchor(name[:60], table.values[:, place])
    named = set(related) | {
        str(name) for name in table.features for anchor in names if share_codes(str(name), anchor)
    }
    places = np.flatnonzero([str(name) in named for name in table.features])
    copies = _find_copies(table, anchors)
    kept = np.array([place for place in anchors if place not in copies], dtype=np.intp)
    others = np.setdiff1d(np.append(places, list(copies)).astype(np.intp), kept)
    return Roles(kept, others, copies)


def _find_copies(table: CountTable, anchors: Places) -> dict[int, int]:
    """Return the anchors that count the same records as an earlier one: place -> its place."""
    logs = np.log1p(table.values[:, anchors]).astype(np.float64)
    ties, copies = correlate(logs, logs), {}
    for s, t in combinations(range(len(anchors)), 2):
        one, other = (str(table.features[anchors[k]]) for k in (s, t))
        if anchors[s] not in copies and (share_codes(one, other) or ties[s, t] > COPIED):
            copies[int(anchors[t])] = int(anchors[s])
    return copies


def share_codes(one: str, other: str) -> bool:
    """Return whether two features count the same code, or one above and one below it."""
    domain, colon, code = one.partition(":")
    other_domain, _, other_code = other.partition(":")
    if not colon or domain != other_domain:
        return False
    code, other_code = (_CUT.sub("", text).rstrip("+%") for text in (code, other_code))
    if domain == "ICD" or domain.endswith(".code"):
        return code.startswith(other_code) or other_code.startswith(code)
    return code == other_code


def _check_anchor(name: str, column: NDArray[np.floating]) -> None:
    if column.min() == column.max():
        what = "has the same count for every patient" if column.any() else "never occurs"
        raise VotesError(f"the anchor {name!r} {what}; choose another one")
    present = int((column > 0).sum())
    if present < FEWEST_REPEATED:
        raise VotesError(
            f"only {present} patients have a record of the anchor {name!r}; at least "
            f"{FEWEST_REPEATED} are required"
        )


def list_doubts(
    table: CountTable, roles: Roles, fitted: PhenotypeFit, *, stated: bool
) -> list[str]:
    """Return why a fitted phenotype is not reliable; `stated`: whether the prevalence was."""
    anchors = roles.anchors
    return [
        *_doubt_anchors(table, roles, fitted),
        *_doubt_utilization(table, anchors, fitted.chances),
        *_doubt_prevalence(table.values[:, anchors], fitted.chances),
        *_doubt_labels(fitted, len(anchors), stated),
    ]


def _doubt_anchors(table: CountTable, roles: Roles, fitted: PhenotypeFit) -> Iterator[str]:
    """Yield anchors that are copies, present or absent, too rare, not of cases, or unrelated."""
    for copy, original in roles.copies.items():
        yield (
            f"the anchors {_name(table, original)} and {_name(table, copy)} count the same records "
            "and are one anchor: name another one that is recorded independently"
        )
    columns = [table.values[:, place] for place in roles.anchors]
    binary = [is_binary(column) for column in columns]
    if all(binary) and len(binary) < FEWEST_BINARY and fitted.performance.ppv.basis == MODEL:
        yield (
            "the anchors are only present or absent, and how often fewer than "
            f"{FEWEST_BINARY} of them are wrong cannot be estimated: name another one, count "
            "records, or review charts"
        )
    models = fitted.phenotype.anchor_model.anchors
    for place, column, absent, found in zip(roles.anchors, columns, binary, models, strict=True):
        name, repeated = _name(table, place), int((column >= 2).sum())
        if repeated < ENOUGH_REPEATED and not absent:
            yield (
                f"only {repeated} patients have two records of the anchor {name}, and with fewer "
                f"than {ENOUGH_REPEATED} estimates vary widely; use more patients or another anchor"
            )
        if found.levels[1] <= found.levels[0]:
            yield (
                f"the anchor {name} is not more frequent among cases: the anchors contradict "
                "each other; choose others"
            )
    free = remove_utilization(np.log1p(table.values[:, roles.anchors]), table.log_use)
    ties, names = correlate(free, free), [_name(table, place) for place in roles.anchors]
    for s, t in combinations(range(len(names)), 2):
        if ties[s, t] < SCREEN:
            yield (
                f"the anchors {names[s]} and {names[t]} do not go together (correlation "
                f"{ties[s, t]:.2f}): choose anchors of the same disease"
            )


def _name(table: CountTable, place: int) -> str:
    return repr(str(table.features[place])[:60])


def _doubt_utilization(table: CountTable, anchors: Places, chances: Floats) -> Iterator[str]:
    """Yield anchors that follow utilization, and a P(case) that follows it more than an anchor."""
    use, what = table.log_use, "utilization"
    if table.utilization is None:
        others = np.delete(table.values, anchors, axis=1)
        use, what = np.log1p(others.sum(axis=1, dtype=np.float64)), "the sum of all other counts"
    counts = np.log1p(table.values[:, anchors])
    free = remove_utilization(counts, use)
    found = correlate(np.column_stack([use, free]), chances[:, None])[:, 0]
    follows = abs(found[0])
    if follows > found[1:].min():
        yield (
            f"the estimated truth follows {what} (correlation {follows:.2f}) more than the "
            "anchors: choose anchors that are specific to the disease, and name the utilization "
            "column"
        )
    for place, tie in zip(anchors, correlate(counts, use[:, None])[:, 0], strict=True):
        if tie > FOLLOWS:
            yield (
                f"the anchor {_name(table, place)} follows {what} (correlation {tie:.2f}): it "
                "shows how much care a patient gets; choose another one"
            )


def _doubt_prevalence(counts: NDArray[np.floating], chances: Floats) -> Iterator[str]:
    share, flagged = float(chances.mean()), float((chances >= THRESHOLD).mean())
    present, repeated = (counts > 0).any(axis=1).mean(), (counts >= 2).all(axis=1).mean()
    if share > present:
        yield (
            f"the estimated prevalence {share:.1%} is above the share of patients with any anchor, "
            f"{present:.1%}: pass an approximate prevalence, or choose other anchors"
        )
    elif 0 < flagged < share / MOST_UNFLAGGED:
        yield (
            f"the estimated prevalence {share:.1%} is more than twice the share of patients "
            f"labeled as cases, {flagged:.1%}: the anchors do not separate cases from others; pass "
            "an approximate prevalence, or choose other anchors"
        )
    elif share < LEAST_OF_REPEATED * repeated:
        yield (
            f"the estimated prevalence {share:.1%} is less than a quarter of the share of patients "
            f"with two records of every anchor, {repeated:.1%}: the model may follow something "
            "rarer than the disease; pass an approximate prevalence, or review charts"
        )


def _doubt_labels(fitted: PhenotypeFit, n_anchors: int, stated: bool) -> Iterator[str]:
    flagged, ppv = fitted.chances >= THRESHOLD, fitted.performance.ppv
    few = f"as few as {ppv.low:.0%} of the patients labeled as cases may be cases"
    if flagged.all() or not flagged.any():
        who = "every patient" if flagged.all() else "no patient"
        yield f"{who} is labeled as a case: choose other anchors, or use more patients"
    elif n_anchors == 1 and ppv.basis == MODEL:
        yield (
            f"a single anchor cannot be compared with another one, and {few}: name a second "
            "anchor, or review charts"
        )
    elif ppv.low < LEAST_PPV and ppv.basis == MODEL:
        yield (
            f"{LOW_PPV}: if the anchors share an error of ordinary size, {few}; review charts"
            f"{'' if stated else ', or state the prevalence'}"
        )
    elif ppv.low < LEAST_PPV:
        yield f"by the charts, {few}: choose other anchors, or review more"
