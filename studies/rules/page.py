"""docs/rules.md, made from the archive: numbers come from there, words from here."""

from collections.abc import Iterable, Sequence

import numpy as np

from studies.markdown import DASH, group_by, join_blocks, markdown_table, share
from studies.records import Json
from studies.rules.runs import CHARTS, FEW_CHARTS, PARTS
from studies.rules.worlds import PATIENTS
from unelisa.ehr.rules.evaluation import QUANTITIES, WIDEST

_TITLES = {"ppv": "PPV", "npv": "NPV"}
AIMS = {"sensitivity": 0.05, "specificity": 0.02, "ppv": 0.10}

_INTRODUCTION = """# Existing rules, and labels, judged

`evaluate_rules` estimates the accuracy of definitions of a disease without chart review. Here its
estimates are compared with the truth of simulated diseases, among {patients:,} patients each
(fewer where cases are left out to make arthritis rarer):

{diseases}

At each prevalence there are three separate rules, three nested ones, and six. The judges, what
they allow for, and the limit beyond which nothing is estimated (an interval wider than {widest})
were chosen on seeds {choosing} and below; the tables show seeds {reporting}, which played no part
in any choice. The archive `docs/study/rules.json` has the three sets of rules one by one.

```
unelisa reproduce rules --from docs/study/rules.json --out docs    # from the stored numbers
unelisa reproduce rules --part reporting --out docs    # run what is missing
```
"""

_MAIN = """## Without charts

Mean absolute error of the estimates, the share of their intervals that hold, and in parentheses how
many of all were estimated. The aims are errors of at most .05 (sensitivity), .02 (specificity) and
.10 (PPV), and intervals that hold in 85 % of cases. *not reliable* counts the worlds whose
phenotyper reports that it is not reliable: at 5 % and less, because the PPV of its labels may be
low, which the judges of rules allow for: intervals of rare diseases are wide."""

_OTHERS = """## With charts, and by agreement alone

Mean absolute errors in other ways. *{charts} charts* are drawn in strata of P(case), as by
`unelisa phenotype --charts {charts}`: error, and the share of intervals that hold. Charts among
tens of thousands of patients whom a rule does not flag do not show a handful of cases: where the
disease is rarest, intervals of sensitivity are {width} wide. *agreement* treats the rules as voters
who err independently (Dawid-Skene) and looks at no record: nested rules and shared errors mislead
it."""

_LABELS = """## Labels where anchors share an error

The labels of the same worlds. Wrong codes are copied into notes in diabetes and lupus, so that both
anchors err together. *PPV* is the mean estimate, with the mean interval, and the true one; *held*
counts intervals that contain it. *silent*: P(case) of patients without any anchor record, estimated
and true. With charts, *flagged* is the fewest of {few} or {charts} that were drawn among patients
labeled as cases, and *error* the calibration error of P(case) without charts, with them, and by a
logistic curve fitted to the same charts (Platt)."""

_DISEASES = {
    "arthritis": "the package's own datamart, with mimics, care elsewhere and rule-out codes",
    "diabetes": """by a simulator of a different design: gamma-Poisson counts with a latent
  severity, habits of clinics that raise all counts of a patient, and wrong codes that are copied
  into problem lists and notes, so that both anchors, and the rules on codes, share an error""",
    "lupus": """by a third simulator: problem lists repeat an entry, right or wrong, at each later
  visit, so that the anchors share an error that nothing in their counts shows""",
}


def render_rules(archive: Json) -> str:
    """Return the page in Markdown."""
    cells = [cell for cell in archive["cells"] if cell["part"] == "reporting"]
    labels = [row for row in archive.get("labels", ()) if row["part"] == "reporting"]
    shown = {cell["simulator"] for cell in cells}
    introduction = _INTRODUCTION.format(
        diseases="\n".join(f"- *{k}*, {x}." for k, x in _DISEASES.items() if k in shown),
        patients=PATIENTS,
        widest=share(WIDEST, 1),
        choosing=PARTS["choosing"].replace("-", " to "),
        reporting=PARTS["reporting"].replace("-", " to "),
    )
    if not cells:
        return join_blocks(introduction)
    rarest = min(cell["prevalence"] for cell in cells)
    width = mean_of([c for c in cells if c["prevalence"] == rarest], "sensitivity", "charts")
    blocks = [introduction, _MAIN, _sum_up(cells), _show_estimated(cells)]
    blocks += [_OTHERS.format(charts=CHARTS, width=share(width["width"], 2)), _show_others(cells)]
    if labels:
        blocks += [_LABELS.format(few=FEW_CHARTS, charts=CHARTS), _show_labels(labels)]
    return join_blocks(*blocks)


def mean_of(cells: Sequence[Json], quantity: str, way: str) -> Json:
    """Return error, share of intervals that hold and width over all estimates in some cells."""
    rows = [cell["figures"][quantity] for cell in cells]
    told = np.array([row[way]["told"] for row in rows], dtype=np.float64)
    total, n = float(told.sum()), sum(row["n"] for row in rows)
    if not total:
        return {"told": 0, "n": n, "error": None, "held": None, "width": None}
    means = {
        key: float(sum(n * (row[way][key] or 0) for n, row in zip(told, rows, strict=True))) / total
        for key in ("error", "width")
    }
    held = sum(row[way]["held"] for row in rows) / total
    return {"told": int(total), "n": n, "held": held, **means}


def _sum_up(cells: Sequence[Json]) -> str:
    parts = []
    for quantity, aim in AIMS.items():
        found = mean_of(cells, quantity, "records")
        missed = [
            " at ".join(place)
            for place, rows in _group(cells)
            if (mean_of(rows, quantity, "records")["error"] or 0) > aim
        ]
        words = f" (more than {share(aim, 2)} for {', '.join(missed)})" if missed else ""
        parts.append(
            f"the error of {_name(quantity)} is {share(found['error'])} on average{words}, and "
            f"{found['held'] or 0:.1%} of its intervals hold ({found['told']} of {found['n']} are "
            "estimated)"
        )
    return f"Over all cells, {'; '.join(parts)}."


def _group(cells: Sequence[Json]) -> Iterable[tuple[list[str], list[Json]]]:
    """Yield disease and prevalence, and the cells of all sets of rules."""
    for (simulator, prevalence), rows in group_by(cells, "simulator", "prevalence").items():
        yield [simulator, f"{prevalence:.0%}"], rows


def _show_estimated(cells: Sequence[Json]) -> str:
    table = []
    for place, rows in _group(cells):
        shown = [_write(mean_of(rows, quantity, "records")) for quantity in QUANTITIES]
        table.append([*place, rows[0]["worlds"] - rows[0]["reliable"], *shown])
    header = ["disease", "prevalence", "not reliable", *map(_name, QUANTITIES)]
    return markdown_table(header, table)


def _write(found: Json) -> str:
    if not found["told"]:
        return f"{DASH} (0 of {found['n']})"
    return f"{share(found['error'])}, {share(found['held'], 2)} ({found['told']} of {found['n']})"


def _show_others(cells: Sequence[Json]) -> str:
    table = []
    for place, rows in _group(cells):
        for quantity in QUANTITIES:
            charts = mean_of(rows, quantity, "charts")
            held = share(charts["held"], 2) if charts["told"] else DASH
            weights = [row["figures"][quantity]["n"] for row in rows]
            agreed = [row["figures"][quantity]["agreement"] for row in rows]
            place.append(f"{share(charts['error'])}, {held}")
            place.append(share(float(np.average(agreed, weights=weights))))
        table.append(place)
    header = ["disease", "prevalence"]
    for quantity in QUANTITIES:
        header += [f"{_name(quantity)}: {CHARTS} charts", "agreement"]
    return markdown_table(header, table)


def _show_labels(rows: Sequence[Json]) -> str:
    table = []
    for row in rows:
        said, true = (share(x) for x in row["silent"])
        unreliable = str(row["worlds"] - row["reliable"])
        cells = [row["simulator"], f"{row['prevalence']:.0%}", unreliable]
        cells += [*_write_ppv(row["none"], row["worlds"]), f"{said}, {true}"]
        for n in (str(FEW_CHARTS), str(CHARTS)):
            errors = ", ".join(map(share, (row["none"]["error"], row[n]["error"], row[n]["platt"])))
            cells += [f"{row[n]['flagged']:.0f}", *_write_ppv(row[n], row["worlds"]), errors]
        table.append(cells)
    header = ["disease", "prevalence", "not reliable", "PPV, true", "held", "silent, true"]
    for few in (FEW_CHARTS, CHARTS):
        header += [f"{few} charts: flagged", "PPV, true", "held", "error"]
    return markdown_table(header, table)


def _write_ppv(found: Json, worlds: int) -> list[str]:
    value, low, high, true = (share(x, 2) for x in found["ppv"])
    return [f"{value} ({low} to {high}), {true}", f"{found['held']} of {worlds}"]


def _name(quantity: str) -> str:
    return _TITLES.get(quantity, quantity)
