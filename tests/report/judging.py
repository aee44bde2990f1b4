"""Findings and pages of a model, with the items judged on the way."""

import warnings
from functools import cache

import numpy as np

from latent.worlds import echo, repeating_crowd, sides
from unelisa.aggregators import LatentIsing
from unelisa.errors import UnelisaWarning
from unelisa.report.findings import collect_findings
from unelisa.report.judged import Judged, Reference
from unelisa.report.page import render_report
from unelisa.votes import Votes


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
    opinion = echo(rng, truth, 0.65)
    columns = [echo(rng, truth, rng.uniform(0.7, 0.85)) for _ in range(6)]
    columns += [echo(rng, opinion, 0.9) for _ in range(6)]
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
    """Three families, six voters on their own, two who know nothing, a contrarian; one reading."""
    values, truth = repeating_crowd(0)
    rng = np.random.default_rng(5)
    noise = rng.choice([-1, 1], (len(values), 2))
    votes = Votes.of(np.c_[values, noise, -echo(rng, truth, 0.75)].astype(np.int8), coding="pm1")
    return fit_quietly(LatentIsing(), votes), votes


def fit_quietly(model, votes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnelisaWarning)
        return model.fit(votes)
