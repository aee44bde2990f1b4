"""docs/rules.md, made from the archive: numbers come from there, words from here."""

from collections.abc import Sequence

import numpy as np

from studies.markdown import DASH, group_by, join_blocks, markdown_table, share
from studies.records import Json
from studies.rules.runs import CHARTS, PARTS
from studies.rules.worlds import PATIENTS
from unelisa.ehr.rules.evaluation import MOST_DOUBTFUL, QUANTITIES, WIDEST

_TITLES = {"ppv": "PPV", "npv": "NPV"}
AIMS = {"sensitivity": 0.05, "specificity": 0.02, "ppv": 0.10}

_INTRODUCTION = """# Existing rules, judged

`evaluate_rules` says how good definitions of a disease are, without chart review. Here its figures
are compared with the truth of simulated diseases, among {patients:,} patients each (without the
cases that are left out to make arthritis rarer):

{diseases}

At each of three prevalences there are three separate rules, three nested ones, and six. How many
judges there are, what they are, and the limits beyond which a figure is not told (an interval
wider than {sensitivity} for sensitivity and {other} for the others; sensitivity, if more than
{doubtful:.0%} of the patients whom the anchors show may not be cases, by the other features) were
chosen on seeds {choosing}; the tables show seeds {reporting}, which played no part in the choice.

All numbers are in `docs/study/rules.json`. These commands, run in a clone, write this page:

```
unelisa reproduce rules --from docs/study/rules.json --out docs    # from the stored numbers
unelisa reproduce rules --part reporting --out docs    # run what is missing
```
"""

_MAIN = """## Without charts

Mean absolute error of the figures that are told, the share of their intervals that hold, and in
parentheses how many of all figures are told. The aims are errors of at most .05 (sensitivity), .02
(specificity) and .10 (PPV), and intervals that hold in 85 % of cases; what cannot be told is to be
left out. *not reliable* counts the worlds, of ten, whose phenotyper reports that it is not
reliable; no figure is told there."""

_OTHERS = """## With charts, and by agreement alone

Mean absolute errors of the same rules in other ways. *{charts} charts* are drawn in strata of
P(case), as by `unelisa phenotype --charts {charts}`: error, and the share of intervals that hold.
Intervals of NPV fail where one case is found among the few charts that stand for most patients.
The error of sensitivity stays large where the disease is rare, as its intervals say (they are
{width} wide on average at the lowest prevalence): charts among tens of thousands of patients whom a
rule does not flag do not show a handful of cases. *agreement* treats the rules as voters who err
independently (Dawid-Skene) and looks at no record: nested rules, and errors that rules share,
mislead it."""


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
    shown = {cell["simulator"] for cell in cells}
    introduction = _INTRODUCTION.format(
        diseases="\n".join(f"- *{k}*, {x}." for k, x in _DISEASES.items() if k in shown),
        patients=PATIENTS,
        sensitivity=share(WIDEST[0], 2),
        other=share(WIDEST[1], 1),
        doubtful=MOST_DOUBTFUL,
        choosing=PARTS["choosing"].replace("-", " to "),
        reporting=PARTS["reporting"].replace("-", " to "),
    )
    if not cells:
        return join_blocks(introduction)
    rarest = min(cell["prevalence"] for cell in cells)
    width = mean_of([c for c in cells if c["prevalence"] == rarest], "sensitivity", "charts")
    return join_blocks(
        introduction,
        _MAIN,
        _sum_up(cells),
        _show_told(cells),
        _OTHERS.format(charts=CHARTS, width=share(width["width"], 2)),
        _show_others(cells),
    )


def mean_of(cells: Sequence[Json], quantity: str, way: str) -> Json:
    """Return error, share of intervals that hold and width over all figures told in some cells."""
    rows = [cell["figures"][quantity] for cell in cells]
    told = np.array([row[way]["told"] for row in rows], dtype=np.float64)
    total = float(told.sum())
    if not total:
        return {"told": 0, "error": None, "held": None, "width": None}
    means = {
        key: float(sum(n * (row[way][key] or 0) for n, row in zip(told, rows, strict=True))) / total
        for key in ("error", "width")
    }
    return {"told": int(total), "held": sum(row[way]["held"] for row in rows) / total, **means}


def _sum_up(cells: Sequence[Json]) -> str:
    parts = []
    for quantity, aim in AIMS.items():
        found = mean_of(cells, quantity, "records")
        n = sum(cell["figures"][quantity]["n"] for cell in cells)
        missed = [
            f"{cell['simulator']} at {cell['prevalence']:.1%} with {cell['rules']} rules"
            for cell in cells
            if (cell["figures"][quantity]["records"]["error"] or 0) > aim
        ]
        words = f" (more than {share(aim, 2)} for {', '.join(missed)})" if missed else ""
        parts.append(
            f"the error of {_name(quantity)} is {share(found['error'])} on average{words}, and "
            f"{share(found['held'])} of its intervals hold ({found['told']} of {n} figures told)"
        )
    return f"Over all cells, {'; '.join(parts)}."


def _show_told(cells: Sequence[Json]) -> str:
    table = []
    for cell in cells:
        shown = [_write_told(cell["figures"][quantity], "records") for quantity in QUANTITIES]
        unreliable = cell["worlds"] - cell["reliable"]
        place = (cell["simulator"], f"{cell['prevalence']:.1%}", cell["rules"], unreliable)
        table.append([*place, *shown])
    header = ["disease", "prevalence", "rules", "not reliable", *map(_name, QUANTITIES)]
    return markdown_table(header, table)


def _write_told(figure: Json, way: str) -> str:
    found = figure[way]
    if not found["told"]:
        return f"{DASH} (0 of {figure['n']})"
    held = share(found["held"] / found["told"], 2)
    return f"{share(found['error'])}, {held} ({found['told']} of {figure['n']})"


def _show_others(cells: Sequence[Json]) -> str:
    table = []
    for (simulator, prevalence), rows in group_by(cells, "simulator", "prevalence").items():
        for row in rows:
            shown = []
            for quantity in QUANTITIES:
                found = row["figures"][quantity]
                charts = found["charts"]
                held = share(charts["held"] / charts["told"], 2) if charts["told"] else DASH
                shown += [f"{share(charts['error'])}, {held}", share(found["agreement"])]
            table.append([simulator, f"{prevalence:.1%}", row["rules"], *shown])
    header = ["disease", "prevalence", "rules"]
    for quantity in QUANTITIES:
        header += [f"{_name(quantity)}: {CHARTS} charts", "agreement"]
    return markdown_table(header, table)


def _name(quantity: str) -> str:
    return _TITLES.get(quantity, quantity)
