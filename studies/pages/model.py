"""The tables of docs/model_tables.md, between their marks, from benchmarks/latent.py's rows."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from studies.markdown import fill_marks, group_by, has_mark, markdown_table, share
from studies.pages.gold import gold_table
from studies.records import Json

OURS = "latent-ising"
METHODS = ("oracle", "latent-ising", "unelisa", "dawid-skene", "majority-vote")


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
    table: list[list[Any]] = []
    for (broken, size), values in sorted(group_by(rows, "broken", "size").items()):
        scores = {name: [v["scores"].get(name) for v in values] for name in METHODS}
        rivals = [name for name in METHODS if name != OURS and mean(scores[name])]
        best = "oracle" if "oracle" in rivals else max(rivals, key=lambda x: mean(scores[x]) or 0)
        lead = with_error(np.subtract(scores[OURS], scores[best]), form="+")
        others = [share(mean(scores[name])) for name in METHODS if name != OURS]
        d0 = {"sqrt": 7, "quarter": 13}[size]
        table.append([broken, d0, with_error(scores[OURS]), *others, lead])
    others = [name for name in METHODS if name != OURS]
    return markdown_table(["broken", "d0", OURS, *others, "less the best"], table)


def noise_table(rows: Sequence[Json]) -> str:
    """Return how often experts are claimed in votes without any truth."""
    table = []
    for (yes,), values in group_by(rows, "yes").items():
        claimed = sum(v["experts"] > 0 for v in values)
        table.append([yes, len(values), claimed, sum(v["reliable"] for v in values)])
    return markdown_table(["share of yes", "sets", "with an expert", "called reliable"], table)


def ensembles_table(rows: Sequence[Json]) -> str:
    """Return mean accuracies on votes of classifiers by kind, and wins and losses by .02."""
    names = (OURS, "majority-vote", "dawid-skene", "unelisa")
    table: list[list[Any]] = []
    for (kind,), values in group_by(rows, "kind").items():
        accuracy = {name: np.array([v[name]["accuracy"] for v in values]) for name in names}
        ours, majority = accuracy[OURS], accuracy["majority-vote"]
        leads = ours - np.maximum(majority, accuracy["dawid-skene"])
        counts = [int((sign * leads > 0.02).sum()) for sign in (1, -1)]
        means = [share(mean(accuracy[name])) for name in names]
        table.append([kind, len(values), *means, with_error(ours - majority, form="+"), *counts])
    more = ["latent-ising less majority", "better", "worse"]
    return markdown_table(["voters", "draws", *names, *more], table)


TABLES = {
    "broken": broken_table,
    "gold": gold_table,
    "noise": noise_table,
    "ensembles": ensembles_table,
}


def flatten(row: Json) -> Json:
    """Return a row's key and value in one."""
    return {**row["key"], **row["value"]}


def write_pages(rows: Sequence[Json], docs: Path) -> list[Path]:
    """Put every table that has rows between its marks, on whichever page has them."""
    mine = {part: [flatten(row) for row in rows if row["part"] == part] for part in TABLES}
    tables = {part: TABLES[part](mine[part]) for part in TABLES if mine[part]}
    written = []
    for page in sorted(docs.glob("*.md")):
        here = {part: table for part, table in tables.items() if has_mark(page, part)}
        if here:
            fill_marks(page, here)
            written.append(page)
    return written
