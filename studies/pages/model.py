"""The tables of docs/model_tables.md, between their marks, from benchmarks/latent.py's rows."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from studies.markdown import fill_marks, group_by, has_mark, markdown_table, share
from studies.pages.gold import gold_table
from studies.records import Json

METHODS = (
    "oracle",
    "latent-ising",
    "unelisa",
    "unelisa, intercepts",
    "dawid-skene",
    "majority-vote",
)


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are not None; None if there are none."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def with_error(values: Iterable[float | None], digits: int = 3, form: str = "") -> str:
    """Return mean ± standard error; a dash if there are no values.

    Examples
    --------
    >>> with_error([.5, .7]), with_error([.01, .03], form="+"), with_error([None])
    ('.600 ±.100', '+0.020 ±.010', '-')
    """
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    shown = f"{np.mean(known):{form}.{digits}f}"
    error = np.std(known, ddof=1) / np.sqrt(len(known)) if len(known) > 1 else None
    return shown.removeprefix("0") + ("" if error is None else f" ±{share(float(error), digits)}")


def broken_table(rows: Sequence[Json]) -> str:
    """Return the designs with one assumption broken: means and paired differences over trials."""
    header = ["broken", "d0", *METHODS, "less the best", "worst trial", "its rarer class"]
    table: list[list[Any]] = []
    for (broken, size), values in sorted(group_by(rows, "broken", "size").items()):
        scores = {name: [v["scores"].get(name) for v in values] for name in METHODS}
        rivals = [name for name in METHODS if name != "latent-ising" and mean(scores[name])]
        best = "oracle" if "oracle" in rivals else max(rivals, key=lambda x: mean(scores[x]) or 0)
        leads = np.subtract(scores["latent-ising"], scores[best])
        # no expert found: the precision is 0 / 0 and counts as 0, as in the study
        found = np.nan_to_num([[v["hit_rate"], v["precision"]] for v in values]).mean(axis=0)
        lag, rarer = min((_lead(v["scores"]), v["rarer_class"]) for v in values)
        means = [with_error(scores[name]) for name in METHODS]
        worst = [with_error(leads, form="+"), f"{lag:+.3f}", f"{rarer:.1%}"]
        experts = [share(figure, 2) for figure in found]
        d0 = {"sqrt": 7, "quarter": 13}[size]
        table.append([broken, d0, *means, *worst, *experts, len(values)])
    return markdown_table([*header, "hit rate", "precision", "trials"], table)


def _lead(scores: dict[str, float]) -> float:
    """Return LatentIsing minus the oracle; without one, minus the best other method."""
    others = [value for name, value in scores.items() if name != "latent-ising"]
    return scores["latent-ising"] - scores.get("oracle", max(others))


def noise_table(rows: Sequence[Json]) -> str:
    """Return how often experts are claimed in votes without any truth."""
    table = []
    for (yes,), values in group_by(rows, "yes").items():
        claimed = sum(v["experts"] > 0 for v in values)
        table.append([yes, len(values), claimed, sum(v["reliable"] for v in values)])
    return markdown_table(["share of yes", "sets", "with an expert", "called reliable"], table)


def ensembles_table(rows: Sequence[Json]) -> str:
    """Return accuracy / balanced accuracy on votes of classifiers, and wins and losses by .02."""
    names = ("latent-ising", "majority-vote", "dawid-skene", "unelisa")
    table: list[list[Any]] = []
    for (kind, task), values in group_by(rows, "kind", "task").items():
        cells = [
            " / ".join(share(mean(v[name][f] for v in values)) for f in ("accuracy", "balanced"))
            for name in names
        ]
        accuracy = {name: np.array([v[name]["accuracy"] for v in values]) for name in names}
        ours, majority = accuracy["latent-ising"], accuracy["majority-vote"]
        leads = ours - np.maximum(majority, accuracy["dawid-skene"])
        counts = [int((sign * leads > 0.02).sum()) for sign in (1, -1)]
        table.append([kind, task, *cells, with_error(ours - majority, form="+"), *counts])
    more = ["latent-ising less majority", "draws better", "draws worse"]
    return markdown_table(["voters", "data", *names, *more], table)


TABLES = {
    "broken": broken_table,
    "gold": gold_table,
    "noise": noise_table,
    "ensembles": ensembles_table,
}


def flatten(row: Json) -> Json:
    """Return a row's key and value in one."""
    return {**row["key"], **row["value"]}


def add_intercepts(broken: Sequence[Json], rows: Sequence[Json]) -> None:
    """Add the paper's method with intercepts, measured later on the same votes, to its rows."""
    keys = ("size", "broken", "seed")
    found = {tuple(row[key] for key in keys): row["accuracy"] for row in rows}
    for row in broken:
        accuracy = found.get(tuple(row[key] for key in keys))
        if accuracy is not None:
            row["scores"]["unelisa, intercepts"] = accuracy


def write_pages(rows: Sequence[Json], docs: Path) -> list[Path]:
    """Put every table that has rows between its marks, on whichever page has them."""
    mine = {part: [flatten(row) for row in rows if row["part"] == part] for part in TABLES}
    add_intercepts(mine["broken"], [flatten(row) for row in rows if row["part"] == "intercepts"])
    tables = {part: TABLES[part](mine[part]) for part in TABLES if mine[part]}
    written = []
    for page in sorted(docs.glob("*.md")):
        here = {part: table for part, table in tables.items() if has_mark(page, part)}
        if here:
            fill_marks(page, here)
            written.append(page)
    return written
