"""Findings and pages of a model, with the items judged on the way."""

import warnings
from functools import cache

import numpy as np

from latent.worlds import echo, sides
from unelisa.aggregators import LatentIsing
from unelisa.analysis.judged import Judged, Reference
from unelisa.errors import UnelisaWarning
from unelisa.report.findings import collect_findings
from unelisa.report.page import render_report
from unelisa.votes import Votes

HOSTILE = [  # names
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "=cmd|' /C calc'!A0",
    "x" * 10_000,
    "",
    "\u202eevil \u05e9\u05dc\u05d5\u05dd",
    "</style></script><svg onload=alert(2)>",
    "{{ 7 * 7 }} ${1} `x` &lt;b&gt;",
    "\u2028a\u0000b\u2029",
]


def findings_of(model, votes=None, truth=None, comparison=(), **more):
    judged = None if votes is None else Judged.of(model, votes)
    reference = None if truth is None else Reference.of(model, judged, truth, comparison)
    return collect_findings(model, judged, reference=reference, **more)


def page_of(model, votes, truth=None, comparison=(), **more):
    findings = findings_of(model, votes, truth, comparison, **more)
    return render_report(findings, Judged.of(model, votes))


@cache
def divided_crowd():
    """Six voters on their own and six who repeat another opinion: each may be the truth's side."""
    rng = np.random.default_rng(0)
    truth = sides(rng, 900, 0.4)
    opinion = echo(rng, truth, 0.55)
    columns = [echo(rng, truth, rng.uniform(0.7, 0.85)) for _ in range(6)]
    columns += [echo(rng, opinion, 0.98) for _ in range(6)]
    values = np.asfortranarray(np.array(columns, dtype=np.int8).T)
    items = np.array([f"patient {i}" for i in range(900)], dtype=object)
    names = np.array([f"worker {s}" for s in range(12)], dtype=object)
    return Votes.of_values(values, items, names, ("no", "yes"))


@cache
def divided_model():
    """What LatentIsing makes of the divided crowd: one family, two readings."""
    return fit_quietly(LatentIsing(), divided_crowd())


@cache
def family_model():
    """Three families, ten voters on their own, two who know nothing, a contrarian; one reading."""
    rng = np.random.default_rng(0)
    truth = sides(rng, 1500, 0.45)
    columns = [echo(rng, truth, rng.uniform(0.8, 0.95)) for _ in range(10)]
    for _ in range(3):
        opinion = echo(rng, truth, 0.8)
        columns += [echo(rng, opinion, 0.97) for _ in range(3)]
    columns += [*rng.choice([-1, 1], (2, 1500)), -echo(rng, truth, 0.75)]
    votes = Votes.of(np.array(columns, dtype=np.int8).T, coding="pm1")
    return fit_quietly(LatentIsing(), votes), votes


def fit_quietly(model, votes, y=None, **beside):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnelisaWarning)
        return model.fit(votes, y, **beside)
