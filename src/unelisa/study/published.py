"""The published numbers of section 5.1, with the table and the row they stand in."""

from typing import NamedTuple

from unelisa.study.cells import LEVELS, SIZES, VOTERS, Cell

# The paper's columns in its order, under the names that this study uses.
PUBLISHED_COLUMNS = (
    "hit_rate",
    "precision",
    "unelisa-bayes",
    "unelisa-amv",
    "spectral-meta-learner",
    "latent-spectral-meta-learner",
    "dawid-skene",
    "majority-vote",
)

# Tables 5.1 (high), 5.2 (medium) and 5.3 (low): rows p = 25, 49, 81, each with d_0 = log p, sqrt p
# and p / 4.
_TABLES = {
    "high": """
        0.986 0.987 0.942 0.946 0.647 0.581 0.513 0.607
        0.998 1     0.981 0.981 0.409 0.221 0.459 0.429
        0.986 0.996 0.994 0.994 0.978 0.790 0.568 0.732
        0.984 0.991 0.960 0.958 0.728 0.731 0.509 0.599
        0.984 0.989 0.994 0.994 0.988 0.968 0.566 0.787
        0.958 0.995 0.994 0.997 0.525 0.909 0.532 0.642
        0.984 0.992 0.984 0.984 0.692 0.674 0.509 0.617
        0.991 0.998 0.998 0.998 0.282 0.927 0.531 0.609
        0.656 0.754 0.995 0.995 0.696 0.107 0.511 0.548
    """,
    "medium": """
        0.984 0.989 0.934 0.939 0.596 0.365 0.519 0.584
        0.971 0.993 0.941 0.950 0.499 0.606 0.498 0.574
        0.901 0.959 0.989 0.986 0.920 0.381 0.519 0.674
        0.982 0.995 0.959 0.959 0.728 0.577 0.500 0.612
        0.967 0.984 0.899 0.909 0.392 0.257 0.494 0.370
        0.804 0.891 0.996 0.990 0.952 0.891 0.572 0.720
        0.985 0.997 0.984 0.984 0.460 0.636 0.527 0.614
        0.906 0.929 0.995 0.995 0.064 0.824 0.492 0.468
        0.462 0.685 0.796 0.790 0.852 0.781 0.509 0.507
    """,
    "low": """
        0.978 0.986 0.946 0.940 0.772 0.548 0.533 0.665
        0.921 0.985 0.936 0.938 0.497 0.350 0.458 0.418
        0.838 0.788 0.976 0.979 0.922 0.823 0.577 0.860
        0.942 0.980 0.955 0.957 0.529 0.413 0.506 0.647
        0.475 0.487 0.888 0.897 0.698 0.668 0.611 0.916
        0.481 0.685 0.773 0.794 0.894 0.283 0.483 0.712
        0.963 0.988 0.981 0.981 0.461 0.361 0.514 0.557
        0.498 0.492 0.903 0.912 0.901 0.218 0.527 0.691
        0.112 0.292 0.711 0.704 0     0.215 0.390 0.260
    """,
}


class PublishedRow(NamedTuple):
    """One row of the paper: its table, its position from 1, and its eight numbers by column."""

    table: str
    row: int
    figures: dict[str, float]


def _read_tables() -> dict[Cell, PublishedRow]:
    rows = {}
    for number, level in enumerate(LEVELS, 1):
        cells = [Cell(level, p, size) for p in VOTERS for size in SIZES]
        lines = _TABLES[level].strip().splitlines()
        for row, (cell, line) in enumerate(zip(cells, lines, strict=True), 1):
            figures = zip(PUBLISHED_COLUMNS, map(float, line.split()), strict=True)
            rows[cell] = PublishedRow(f"5.{number}", row, dict(figures))
    return rows


PUBLISHED = _read_tables()
