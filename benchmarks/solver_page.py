"""The solver benchmark's numbers as text: on the terminal, and in docs/performance.md."""

from pathlib import Path

from marks import fill_marks, table

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
PEERS = ("adelie", "skglm", "python-glmnet", "celer", "liblinear", "saga")


def ratio(size: dict, peer: str) -> str:
    """How many times longer the peer takes; a dash where it did not run."""
    if peer not in size["cpu"]:
        return "-"
    return f"{size['cpu'][peer] / size['cpu']['unelisa']:.0f}x"


def seconds(value: float) -> str:
    return f"{value:.4f} s" if value < 0.1 else f"{value:.2f} s"


def print_ratios(size: dict) -> None:
    peers = ", ".join(f"{peer} {ratio(size, peer)}" for peer in PEERS if peer in size["cpu"])
    floor = size["cpu"]["unelisa"] / size["floor"]
    print(f"  unelisa {seconds(size['cpu']['unelisa'])} ({floor:.2f} products); {peers}")
    worst = max(size["kkt"].values())
    print(f"  violations: {size['kkt']['unelisa']:.1e} (ours), at most {worst:.1e} (all)")


def speed_table(report: dict) -> str:
    rows = [["items x voters", "intercepts", "unelisa", "in products", *PEERS]]
    for size in report["sizes"]:
        rows.append(
            [
                f"{size['items']:,} x {size['voters']:,}",
                "yes" if size["intercept"] else "no, biased votes" if size["biased"] else "no",
                seconds(size["cpu"]["unelisa"]),
                f"{size['cpu']['unelisa'] / size['floor']:.1f}",
                *(ratio(size, peer) for peer in PEERS),
            ]
        )
    return table(rows)


def growth_table(report: dict) -> str:
    alone, large, growth = report["alone"], report["large"], report["growth"]
    two, start = report["two_threads"], report["start"]
    base = f"{growth['base']['items']:,} x {growth['base']['voters']:,}"
    return table(
        [
            ["what", "measured"],
            [f"twice the items (from {base})", f"{growth['twice_items']:.2f} times the CPU time"],
            [f"twice the voters (from {base})", f"{growth['twice_voters']:.2f} times the CPU time"],
            ["46,568 x 1,400 against one product", f"{alone['cpu'] / alone['floor']:.2f} times"],
            ["46,568 x 1,400, memory above the votes", f"{alone['above_votes_mb']:.0f} MB"],
            [
                "46,568 x 1,400, wall time with two threads",
                f"{seconds(two['wall'])} (one: {seconds(alone['wall'])})",
            ],
            [
                "1,000,000 x 1,000",
                f"{seconds(large['cpu'])}, {large['cpu'] / large['floor']:.2f} products, "
                f"peak {large['peak_mb'] / 1024:.2f} GB with the votes",
            ],
            ["import of the solvers, CPU", seconds(start["import"])],
            ["first small solve of a process, warm cache, CPU", seconds(start["first_solve"])],
        ]
    )


def machine_line(report: dict) -> str:
    machine = report["machine"]
    return (
        f"Measured {machine['date']} on {machine['processor']}, {machine['cores']} cores "
        f"(load {machine['load_before']:.1f} before, {machine['load_after']:.1f} after), "
        f"Python {machine['python']}, NumPy {machine['numpy']}."
    )


def write_page(report: dict) -> None:
    """Put the tables between the page's marks."""
    parts = {"speed": speed_table(report), "growth": growth_table(report)}
    fill_marks(PAGE, parts | {"machine": machine_line(report)})
