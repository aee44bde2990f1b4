"""The report as one HTML file that loads nothing from outside.

Names are untrusted: they are escaped, also in JSON; the Content-Security-Policy allows only the two
scripts of this package, by their hashes, and no requests.
"""

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators import Aggregator
from unelisa.analysis.judged import Judged, Reference
from unelisa.errors import missing_extra
from unelisa.outputs import whole_file
from unelisa.report import drawing, wording
from unelisa.report.answer import (
    advise,
    describe_certificate,
    list_contents,
    list_figures,
    list_origin,
    write_opening,
)
from unelisa.report.drawing import draw_graph, draw_prevalence
from unelisa.report.findings import MOST_LISTED, Findings, collect_findings, describe_next
from unelisa.report.labels import LARGEST, Download, pack_labels, pack_voters
from unelisa.report.voters import choose_columns, draw_dots
from unelisa.votes import Votes

if TYPE_CHECKING:
    from jinja2 import Environment

SCRIPTS = ("vendor/cytoscape.min.js", "templates/page.js")


def write_report(
    model: Aggregator,
    votes: Votes | None,
    path: str | Path,
    *,
    truth: NDArray[np.int8] | None = None,
    comparison: Sequence[Any] = (),
    show_items: bool = False,
) -> None:
    """Write the report on a fitted model as one HTML file; see `Aggregator.report`."""
    judged = None if votes is None else Judged.of(model, votes)
    reference = None
    if judged is not None and truth is not None:
        reference = Reference.of(model, judged, truth, comparison)
    findings = collect_findings(model, judged, reference, show_items=show_items)
    findings |= describe_next(model, judged, show_items=show_items)
    with whole_file(path) as draft:
        draft.write_text(render_report(findings, judged), encoding="utf-8")


def render_report(findings: Findings, judged: Judged | None = None, source: str = "") -> str:
    """Return the page of a model's findings, with the labels for its save button up to 2 MB."""
    labels = None if judged is None else pack_labels(judged, findings["uncertain"] is not None)
    page = _fill_page(findings, labels, source)
    return _fill_page(findings, None, source) if labels and len(page) > LARGEST else page


def _fill_page(findings: Findings, labels: Download | None, source: str) -> str:
    graph, voters, traced = findings["graph"], findings["voters"], findings["by_prevalence"]
    certificate = findings.get("certificate")
    # a burst of spokes without edges or families says nothing that the dot plot does not
    drawn = draw_graph(graph) if graph["links"] or graph["families"] else None
    dots = draw_dots(voters, graph["families"])
    return fill_template(
        "page.html.j2",
        [_read(name) for name in (SCRIPTS if drawn else SCRIPTS[1:])],
        f=findings,
        certificate=describe_certificate(certificate) if certificate else None,
        opening=write_opening(findings),
        advice=advise(findings),
        contents=list_contents(findings),
        who="judges" if "jury" in findings else "voters",
        figures=list_figures(findings),
        origin=list_origin(findings, source),
        columns=choose_columns(voters, findings["classes"]),
        order=[row["voter"] for row in dots["rows"]] if dots else range(len(voters)),
        dots=dots,
        most_listed=MOST_LISTED,
        best=wording.find_best(findings["comparison"]),
        scores=wording.choose_scores(findings["comparison"]),
        fitted=wording.describe_fit(findings),
        drawn=drawn,
        traced=draw_prevalence(traced, findings["prevalence"]) if traced else None,
        roles=wording.list_roles(findings),
        family_of=wording.number_families(findings),
        downloads=[*([labels] if labels else []), pack_voters(voters)],
        labels=labels,
    )


def fill_template(name: str, scripts: Sequence[str] = (), **values: Any) -> str:
    """Return a page with the package's style, these scripts, and a policy that allows only both."""
    style, allowed = _read("templates/page.css"), " ".join(map(_hash, scripts))
    policy = (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    values |= {"charts": drawing, "panel": drawing.PANEL, "measures": wording.MEASURES}
    values |= {"policy": policy, "scripts": scripts, "style": style}
    page = require_jinja().get_template(name).render(values)
    # half a surrogate pair in a name must not stop a report
    return page.encode("utf-8", "replace").decode("utf-8")


def require_jinja() -> "Environment":
    """Return the template engine, or say which extra installs it."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - optional
    except ImportError:
        raise missing_extra("reports need jinja2", "report") from None
    engine = Environment(
        loader=PackageLoader("unelisa.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    engine.filters.update(wording.FILTERS)
    return engine


def _read(name: str) -> str:
    return files("unelisa.report").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
