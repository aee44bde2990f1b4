"""The section of docs/reproduction.md on LatentIsing: how near to the oracle, cell by cell."""

from collections.abc import Callable, Sequence

from unelisa.study.tables import CellTable, StudyTable
from unelisa.study.wording import markdown_table, place, share

NEAR, WITHIN, FOUND = 0.005, 0.03, 0.95
_HEADER = [
    "cell",
    "hit rate",
    "precision",
    "majority sign",
    "up to sign",
    "less the oracle",
    "less unElisa-Bayes",
]

_ONE_LABEL = """The paper's own sampler (first table) often never leaves one state of the truth:
there the mean distance |f̄₀| is near 1, and all items have the same label. Then nothing tells who
sees the truth. unElisa, whose voters have no fields, takes their lean for it; LatentIsing explains
the lean by fields, claims no expert and says that the result is not reliable.
"""


def show_latent(study: StudyTable) -> str:
    """Return the section; nothing where no trial has LatentIsing."""
    cells = [cell for cell in study["cells"] if "latent-ising" in cell["experts"]]
    if not cells:
        return ""
    counts = sorted({cell["up_to_sign"]["latent-ising"]["trials"] for cell in cells})
    lines = [
        "## Beyond the paper: LatentIsing on the same votes\n",
        f"The first {'-'.join(map(str, counts))} trials of every cell, {study['sampler']} sampler, "
        "with the defaults of `LatentIsing`. The last two columns are differences of accuracies up "
        "to a global sign on the same trials, ± their standard errors.\n",
        *markdown_table(_HEADER, [_row(cell) for cell in cells]),
        f"\nAccuracy up to sign within {share(NEAR)} of the oracle in "
        f"{_count(cells, lambda cell: _gap(cell, 'oracle') >= -NEAR)} cells and within "
        f"{share(WITHIN, 2)} in {_count(cells, lambda cell: _gap(cell, 'oracle') >= -WITHIN)}; hit "
        f"rate and precision both at least {share(FOUND, 2)} in {_count(cells, _finds_experts)}; "
        f"more than {share(NEAR)} below unElisa-Bayes in "
        f"{_count(cells, lambda cell: _gap(cell, 'unelisa-bayes') < -NEAR)}. A trial took "
        f"{study['seconds']['latent-ising']:.1f} s of processor time on average.\n",
        _ONE_LABEL,
    ]
    return "\n".join(lines)


def _row(cell: CellTable) -> list[str]:
    experts = cell["experts"]["latent-ising"]
    figures = [
        experts["hit_rate"],
        experts["precision"],
        cell["accuracy"]["latent-ising"],
        cell["up_to_sign"]["latent-ising"],
    ]
    gaps = [cell["gaps"][name] for name in ("oracle", "unelisa-bayes")]
    differences = [f"{x['mean']:+.3f} ±{share(x['standard_error'] or 0.0)}" for x in gaps]
    return [place(cell), *(share(x["mean"]) for x in figures), *differences]


def _gap(cell: CellTable, name: str) -> float:
    return round(cell["gaps"][name]["mean"], 3)


def _finds_experts(cell: CellTable) -> bool:
    experts = cell["experts"]["latent-ising"]
    return min(experts["hit_rate"]["mean"], experts["precision"]["mean"]) >= FOUND


def _count(cells: Sequence[CellTable], holds: Callable[[CellTable], bool]) -> str:
    return f"{sum(map(holds, cells))} of {len(cells)}"
