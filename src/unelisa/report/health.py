"""The pages on a phenotype and on rules: what was found and what to check; no patient."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.analysis.judged import BINS
from unelisa.ehr.counts import FEWEST_SHOWN
from unelisa.ehr.omop.counts import Step
from unelisa.ehr.phenotyper import Phenotyper
from unelisa.ehr.posterior import Performance
from unelisa.report.page import fill_template

ESTIMATE = ("share", "low", "high", "basis")
FEATURE_COLUMNS = ["feature", "selected", "weight", "direction", "reason"]
Floats = NDArray[np.float64]
Facts = dict[str, Any]

ROW, BARS = 30, 260  # height of a rule's row, and length of the longest bar
ARC, TIP = 26, 7  # between the arrows of two implications, and the length of their tips
CELL, DOT = 52, 26  # sizes of a cell of shares, and of a rule in a pattern
DARKEST = 0.5  # opacity of a cell, pale enough for text
QUANTITIES = {
    name: name.upper() if len(name) == 3 else name.capitalize()
    for name in ("sensitivity", "specificity", "ppv", "npv")
}


def describe_phenotype(
    title: str,
    model: Phenotyper,
    chances: NDArray[np.float64],
    steps: Sequence[Step] = (),
    performance: Performance | None = None,
) -> Facts:
    """Return what a fitted phenotyper found, as plain values; `steps` are the queries."""
    prevalence, threshold = float(chances.mean()), float(model.threshold_)
    found = performance or Performance(model.ppv_, model.npv_, model.sensitivity_)
    n, cases = len(chances), int((chances >= model.threshold_).sum())
    counts, edges = count_large(chances, threshold)
    return {
        "title": title,
        "answer": (
            f"{title}: {show_group(cases, n)} of {n:,} patients labeled as cases; "
            f"estimated prevalence {prevalence:.1%}"
        ),
        "patients": n,
        "cases": cases,
        "sizes": (show_group(cases, n), show_group(n - cases, n)),
        "prevalence": prevalence,
        "threshold": threshold,
        **{  # None where nothing is known
            name: None if np.isnan(one.value) else dict(zip(ESTIMATE, one, strict=True))
            for name, one in found._asdict().items()
        },
        "reliable": getattr(model, "reliable_", True),  # models of 0.1.0 do not know
        "unobserved": 0,
        "excluded": 0,
        "anchors": [str(name) for name in model.anchors],
        "utilization": model.utilization,
        "expected_prevalence": model.prevalence,
        "features": model.features_[FEATURE_COLUMNS].to_dict("records"),
        "histogram": {"kind": "probability", "counts": counts, "edges": edges},
        "steps": [step._asdict() for step in steps],
        # of the database: what was too rare, the groups, and what is wrong with the records
        "rare": [],
        "groups": [],
        "flaws": [],
        "seconds": None,
        "warnings": [],
    }


def show_group(size: int, n: int) -> str:
    """Return the size of one of two groups of n patients; in words where one of them is small."""
    if 0 < size < FEWEST_SHOWN:
        return f"fewer than {FEWEST_SHOWN}"
    return "nearly all" if 0 < n - size < FEWEST_SHOWN else f"{size:,}"


def count_large(chances: Floats, threshold: float) -> tuple[list[int], list[float]]:
    """Return the counts and the edges of a histogram in which no patient stands out.

    Bins of 1 to `FEWEST_SHOWN` - 1 patients are joined with their neighbors. The threshold is an
    edge: else its bin and the number of cases would reveal how many lie between.
    """
    edges = np.linspace(0, 1, BINS + 1)
    inner = np.clip(np.abs(edges - threshold).argmin(), 1, BINS - 1)
    edges[inner] = np.clip(threshold, edges[inner - 1], edges[inner + 1])
    counts = np.histogram(chances, edges)[0].tolist()
    cut, ends = int(inner), edges.tolist()
    sides = [_join_small(counts[:cut], ends[: cut + 1]), _join_small(counts[cut:], ends[cut:])]
    both = [n for side in sides for n in side[0]], [*sides[0][1], *sides[1][1][1:]]
    return _join_small(*both) if any(0 < n < FEWEST_SHOWN for n in both[0]) else both


def _join_small(counts: Sequence[int], edges: Sequence[float]) -> tuple[list[int], list[float]]:
    joined, ends = list(counts), [float(edge) for edge in edges]
    while len(joined) > 1 and any(0 < n < FEWEST_SHOWN for n in joined):
        small = next(k for k, n in enumerate(joined) if 0 < n < FEWEST_SHOWN)
        near = [k for k in (small - 1, small + 1) if 0 <= k < len(joined)]
        first = min(small, min(near, key=lambda k: (joined[k] == 0, joined[k])))
        joined[first : first + 2] = [joined[first] + joined[first + 1]]
        del ends[first + 1]
    return joined, ends


def render_phenotype(facts: Facts) -> str:
    """Return the page: one self-contained file that loads and runs nothing."""
    return fill_template("phenotype.html.j2", f=facts, fewest=FEWEST_SHOWN)


def render_rules(facts: Facts) -> str:
    """Return the page: one self-contained file that loads and runs nothing."""
    pictures = {"nested": draw_nested, "shares": draw_shares, "patterns": draw_patterns}
    drawn = {name: draw(facts) for name, draw in pictures.items()} if "overlap" in facts else None
    return fill_template(
        "rules.html.j2", f=facts, drawn=drawn, quantities=QUANTITIES, fewest=FEWEST_SHOWN
    )


def draw_nested(facts: Facts) -> Facts:
    """Return a bar per rule, families side by side, and an arrow per implication."""
    flagged, families = facts["flagged"], facts["families"]
    numbers = {name: k + 1 for k, name in enumerate(flagged)}
    alone = [[name] for name in flagged if not any(name in kin for kin in families)]
    groups = [sorted(kin, key=lambda name: -flagged[name]) for kin in [*families, *alone]]
    groups.sort(key=lambda kin: -flagged[kin[0]])
    order = [name for kin in groups for name in kin]
    most = max(1, *(_draw_size(n, facts["patients"]) for n in flagged.values()))
    bars = [
        {
            "name": name,
            "number": numbers[name],
            "patients": n,
            "few": 0 < n < FEWEST_SHOWN,
            "shown": show_group(n, facts["patients"]),
            "y": k * ROW,
            "width": round(BARS * _draw_size(n, facts["patients"]) / most, 1),
        }
        for k, (name, n) in enumerate((name, flagged[name]) for name in order)
    ]
    arrows = []
    for lane, (narrow, wide) in enumerate(facts["within"], 1):  # each in a lane of its own
        first, last = ((order.index(name) + 0.5) * ROW for name in (narrow, wide))
        path, tip = f"M0,{first} H{ARC * lane} V{last} H{TIP}", f"M0,{last} l{TIP},-4 v8 z"
        arrows.append({"path": path, "tip": tip, "narrow": narrow, "wide": wide})
    brackets = [
        {"y": order.index(kin[0]) * ROW, "height": len(kin) * ROW} for kin in groups if len(kin) > 1
    ]
    width = ARC * (len(arrows) + 1)
    return {"bars": bars, "arrows": arrows, "brackets": brackets, "lanes": width, "row": ROW}


def _draw_size(size: int, n: int) -> int:
    """Return the size that a bar shows: it may not be longer than a text says."""
    if 0 < size < FEWEST_SHOWN:
        return FEWEST_SHOWN
    return n if 0 < n - size < FEWEST_SHOWN else size


def draw_shares(facts: Facts) -> Facts:
    """Return a cell per pair of rules: the share that the column flags of the row's patients."""
    flagged, within = facts["flagged"], {tuple(pair) for pair in facts["within"]}
    cells = [
        {
            "x": s * CELL,
            "y": r * CELL,
            "row": name,
            "column": other,
            "text": (text := "" if r == s else _write_share(share, flagged[name])),
            "same": r == s,
            "shade": 0.0 if text in ("", "few") else round(DARKEST * (share or 0.0), 3),
            "within": (name, other) in within,
        }
        for r, (name, row) in enumerate(facts["overlap"].items())
        for s, (other, share) in enumerate(row.items())
    ]
    return {"cells": cells, "names": list(flagged), "cell": CELL}


def _write_share(share: float | None, patients: int) -> str:
    if not patients:
        return "\u2013"
    if share is None or patients < FEWEST_SHOWN:
        return "few"
    both = round(share * patients)
    if 0 < both < FEWEST_SHOWN:
        return "few"
    if 0 < patients - both < FEWEST_SHOWN:
        return "nearly all"
    return "all" if both == patients else f"{share:.0%}"


def draw_patterns(facts: Facts) -> Facts:
    """Return a row per pattern of rules: a dot per rule, and a bar of the patients who have it."""
    names = list(facts["flagged"])
    most = max([1, *(one["patients"] or 0 for one in facts["patterns"])])
    rows = [
        {
            "y": k * DOT,
            "dots": [name in one["rules"] for name in names],
            "rules": one["rules"],
            "patients": one["patients"],
            "width": round(BARS * (one["patients"] or 0) / most, 1),
        }
        for k, one in enumerate(facts["patterns"])
    ]
    return {"rows": rows, "names": names, "dot": DOT, "left": DOT * len(names) + 16}
