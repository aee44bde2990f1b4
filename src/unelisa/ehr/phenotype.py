"""A fitted phenotype: the parts that score a patient, the steps that learn them, and why."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from unelisa.ehr.anchors import AnchorModel, fit_anchors
from unelisa.ehr.charts import ReviewedCharts
from unelisa.ehr.counts import Counts, CountTable, Floats, Places, Roles
from unelisa.ehr.expected_counts import ExpectedCounts
from unelisa.ehr.grouped_expert import GroupedExpert, learn_group
from unelisa.ehr.posterior import (
    MISSED,
    Calibration,
    Performance,
    allow_for_unseen,
    expect_performance,
    judge_strictly,
    review_performance,
)
from unelisa.ehr.screening import Screening, screen, standardize
from unelisa.schema import stored

GROUP_WEIGHT = 0.5
THRESHOLD = 0.5  # patients with a P(case) of at least this are flagged
UNCALIBRATED = Calibration(0.0, 1.0)


@dataclass(frozen=True)
class FittedPhenotype:
    """Everything that scores a patient."""

    expected_counts: ExpectedCounts  # counts expected at a given utilization
    # anchor_model, anchors: the anchor model, and the indices of the anchors
    anchor_model: AnchorModel
    anchors: Places
    # group, group_places: the grouped expert, None without secondary features, and their indices
    group: GroupedExpert | None
    group_places: Places
    # from the sum of the log-odds to P(case), with those whom the anchors do not show, and without
    calibration: Calibration = UNCALIBRATED
    shown: Calibration = UNCALIBRATED

    def score(self, table: CountTable, rates: Counts | None = None) -> Floats:
        """Return the anchors' log-odds plus half the group's, before calibration."""
        odds = self.anchor_model.log_odds(table.values[:, self.anchors], table.log_use)
        if self.group is None:
            return odds
        if rates is None:
            rates = self.expected_counts.rates(table)
        return odds + GROUP_WEIGHT * self.group.log_ratio(rates[:, self.group_places])

    def log_odds(self, table: CountTable) -> Floats:
        """Return the calibrated log-odds of being a case."""
        return self.calibration.log_odds(self.score(table))

    def anchor_parts(self, table: CountTable) -> Floats:
        """Return the contribution of each anchor to the score."""
        return self.anchor_model.parts(table.values[:, self.anchors], table.log_use)

    def expect_performance(
        self, table: CountTable, scores: Floats, threshold: float = THRESHOLD
    ) -> Performance:
        """Return the expected PPV, NPV and sensitivity of the labels."""
        parts = self.anchor_parts(table)
        left_out = [*(scores - part for part in parts.T), scores - parts.sum(axis=1)]
        chances = expit(self.calibration.log_odds(scores))
        *without, blind = (expit(self.shown.log_odds(one)) for one in left_out)
        generous = chances + (1 - chances) * np.minimum(MISSED * blind, 1)
        rivals = [*without, expit(self.shown.log_odds(scores)), expit(scores), generous]
        return expect_performance(chances, chances >= threshold, rivals, blind)


@stored(
    features="label[features]",
    anchors="index(features)[anchors]",
    correlations="finite[features, anchors]",
    directions="sign[features]",
    ties="float[features]",
    selected="flag[features]",
    weights="finite[features]",
    related="flag[features] | None",
)
@dataclass(frozen=True)
class FeatureFacts:
    """What was found about the features."""

    # features, anchors: all names, and the indices of the anchors
    features: NDArray[Any]
    anchors: Places
    # correlations, directions, ties: as in `Screening`
    correlations: Floats
    directions: NDArray[np.int8]
    ties: Floats
    selected: NDArray[np.bool_]  # whether a feature is used
    # effect on the log-odds: difference between its 95 % and 5 % quantiles over patients
    weights: Floats
    related: NDArray[np.bool_] | None = None  # whether it shares records with an anchor

    def describe(self, model: AnchorModel) -> Any:
        """Return a pandas table: feature, selected, weight, direction, reason; strongest first."""
        import pandas as pd  # noqa: PLC0415 - a third of a second that only tables need

        table = pd.DataFrame(
            {
                "feature": self.features,
                "selected": self.selected,
                "weight": self.weights,
                "direction": np.where(self.selected, self.directions, 0).astype(np.int8),
                "reason": [self._reason(model, place) for place in range(len(self.features))],
            }
        )
        return table.sort_values(
            "weight", key=np.abs, ascending=False, kind="stable", ignore_index=True
        )

    def _reason(self, model: AnchorModel, place: int) -> str:
        anchor = np.flatnonzero(self.anchors == place)
        if len(anchor):
            levels = model.anchors[int(anchor[0])].levels
            return f"anchor: {np.exp(levels[1] - levels[0]):.3g} times as frequent among cases"
        if self.related is not None and self.related[place]:
            return "shares records with an anchor: not used"
        found = self.correlations[place]
        if not found.any():
            return "constant: the same count for every patient"
        shown = " and ".join(f"{value:.2f}" for value in found)
        if not self.directions[place]:
            return f"not correlated with every anchor ({shown})"
        sign = "positively" if self.directions[place] > 0 else "negatively"
        correlated = f"{sign} correlated with every anchor ({shown})"
        if not self.selected[place]:
            return f"{correlated}, but explained by other features"
        tie = self.ties[place]
        return correlated if np.isnan(tie) else f"{correlated}, coupling to the truth {tie:.2f}"


class PhenotypeFit(NamedTuple):
    """A fit: the phenotype, facts about features, P(case) of the patients, and performance."""

    phenotype: FittedPhenotype
    facts: FeatureFacts
    chances: Floats
    performance: Performance


def fit_phenotype(
    table: CountTable,
    roles: Roles,
    charts: ReviewedCharts,
    prevalence: float | None,
    rng: np.random.Generator,
) -> PhenotypeFit:
    """Return the phenotype that the anchors define; `prevalence` is approximate."""
    expected = ExpectedCounts.learn(table)
    rates, anchors = expected.rates(table), roles.anchors
    counts = table.values[:, anchors]
    start = standardize(rates[:, anchors].astype(np.float64)).sum(axis=1)
    model = fit_anchors(counts, table.log_use, start, prevalence, charts.signs)
    odds = model.log_odds(counts, table.log_use)
    screening = screen(rates, expected.votes(table), table.log_use, odds, roles, rng)
    places = screening.selected
    chances = np.where(charts.signs == 0, expit(odds), charts.signs > 0)
    group = learn_group(rates[:, places], chances, rng) if len(places) else None
    phenotype = FittedPhenotype(expected, model, anchors, group, places)
    scores = phenotype.score(table, rates)
    shown, calibration = _calibrate(phenotype, table, scores, charts)
    phenotype = replace(phenotype, calibration=calibration, shown=shown)
    facts = replace(
        _collect_facts(phenotype, screening, table, rates),
        related=np.isin(np.arange(len(table.features)), roles.related),
    )
    posterior = expit(calibration.log_odds(scores))
    model_says = phenotype.expect_performance(table, scores)
    performance = review_performance(
        charts.signs, posterior >= THRESHOLD, model_says, charts.weights
    )
    return PhenotypeFit(phenotype, facts, posterior, performance)


def _calibrate(
    phenotype: FittedPhenotype, table: CountTable, scores: Floats, charts: ReviewedCharts
) -> tuple[Calibration, Calibration]:
    """Return the calibrations of the scores without and with cases whom the anchors do not show."""
    odds = phenotype.anchor_model.log_odds(table.values[:, phenotype.anchors], table.log_use)
    known = charts.signs != 0
    chances = np.where(known, charts.signs > 0, expit(odds))
    shown = Calibration.learn(scores, chances)
    blind = expit(shown.log_odds(scores - phenotype.anchor_parts(table).sum(axis=1)))
    doubtful = judge_strictly(expit(odds), scores - odds)[1]
    allowed = np.where(known, chances, allow_for_unseen(chances, blind, doubtful))
    both = shown, Calibration.learn(scores, allowed)
    shown, calibration = (one.shift(scores, charts.signs) for one in both)
    return shown, calibration


def _collect_facts(
    phenotype: FittedPhenotype, screening: Screening, table: CountTable, rates: Counts
) -> FeatureFacts:
    weights = np.zeros(len(table.features))
    weights[phenotype.anchors] = _reach(phenotype.anchor_parts(table))
    if phenotype.group is not None:
        parts = phenotype.group.parts(rates[:, phenotype.group_places])
        weights[phenotype.group_places] = GROUP_WEIGHT * _reach(parts)
    sides = np.where(screening.directions < 0, -1, 1)
    return FeatureFacts(
        table.features,
        phenotype.anchors,
        screening.correlations,
        screening.directions,
        screening.ties,
        weights > 0,
        phenotype.calibration.slope * weights * sides,
    )


def _reach(contributions: NDArray[np.floating]) -> Floats:
    """Return the difference between the 95 % and 5 % quantiles of each column."""
    low, high = np.quantile(contributions, [0.05, 0.95], axis=0)
    return np.asarray(high - low)
