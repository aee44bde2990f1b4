"""The looks of all figures, and how they are saved.

Colors are Okabe and Ito's, which color-blind readers can tell apart, and no figure relies on color
alone. The same results give the same SVG file, byte for byte.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unelisa.errors import missing_extra
from unelisa.outputs import whole_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, GRAY = "#0072B2", "#D55E00", "#009E73", "#767676"
_LOOKS: dict[Any, Any] = {
    "svg.hashsalt": "unelisa",  # identifiers inside an SVG would otherwise be random
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.constrained_layout.use": True,
}


@contextmanager
def drawing() -> Iterator[None]:
    """Draw with the studies' looks; if matplotlib is missing, name the extra that installs it."""
    try:
        import matplotlib as mpl  # noqa: PLC0415 - an optional package
    except ImportError:
        raise missing_extra("figures need matplotlib", "report") from None
    with mpl.rc_context(_LOOKS):
        yield


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure; sizes are in inches."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - an optional package

    return Figure(figsize=(width, height))


def draw_box(axes: "Axes", height: float, values: Sequence[float], color: str) -> None:
    """Draw a horizontal box over the central half of the values, whiskers over 90 %."""
    axes.boxplot(
        values, positions=[height], orientation="horizontal", whis=(5, 95), widths=0.6,
        showfliers=False, patch_artist=True, manage_ticks=False,
        boxprops={"facecolor": color, "alpha": 0.45}, medianprops={"color": "k"},
    )  # fmt: skip


def save_figure(figure: "Figure", folder: Path, name: str) -> list[Path]:
    """Write a figure as SVG and PNG, without a date, and return both paths."""
    paths = []
    for kind, metadata in (("svg", {"Date": None}), ("png", {"Software": None})):
        paths.append(folder / f"{name}.{kind}")
        with whole_file(paths[-1]) as draft:
            figure.savefig(draft, format=kind, dpi=150, metadata=metadata)
    return paths
