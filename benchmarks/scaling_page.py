"""The scaling benchmark's numbers as text, in docs/scaling.md."""

from pathlib import Path

from marks import fill_marks, table

PAGE = Path(__file__).parents[1] / "docs" / "scaling.md"
CLUSTER = 1_000_000_000  # items of the worked plan
CORES = 64


def growth_table(report: dict) -> str:
    rows = [["items x voters", "UnElisa", "an item", "memory", "LatentIsing", "an item", "memory"]]
    for one, other in zip(
        report["growth"]["UnElisa"], report["growth"]["LatentIsing"], strict=True
    ):
        items = one["items"]
        rows.append(
            [
                f"{items:,} x {one['voters']}",
                f"{one['cpu']:.2f} s",
                f"{1e6 * one['cpu'] / items:.1f} µs",
                f"{one['peak_mb']:.0f} MB",
                f"{other['cpu']:.2f} s",
                f"{1e6 * other['cpu'] / items:.1f} µs",
                f"{other['peak_mb']:.0f} MB",
            ]
        )
    return table(rows)


def places_table(report: dict) -> str:
    mapped, labels, sparse = report["mapped"], report["labels"], report["sparse"]
    latent = report["latent"]
    size = f"{mapped['items']:,} x {mapped['voters']}"
    million = mapped["items"] / 1e6
    gigabytes = mapped["items"] * mapped["voters"] / 1e9
    return table(
        [
            ["what", "CPU", "peak memory above the interpreter"],
            [
                f"store {size} votes from {mapped['files_mb']:,.0f} MB of Parquet",
                f"{mapped['store']['cpu']:.0f} s",
                f"{mapped['store']['peak_mb']:.0f} MB",
            ],
            [
                f"fit `UnElisa` to them, {gigabytes:.0f} GB in a file",
                f"{mapped['fit']['cpu']:.0f} s ({mapped['fit']['cpu'] / million:.2f} s a million)",
                f"{mapped['fit']['peak_mb']:.0f} MB",
            ],
            [
                f"fit `LatentIsing` to {latent['items']:,} x {latent['voters']} votes in a file",
                f"{latent['cpu']:.0f} s ({1e6 * latent['cpu'] / latent['items']:.2f} s a million)",
                f"{latent['peak_mb']:.0f} MB",
            ],
            [
                f"`unelisa fit FOLDER --memory 500MB --save` on the {mapped['items']:,} items",
                f"{mapped['command']['cpu']:.0f} s",
                f"{mapped['command']['peak_mb']:.0f} MB",
            ],
            [
                f"label {labels['items']:,} items of {labels['voters']} voters, Parquet to Parquet",
                f"{labels['cpu']:.1f} s ({labels['items'] / labels['cpu'] / 1e6:.2f} million "
                "items a second)",
                f"{labels['peak_mb']:.0f} MB",
            ],
            [
                f"fit `LatentIsing` to {sparse['votes']:,} sparse votes on {sparse['items']:,} x "
                f"{sparse['voters']:,}",
                f"{sparse['fit']['cpu']:.0f} s",
                f"{sparse['fit']['peak_mb']:.0f} MB",
            ],
        ]
    )


def dask_line(report: dict) -> str:
    dask = report["dask"]
    best = min(dask["rounds"], key=lambda one: one["dask"]["cpu"] / one["memory"]["cpu"])
    worst = max(dask["rounds"], key=lambda one: one["dask"]["cpu"] / one["memory"]["cpu"])
    memory = sorted(one["memory"]["cpu"] for one in dask["rounds"])[len(dask["rounds"]) // 2]
    there = sorted(one["dask"]["cpu"] for one in dask["rounds"])[len(dask["rounds"]) // 2]
    return (
        f"`UnElisa` at {dask['items']:,} x {dask['voters']}: {memory:.2f} s of CPU in memory, "
        f"{there:.2f} s on two worker processes with one partition each, scheduler and client "
        f"included: {there / memory - 1:+.0%} (medians of {len(dask['rounds'])} rounds; "
        f"{best['dask']['cpu'] / best['memory']['cpu'] - 1:+.0%} to "
        f"{worst['dask']['cpu'] / worst['memory']['cpu'] - 1:+.0%}). The cluster takes "
        f"{dask['idle_cpu_per_second']:.2f} s of CPU a second when idle; its profiler is "
        f"off. The weights differ by at most {dask['apart']:.1g}."
    )


def plan_table(report: dict) -> str:
    mapped, labels = report["mapped"], report["labels"]
    fit = mapped["fit"]["cpu"] / mapped["items"]
    store = mapped["store"]["cpu"] / mapped["items"]
    label = labels["cpu"] / labels["items"]
    names = ("read and encode the partitions", "fit `UnElisa`", "label every item")
    each = (store, fit, label)
    rows = [["step", "CPU a million items", "core hours", f"wall time on {CORES} cores"]]
    for name, seconds in [*zip(names, each, strict=True), ("all", sum(each))]:
        total = CLUSTER * seconds
        rows.append(
            [name, f"{1e6 * seconds:.2f} s", f"{total / 3600:.2f}", f"{total / CORES:.0f} s"]
        )
    return table(rows)


def machine_line(report: dict) -> str:
    machine = report["mapped"]["machine"]
    loads = [report[part]["machine"]["load"] for part in report]
    return (
        f"Measured {machine['date']} on {machine['processor']}, {machine['cores']} cores, Python "
        f"{machine['python']}, NumPy {machine['numpy']}; others' load {min(loads):.1f} to "
        f"{max(loads):.1f}."
    )


def write_page(report: dict) -> None:
    """Put the tables between the page's marks."""
    parts = {
        "growth": growth_table,
        "places": places_table,
        "dask": dask_line,
        "plan": plan_table,
        "machine": machine_line,
    }
    fill_marks(PAGE, {name: part(report) for name, part in parts.items()})
