"""The tables of docs/model_tables.md, between their marks, from benchmarks/latent.py's rows."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from studies.markdown import fill_marks, group_by, has_mark, join_blocks, markdown_table, share
from studies.pages.gold import gold_table
from studies.records import Json
from unelisa.latent.consensus.doubt import APART, MISFIT, SHARE
from unelisa.latent.consensus.pool import RATE

STRUCTURES = ("auto", "plain", "ease", "tilt", "families", "edges")
DOUBT = (SHARE, MISFIT, APART)
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


def parts_table(rows: Sequence[Json]) -> str:
    """Return every structure forced in turn, three cells a row, and the mean over all cells."""
    names = (*STRUCTURES, "oracle")
    cells = group_by([{**row, "row": row["cell"].rsplit("-", 1)[0]} for row in rows], "row")
    order = [f"{level}-{voters}" for level in ("high", "medium", "low") for voters in (25, 49, 81)]
    table = [
        [key.replace("-", " "), *(share(mean(v["scores"][x] for v in cells[key,])) for x in names)]
        for key in order
    ]
    table.append(["**mean**", *(with_error(v["scores"][x] for v in rows) for x in names)])
    gaps = [[v["scores"][x] - v["scores"]["oracle"] for v in rows] for x in STRUCTURES]
    table.append(["minus the oracle", *(with_error(gap, form="+") for gap in gaps), ""])
    return markdown_table(["cells", *names], table)


def real_table(rows: Sequence[Json]) -> str:
    """Return every structure on every real set, and means with standard errors over the sets."""
    found = {(row["set"], row["structure"]): row for row in rows}
    sets = list(dict.fromkeys(name for name, _ in found))
    header = ["set", "structure kept", "coherence", *STRUCTURES, "balanced (auto)", "CPU s"]
    table: list[list[Any]] = []
    for name in sets:
        auto = found[name, "auto"]
        shown = [share(found[name, structure]["accuracy"]) for structure in STRUCTURES]
        facts = [auto["kept"], f"{auto['coherence']:.2f}"]
        table.append([name, *facts, *shown, share(auto["balanced"]), f"{auto['seconds']:.2f}"])
    columns = {x: [found[name, x]["accuracy"] for name in sets] for x in STRUCTURES}
    balanced = with_error((found[name, "auto"]["balanced"] for name in sets), 4)
    means = [with_error(columns[x], 4) for x in STRUCTURES]
    gaps = [
        [None if a is None else a - b for a, b in zip(columns[x], columns["auto"], strict=True)]
        for x in STRUCTURES[1:]
    ]
    median = np.median([found[name, "auto"]["seconds"] for name in sets])
    table.append(["**mean**", "", "", *means, balanced, f"median {median:.2f}"])
    shown = [with_error(gap, 4, "+") for gap in gaps]
    table.append(["minus auto, same sets", "", "", "", *shown, "", ""])
    return markdown_table(header, table)


def medical_table(rows: Sequence[Json]) -> str:
    """Return the breast cancer data with one and with nine thresholds per feature."""
    table: list[list[Any]] = []
    for row in rows:
        shares = [share(row[name]) for name in ("accuracy", "balanced", "majority")]
        facts = [f"{row['seconds']:.1f}", "yes" if row["reliable"] else "no"]
        table.append([row["thresholds"], *shares, *facts])
    header = ["thresholds per feature", "accuracy", "balanced", "majority vote", "CPU s"]
    return markdown_table([*header, "called reliable"], table)


def rate_table(rows: Sequence[Json]) -> str:
    """Return each weight of the class rate, and the one that is best on the other sets."""
    rates = sorted({row["rate"] for row in rows}, reverse=True)
    sets = list(dict.fromkeys(row["set"] for row in rows))
    found = {(row["set"], row["rate"]): row["accuracy"] for row in rows}
    scores = np.array([[found[name, rate] for rate in rates] for name in sets])
    others = (scores.sum(0) - scores) / (len(sets) - 1)
    left_out = scores[np.arange(len(sets)), others.argmax(1)]
    columns = [*scores.T, left_out]
    used = scores[:, rates.index(RATE)]
    gaps = [with_error(x - used, 4, "+") if (x != used).any() else "" for x in columns]
    table = [
        ["mean accuracy", *(with_error(x, 4) for x in columns)],
        [f"minus weight {RATE}, same sets", *gaps],
    ]
    return markdown_table(["weight", *rates, "chosen on the other sets"], table)


def doubt_table(rows: Sequence[Json]) -> str:
    """Return log loss with the product's doubt, and with the doubt that is best on other sets."""
    keys = ("share", "misfit", "apart")
    grid = list(dict.fromkeys(tuple(row[key] for key in keys) for row in rows))
    sets = list(dict.fromkeys(row["set"] for row in rows))
    found = {(row["set"], *(row[key] for key in keys)): row["log_loss"] for row in rows}
    losses = np.array([[found[name, *point] for point in grid] for name in sets])
    best = (losses.sum(0) - losses).argmin(1)  # of the sum over all other sets
    used, left_out = losses[:, grid.index(DOUBT)], losses[np.arange(len(sets)), best]
    table: list[list[Any]] = [
        [name, share(a), share(b), f"{b - a:+.3f}", *map(_short, grid[k])]
        for name, a, b, k in zip(sets, used, left_out, best, strict=True)
    ]
    means = [with_error(x) for x in (used, left_out)]
    table.append(["**mean**", *means, with_error(left_out - used, form="+"), "", "", ""])
    header = ["set", "as shipped", "chosen on the other sets", "difference", *keys]
    ends = sorted({point[1:] for point in grid})
    by_share = [
        [_short(least), *(share(losses[:, grid.index((least, *end))].mean()) for end in ends)]
        for least in sorted({point[0] for point in grid})
    ]
    columns = [f"misfit {_short(misfit)}, apart {_short(apart)}" for misfit, apart in ends]
    return join_blocks(
        markdown_table(header, table),
        "Mean log loss over all sets at every point of the grid:",
        markdown_table(["share", *columns], by_share),
    ).rstrip("\n")


def _short(number: float) -> str:
    return f"{number:g}".removeprefix("0")


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
    "parts": parts_table,
    "real": real_table,
    "gold": gold_table,
    "medical": medical_table,
    "rate": rate_table,
    "doubt": doubt_table,
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
