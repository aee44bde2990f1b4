"""The tables of docs/performance.md, from the results of benchmarks/solver.py."""

from pathlib import Path

import numpy as np

from studies.markdown import fill_marks, markdown_table
from studies.records import Json

PEERS = ("adelie", "skglm", "python-glmnet", "celer", "liblinear", "saga")


def ratio(size: Json, peer: str) -> str:
    """Return how many times longer the peer takes; a dash if it did not run."""
    if peer not in size["cpu"]:
        return "-"
    return f"{size['cpu'][peer] / size['cpu']['unelisa']:.0f}x"


def seconds(value: float) -> str:
    """Return seconds with as many digits as they need."""
    return f"{value:.4f} s" if value < 0.1 else f"{value:.2f} s"


def in_products(size: Json) -> float:
    """Return our time in units of one matrix product."""
    return float(size["cpu"]["unelisa"] / size["floor"])


def name_size(size: Json) -> str:
    """Return items x voters."""
    return f"{size['items']:,} x {size['voters']:,}"


def summarize_size(size: Json) -> str:
    """Return one size's results in two lines for the terminal."""
    peers = ", ".join(f"{peer} {ratio(size, peer)}" for peer in PEERS if peer in size["cpu"])
    ours = f"{seconds(size['cpu']['unelisa'])} ({in_products(size):.2f} products)"
    worst = max(size["kkt"].values())
    return (
        f"  unelisa {ours}; {peers}\n"
        f"  violations: {size['kkt']['unelisa']:.1e} (ours), at most {worst:.1e} (all)"
    )


def cost_line(report: Json) -> str:
    """Return what a solve costs in matrix products, over all measured problems."""
    even = [size for size in report["sizes"] if not size.get("rare")]
    sizes = sorted(even, key=in_products)
    costs = [in_products(size) for size in sizes]
    largest = max(sizes, key=lambda size: size["items"] * size["voters"] ** 2)
    return (
        f"In the table below all p regressions together take {costs[0]:.1f} to {costs[-1]:.0f} "
        f"times as long as one matrix product of that size (median {np.median(costs):.1f}): most "
        f"for {name_size(sizes[-1])}, where fixed costs dominate, and {in_products(largest):.1f} "
        f"times for {name_size(largest)}."
    )


def speed_table(report: Json) -> str:
    """Return our solver beside its peers."""
    rows = [
        [
            name_size(size),
            _name_kind(size),
            seconds(size["cpu"]["unelisa"]),
            f"{in_products(size):.1f}",
            *(ratio(size, peer) for peer in PEERS),
        ]
        for size in report["sizes"]
    ]
    return markdown_table(["items x voters", "intercepts", "unelisa", "in products", *PEERS], rows)


def _name_kind(size: Json) -> str:
    """Return whether there are intercepts, and what is special about the votes."""
    votes = "rare" if size.get("rare") else "biased" if size["biased"] else ""
    if size["intercept"]:
        return "yes, rare votes" if votes == "rare" else "yes"
    return f"no, {votes} votes" if votes else "no"


def growth_table(report: Json) -> str:
    """Return growth, memory, threads and start-up."""
    alone, large, growth = report["alone"], report["large"], report["growth"]
    two, start = report["two_threads"], report["start"]
    base = name_size(growth["base"])
    rows = [
        [f"twice the items (from {base})", f"{growth['twice_items']:.2f} times the CPU time"],
        [f"twice the voters (from {base})", f"{growth['twice_voters']:.2f} times the CPU time"],
        ["46,568 x 1,400 against one product", f"{alone['cpu'] / alone['floor']:.2f} times"],
        ["46,568 x 1,400, memory besides the votes", f"{alone['above_votes_mb']:.0f} MB"],
        [
            "46,568 x 1,400, wall time with two threads",
            f"{seconds(two['wall'])} (one: {seconds(alone['wall'])})",
        ],
        [
            "1,000,000 x 1,000",
            f"{seconds(large['cpu'])}, {large['cpu'] / large['floor']:.2f} products, "
            f"peak {large['peak_mb'] / 1024:.2f} GB including the votes",
        ],
        ["import of the solvers, CPU", seconds(start["import"])],
        ["first small solve of a process, warm cache, CPU", seconds(start["first_solve"])],
    ]
    return markdown_table(["what", "measured"], rows)


def machine_line(report: Json) -> str:
    """Return when and where it was measured."""
    machine = report["machine"]
    return (
        f"Measured {machine['date']} on {machine['processor']}, {machine['cores']} cores "
        f"(load {machine['load_before']:.1f} before, {machine['load_after']:.1f} after), "
        f"Python {machine['python']}, NumPy {machine['numpy']}."
    )


PARTS = {"cost": cost_line, "speed": speed_table, "growth": growth_table, "machine": machine_line}


def write_performance(report: Json, page: Path) -> None:
    """Put the tables between the page's marks."""
    fill_marks(page, {name: part(report) for name, part in PARTS.items()})
