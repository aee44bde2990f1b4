"""Findings and pages of a model, with the items judged on the way."""

from unelisa.report.findings import collect_findings
from unelisa.report.judged import Judged, Reference
from unelisa.report.page import render_report


def findings_of(model, votes=None, truth=None, comparison=(), **more):
    judged = None if votes is None else Judged.of(model, votes)
    reference = None if truth is None else Reference.of(model, judged, truth, comparison)
    return collect_findings(model, judged, reference=reference, **more)


def page_of(model, votes, truth=None, comparison=(), **more):
    findings = findings_of(model, votes, truth, comparison, **more)
    return render_report(findings, Judged.of(model, votes))
