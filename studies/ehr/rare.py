"""A rare phenotype in a small cohort: estimates of its prevalence and of the PPV.

Cohorts of 2,000 patients of the simulated datamart with 3 % cases: without help, with a prevalence
of the right order, with one that is off by a factor of three, and with reviewed charts.
"""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from studies.ehr.sets import ReviewedSet, rare_cohort
from studies.ehr.splits import fit_phenotyper
from studies.fingerprints import KEY, common_code, drop_stale, stamp_with
from studies.records import Json, open_results, read_lines
from unelisa.analysis.scoring import score_labels
from unelisa.errors import UnelisaWarning

PATIENTS, SHARE, COHORTS = 2000, 0.03, 10
CHARTS = 100
STAMP = stamp_with(f"{__name__}:judge_cohort", "studies.ehr.sets:rare_cohort")


class Help(NamedTuple):
    """What the model is given: a prevalence, and how many randomly reviewed charts."""

    prevalence: float | None
    charts: int


HELPS = (Help(None, 0), Help(0.01, 0), Help(0.03, 0), Help(0.1, 0), Help(None, CHARTS))


def run_rare(
    datamart: ReviewedSet, folder: Path, done: Callable[[int], Any] = lambda _count: None
) -> None:
    """Run the cohorts of a datamart that the results in a folder lack."""
    there = {row["set"] for row in drop_stale(read_rare(folder), STAMP)}
    with open_results(folder / "ehr_rare.jsonl", STAMP) as rows, warnings.catch_warnings():
        warnings.simplefilter("ignore", UnelisaWarning)
        for seed in range(COHORTS):
            cohort = rare_cohort(datamart, seed, PATIENTS, SHARE)
            if cohort.name not in there:
                rows.append({"rows": [judge_cohort(cohort, seed, told) for told in HELPS]})
            done(1)


def judge_cohort(cohort: ReviewedSet, seed: int, told: Help) -> Json:
    """Return what the Phenotyper finds in a cohort with some help.

    ppv is the reported value and its interval, true_ppv the share of true cases among the flagged,
    None if nobody is.
    """
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


def read_rare(folder: Path) -> list[Json]:
    """Return all rows in a results folder."""
    lines = read_lines(folder / "ehr_rare.jsonl")
    rows = [{**row, KEY: line.get(KEY)} for line in lines for row in line["rows"]]
    return list({(row["set"], row["told"], row["charts"]): row for row in rows}.values())


def summarize_rare(rows: list[Json]) -> list[Json]:
    """Return one summary per kind of help.

    prevalence has the mean, minimum and maximum; within counts cohorts whose estimate is off by a
    factor of at most 1.5, covered those whose interval contains the true PPV.
    """
    return [_summarize(chosen, told) for told in HELPS if (chosen := _with(rows, told))]


def _with(rows: list[Json], told: Help) -> list[Json]:
    return [row for row in rows if (row["told"], row["charts"]) == told]


def _summarize(rows: list[Json], told: Help) -> Json:
    found = np.array([row["prevalence"] for row in rows])
    ratios = found / np.array([row["true_prevalence"] for row in rows])
    ppv = np.array([row["ppv"] for row in rows], dtype=np.float64)
    true = np.array([row["true_ppv"] for row in rows], dtype=np.float64)
    return {
        "told": told.prevalence,
        "charts": told.charts,
        "cohorts": len(rows),
        KEY: common_code(rows),
        "prevalence": [round(float(x), 4) for x in (found.mean(), found.min(), found.max())],
        "within": int(np.sum((ratios <= 1.5) & (ratios >= 1 / 1.5))),
        "ppv": _mean(ppv[:, 0]),
        "true_ppv": _mean(true),
        "covered": int(np.sum((ppv[:, 1] <= true) & (true <= ppv[:, 2]))),
        "auc": _mean(np.array([row["auc"] for row in rows])),
    }


def _mean(values: NDArray[np.float64]) -> float:
    return round(float(np.nanmean(values)), 4)
