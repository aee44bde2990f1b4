"""The report as one HTML file that loads nothing from outside."""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unelisa.aggregators import Aggregator
from unelisa.errors import MissingExtraError
from unelisa.outputs import whole_file
from unelisa.report.findings import SURE, Findings, collect_findings
from unelisa.votes import Votes

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATE = "page.html.j2"
LONGEST_NAME = 80
CHART_WIDTH, CHART_HEIGHT = 640, 160


def write_report(
    model: Aggregator,
    votes: Votes | None,
    path: str | Path,
    *,
    comparison: Sequence[Mapping[str, Any]] = (),
    seconds: float | None = None,
    notes: Sequence[str] = (),
) -> None:
    """Write the report on a fitted model as one self-contained HTML file.

    Parameters
    ----------
    model, votes, comparison, seconds, notes
        As in `collect_findings`.
    path
        The file, which appears whole or not at all.
    """
    findings = collect_findings(model, votes, comparison=comparison, seconds=seconds, notes=notes)
    page = render_page(findings)
    with whole_file(path) as draft:
        draft.write_text(page, encoding="utf-8")


def render_page(findings: Findings) -> str:
    """Return the page of some findings."""
    template = require_jinja().from_string(_read_template())
    return template.render(
        f=findings,
        figures=_figures(findings),
        bars=_bars(findings["histogram"]),
        chart=(CHART_WIDTH, CHART_HEIGHT),
    )


def require_jinja() -> "Environment":
    """Return the template engine, or say which extra brings it."""
    try:
        from jinja2 import Environment, StrictUndefined  # noqa: PLC0415 - an optional package
    except ImportError:
        raise MissingExtraError(
            'reports need jinja2; install it with: pip install "unelisa[report]"'
        ) from None
    engine = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    engine.filters.update(name=_name, percent=_percent, number=_number, seconds=_seconds)
    return engine


def _read_template() -> str:
    return files("unelisa.report").joinpath(TEMPLATE).read_text(encoding="utf-8")


def _figures(findings: Findings) -> list[dict[str, str]]:
    """Return the figures on top of the page: a value, and what it is."""
    items, crowd = findings["items"], findings["crowd"]
    role = "experts" if crowd["selects"] else "voters that count"
    shown = [{"value": f"{crowd['counted']} of {crowd['voters']}", "what": role}]
    if items is None:
        return shown
    shown = [
        {"value": f"{items['n']:,}", "what": "items labelled"},
        {"value": _percent(items["share_positive"]), "what": "labelled positive"},
        *shown,
    ]
    if items["sure"] is None:
        return [*shown, {"value": f"{items['ties']:,}", "what": "ties, counted as positive"}]
    sure = _percent(items["sure"] / items["n"])
    return [*shown, {"value": sure, "what": f"decided with a posterior over {SURE:.0%}"}]


def _bars(histogram: dict[str, Any] | None) -> list[dict[str, float]]:
    """Return the histogram's bars in the units of the chart."""
    if histogram is None:
        return []
    counts, edges = histogram["counts"], histogram["edges"]
    tallest, step = max(counts) or 1, CHART_WIDTH / len(counts)
    return [
        {
            "x": round(step * place + 1, 2),
            "width": round(step - 2, 2),
            "y": round(CHART_HEIGHT * (1 - count / tallest), 2),
            "height": round(CHART_HEIGHT * count / tallest, 2),
            "count": count,
            "low": edges[place],
            "high": edges[place + 1],
        }
        for place, count in enumerate(counts)
    ]


def _name(name: str) -> str:
    if not name.strip():
        return "(no name)"
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"  # noqa: RUF001 - a dash, as printed


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"  # noqa: RUF001


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f} s"  # noqa: RUF001
