"""A rare phenotype in a small cohort: what is found of its prevalence, and of the flagged.

Cohorts of 2,000 patients of the simulated datamart with 3 % cases. Without help, with a prevalence
of the right order, with one that is off by a factor of three, and with reviewed charts.
"""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import UnelisaWarning
from unelisa.scoring import score_labels
from unelisa.study.ehr import fit_phenotyper
from unelisa.study.ehr_sets import ReviewedSet, rare_cohort
from unelisa.study.real import read_lines
from unelisa.study.results import open_results

PATIENTS, SHARE, COHORTS = 2000, 0.03, 10
CHARTS = 100


class Help(NamedTuple):
    """What the model is told: a prevalence, and how many charts are reviewed at random."""

    prevalence: float | None
    charts: int


HELPS = (Help(None, 0), Help(0.01, 0), Help(0.03, 0), Help(0.1, 0), Help(None, CHARTS))


class RareRow(TypedDict):
    """One cohort with one kind of help.

    prevalence is estimated, true_prevalence the truth; ppv holds the value and its interval,
    true_ppv the share of true cases among the flagged, None where nobody is.
    """

    set: str
    told: float | None
    charts: int
    prevalence: float
    true_prevalence: float
    ppv: list[float | None]
    true_ppv: float | None
    auc: float


def run_rare(
    datamart: ReviewedSet, folder: Path, done: Callable[[int], Any] = lambda _count: None
) -> None:
    """Run the cohorts of a datamart that the results in a folder lack."""
    there = {row["set"] for row in read_rare(folder)}
    with open_results(folder / "ehr_rare.jsonl") as rows, warnings.catch_warnings():
        warnings.simplefilter("ignore", UnelisaWarning)
        for seed in range(COHORTS):
            cohort = rare_cohort(datamart, seed, PATIENTS, SHARE)
            if cohort.name not in there:
                rows.append({"rows": [judge_cohort(cohort, seed, told) for told in HELPS]})
            done(1)


def judge_cohort(cohort: ReviewedSet, seed: int, told: Help) -> RareRow:
    """Return what the Phenotyper finds in a cohort with some help."""
    truth, charts = cohort.signs, None
    if told.charts:
        seen = np.random.default_rng(seed).choice(len(truth), told.charts, replace=False)
        charts = np.full(len(truth), np.nan)
        charts[seen] = truth[seen] > 0
    model = fit_phenotyper(cohort, told.prevalence, charts)
    flagged = model.predict(cohort.counts) == model.classes_[1]
    true_ppv = float((truth[flagged] > 0).mean()) if flagged.any() else float("nan")
    return {
        "set": cohort.name,
        "told": told.prevalence,
        "charts": told.charts,
        "prevalence": round(model.prevalence_, 5),
        "true_prevalence": round(float((truth > 0).mean()), 5),
        "ppv": [_finite(value) for value in model.ppv_[:3]],
        "true_ppv": _finite(true_ppv),
        "auc": round(score_labels(truth, model.decision_function(cohort.counts)).auc, 5),
    }


def _finite(value: float) -> float | None:
    return round(value, 5) if np.isfinite(value) else None


def read_rare(folder: Path) -> list[RareRow]:
    """Return all rows in a results folder."""
    return [row for line in read_lines(folder / "ehr_rare.jsonl") for row in line["rows"]]


class RareSummary(TypedDict):
    """All cohorts with one kind of help.

    within counts cohorts whose estimate is at most a factor 1.5 off, covered those whose interval
    holds the true share of cases among the flagged.
    """

    told: float | None
    charts: int
    cohorts: int
    prevalence: list[float]
    within: int
    ppv: float
    true_ppv: float
    covered: int
    auc: float


def summarise_rare(rows: list[RareRow]) -> list[RareSummary]:
    """Return one line per kind of help: prevalence is the mean, the least and the most."""
    return [_summarise(chosen, told) for told in HELPS if (chosen := _with(rows, told))]


def _with(rows: list[RareRow], told: Help) -> list[RareRow]:
    return [row for row in rows if (row["told"], row["charts"]) == told]


def _summarise(rows: list[RareRow], told: Help) -> RareSummary:
    found = np.array([row["prevalence"] for row in rows])
    ratios = found / np.array([row["true_prevalence"] for row in rows])
    ppv = np.array([row["ppv"] for row in rows], dtype=np.float64)
    true = np.array([row["true_ppv"] for row in rows], dtype=np.float64)
    return {
        "told": told.prevalence,
        "charts": told.charts,
        "cohorts": len(rows),
        "prevalence": [round(float(x), 4) for x in (found.mean(), found.min(), found.max())],
        "within": int(np.sum((ratios <= 1.5) & (ratios >= 1 / 1.5))),
        "ppv": _mean(ppv[:, 0]),
        "true_ppv": _mean(true),
        "covered": int(np.sum((ppv[:, 1] <= true) & (true <= ppv[:, 2]))),
        "auc": _mean(np.array([row["auc"] for row in rows])),
    }


def _mean(values: NDArray[np.float64]) -> float:
    return round(float(np.nanmean(values)), 4)
