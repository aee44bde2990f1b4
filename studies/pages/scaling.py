"""The tables of docs/scaling.md, from the results of benchmarks/scaling.py and default.py."""

from pathlib import Path
from statistics import median

import numpy as np

from studies.markdown import fill_marks, markdown_table
from studies.records import Json

CLUSTER = 1_000_000_000  # items of the worked plan
CORES = 64
METHODS = ("UnElisa", "LatentIsing")
OURS = ("LatentIsing", "DawidSkene")  # timed beside crowd-kit


def growth_table(report: Json) -> str:
    """Return both methods on the same votes, as items and voters grow."""
    header = ["items x voters"]
    for method in METHODS:
        header += [method, "per item", "memory"]
    rows = []
    for cells in zip(*(report["growth"][method] for method in METHODS), strict=True):
        row = [f"{cells[0]['items']:,} x {cells[0]['voters']}"]
        for cell in cells:
            each = f"{1e6 * cell['cpu'] / cell['items']:.1f} µs"
            row += [f"{cell['cpu']:.2f} s", each, f"{cell['peak_mb']:.0f} MB"]
        rows.append(row)
    return markdown_table(header, rows)


def _per_million(part: Json, items: int) -> str:
    return f"{part['cpu']:.0f} s ({1e6 * part['cpu'] / items:.2f} s per million)"


def places_table(report: Json) -> str:
    """Return what fits and labels take when the votes are in files or sparse."""
    mapped, labels, sparse = report["mapped"], report["labels"], report["sparse"]
    items, crowd = mapped["items"], report["crowd"]
    size, stored = (f"{x['items']:,} x {x['voters']}" for x in (mapped, crowd))
    speed = f"{labels['items'] / labels['cpu'] / 1e6:.2f} million items per second"
    store = f"store {size} votes from {mapped['files_mb']:,.0f} MB of Parquet"
    fit = f"fit `UnElisa` to them, {items * mapped['voters'] / 1e9:.0f} GB in a file"
    command = f"`unelisa fit FOLDER --memory 500MB --save` on the {items:,} items"
    label = f"label {labels['items']:,} items of {labels['voters']} voters, Parquet to Parquet"
    cells = f"{sparse['votes']:,} sparse votes on {sparse['items']:,} x {sparse['voters']:,}"
    parts = [
        (store, f"{mapped['store']['cpu']:.0f} s", mapped["store"]),
        (fit, _per_million(mapped["fit"], items), mapped["fit"]),
        *(
            (
                f"fit `{method}` to a crowd of {stored} in a file",
                _per_million(crowd[method], crowd["items"]),
                crowd[method],
            )
            for method in METHODS
        ),
        (command, f"{mapped['command']['cpu']:.0f} s", mapped["command"]),
        (label, f"{labels['cpu']:.1f} s ({speed})", labels),
        (f"fit `LatentIsing` to {cells}", f"{sparse['fit']['cpu']:.0f} s", sparse["fit"]),
    ]
    rows = [[what, cpu, f"{part['peak_mb']:.0f} MB"] for what, cpu, part in parts]
    return markdown_table(["what", "CPU", "peak memory above the interpreter"], rows)


def dask_line(report: Json) -> str:
    """Return what Dask adds to a fit."""
    dask = report["dask"]
    rounds = dask["rounds"]
    ratios = sorted(one["dask"]["cpu"] / one["memory"]["cpu"] - 1 for one in rounds)
    memory, there = (median(one[place]["cpu"] for one in rounds) for place in ("memory", "dask"))
    return (
        f"`UnElisa` at {dask['items']:,} x {dask['voters']}: {memory:.2f} s of CPU in memory, "
        f"{there:.2f} s on two worker processes with one partition each, including scheduler and "
        f"client: {there / memory - 1:+.0%} (medians of {len(rounds)} rounds; {ratios[0]:+.0%} to "
        f"{ratios[-1]:+.0%}). An idle cluster uses {dask['idle_cpu_per_second']:.2f} s of CPU per "
        f"second; its profiler is off. The weights differ by at most {dask['apart']:.1g}."
    )


def plan_table(report: Json) -> str:
    """Return the worked plan for a cluster: both methods on the same kind of votes."""
    mapped, labels, crowd = report["mapped"], report["labels"], report["crowd"]
    read, label = mapped["store"]["cpu"] / mapped["items"], labels["cpu"] / labels["items"]
    fits = {method: crowd[method]["cpu"] / crowd["items"] for method in METHODS}
    steps = {"read and encode the partitions": read, "label every item": label}
    steps |= {f"fit `{method}`": each for method, each in fits.items()}
    steps |= {f"all, with `{method}`": read + each + label for method, each in fits.items()}
    rows = [
        [
            name,
            f"{1e6 * each:.2f} s",
            f"{CLUSTER * each / 3600:.2f}",
            f"{CLUSTER * each / CORES:.0f} s",
        ]
        for name, each in steps.items()
    ]
    header = ["step", "CPU per million items", "core hours", f"wall time on {CORES} cores"]
    return markdown_table(header, rows)


def machine_line(report: Json) -> str:
    """Return when and where it was measured."""
    machine = report["mapped"]["machine"]
    loads = [report[part]["machine"]["load"] for part in report]
    return (
        f"Measured {machine['date']} on {machine['processor']}, {machine['cores']} cores, Python "
        f"{machine['python']}, NumPy {machine['numpy']}; load of the machine {min(loads):.1f} to "
        f"{max(loads):.1f}."
    )


def long_line(report: Json) -> str:
    """Return what a long table costs on two workers, beside the same table in memory."""
    long = report["long"]
    memory, workers = long["memory"], long["workers"]
    return (
        f"A long table of {long['votes']:,} votes in Parquet files, read by two Dask workers "
        f"limited to 1 GB each, takes {workers['cpu']:.0f} s of CPU (reading, fit and labels, "
        f"scheduler included), {workers['cpu'] / memory['cpu']:.1f} times as much as in memory "
        f"({memory['cpu']:.0f} s); each worker used at most {max(workers['worker_mb']) / 1000:.2f} "
        f"GB. Of the {workers['items']:,} labels {workers['labels_that_differ']:,} differ, and "
        f"probabilities by at most {workers['largest_difference']:.0e}."
    )


def peers_table(report: Json) -> str:
    """Return the seconds of our methods beside crowd-kit's on the same votes."""
    header = ["votes, classes", "crowd-kit's Dawid-Skene"]
    header += [x for name in OURS for x in (f"`{name}`", "ratio")]
    rows = []
    for one in report["peers"]["found"]:
        theirs = one["crowd-kit"]
        row = [f"{one['votes']:,}, {one['classes']}", f"{theirs:.2f} s"]
        rows.append(row + [x for n in OURS for x in (f"{one[n]:.2f} s", f"{one[n] / theirs:.2f}")])
    return markdown_table(header, rows)


def votes_table(report: Json) -> str:
    """Return how the seconds of a fit grow with the votes, and the exponent of `LatentIsing`."""
    found = report["growth"]["found"]
    votes, seconds = found["votes"], found["seconds"]
    rows = [
        [f"{n:,}", *(f"{seconds[name][k]:.2f} s" for name in OURS)] for k, n in enumerate(votes)
    ]
    (slope, _), ours = np.polyfit(np.log(votes), np.log(seconds[OURS[0]]), 1), OURS[0]
    table = markdown_table(["votes", *(f"`{name}`" for name in OURS)], rows)
    return f"{table}\n\nThe exponent of votes in the seconds of `{ours}` is {slope:.2f}."


PARTS = {
    "growth": growth_table,
    "places": places_table,
    "dask": dask_line,
    "long": long_line,
    "plan": plan_table,
    "machine": machine_line,
}
DEFAULT_PARTS = {"peers": peers_table, "votes": votes_table}  # from results/default.json


def write_scaling(report: Json, page: Path) -> None:
    """Put the tables between the page's marks."""
    fill_marks(page, {name: part(report) for name, part in PARTS.items()})
