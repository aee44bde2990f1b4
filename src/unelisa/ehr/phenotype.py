"""A fitted phenotype: what scores a patient, how it is learned, and judges of other definitions."""

from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from unelisa.ehr.anchors import AnchorModel, fit_anchors
from unelisa.ehr.charts import ReviewedCharts
from unelisa.ehr.counts import Counts, CountTable, ExpectedCounts, Floats, Places, Roles
from unelisa.ehr.features import GroupedExpert, Screening, learn_group, screen, standardize
from unelisa.ehr.posterior import (
    FEWEST_CHARTS,
    MISSED,
    MOST_SILENT,
    UNADJUSTED,
    Adjustment,
    Calibration,
    Performance,
    Review,
    allow_for_unseen,
    bound_silent,
    doubt_ppv,
    expect_performance,
    judge_strictly,
    match_share,
    review_performance,
    share_errors,
)
from unelisa.schema import stored

GROUP_WEIGHT = 0.5
THRESHOLD = 0.5  # patients with a P(case) of at least this are flagged
UNCALIBRATED = Calibration(0.0, 1.0)


@dataclass(frozen=True)
class FittedPhenotype:
    """Everything that scores a patient."""

    expected_counts: ExpectedCounts  # counts expected at a given utilization
    anchor_model: AnchorModel
    anchors: Places  # their indices
    group: GroupedExpert | None  # None without secondary features, of which these are the indices
    group_places: Places
    # from the sum of the log-odds to P(case), with those whom the anchors do not show, and without
    calibration: Calibration = UNCALIBRATED
    shown: Calibration = UNCALIBRATED
    silence: float = 0.0  # added to the log-odds of patients without any anchor record
    adjustment: Adjustment = UNADJUSTED  # by reviewed charts

    def score(self, table: CountTable, rates: Counts | None = None) -> Floats:
        """Return the anchors' log-odds plus half the group's, before calibration."""
        odds = self.anchor_odds(table)
        if self.group is None:
            return odds
        rates = self.expected_counts.rates(table) if rates is None else rates
        return odds + GROUP_WEIGHT * self.group.log_ratio(rates[:, self.group_places])

    def log_odds(self, table: CountTable) -> Floats:
        """Return the calibrated log-odds of being a case."""
        return self.calibrate(table, self.score(table))

    def calibrate(self, table: CountTable, scores: Floats, shown: bool = False) -> Floats:
        """Return the calibrated log-odds of these scores; `shown`: without unseen cases."""
        calibration = self.shown if shown else self.calibration
        odds = calibration.log_odds(scores) + self.silence * self.is_silent(table)
        return self.adjustment.apply(odds)

    def show(self, scores: Floats) -> Floats:
        """Return P(case) by these scores without unseen cases, whatever anchors are recorded."""
        return np.asarray(expit(self.adjustment.apply(self.shown.log_odds(scores))))

    def is_silent(self, table: CountTable) -> NDArray[np.bool_]:
        """Return who has no record of any anchor."""
        return np.asarray(~(table.values[:, self.anchors] > 0).any(axis=1))

    def moved(self, shift: float) -> "FittedPhenotype":
        """Return the phenotype with its log-odds shifted."""
        return replace(
            self, calibration=self.calibration.moved(shift), shown=self.shown.moved(shift)
        )

    def anchor_odds(self, table: CountTable) -> Floats:
        """Return the log-odds by the anchors alone."""
        return self.anchor_model.log_odds(table.values[:, self.anchors], table.log_use)

    def anchor_parts(self, table: CountTable) -> Floats:
        """Return the contribution of each anchor to the score."""
        return self.anchor_model.parts(table.values[:, self.anchors], table.log_use)

    def leave_out(self, table: CountTable, scores: Floats) -> tuple[Floats, list[Floats]]:
        """Return P(case) without any anchor, and without each of them."""
        parts = self.anchor_parts(table)
        left = [scores - parts.sum(axis=1), *(scores - part for part in parts.T)]
        blind, *without = map(self.show, left)
        return blind, without

    def expect_performance(
        self, table: CountTable, scores: Floats, stated: tuple[float, float] | None = None
    ) -> Performance:
        """Return the expected PPV, NPV and sensitivity of the labels; `stated` as in the fit."""
        blind, without = self.leave_out(table, scores)
        chances = expit(self.calibrate(table, scores))
        generous = chances + (1 - chances) * np.minimum(MISSED * blind, 1)
        rivals = [*without, self.show(scores), expit(scores), generous]
        flagged = chances >= THRESHOLD
        found = expect_performance(chances, flagged, rivals, blind)
        error, cases = share_errors(self.anchor_model.correlation), float(chances.mean())
        ppv = doubt_ppv(found.ppv, float(flagged.mean()), cases, error, stated)
        return found._replace(ppv=ppv)


@stored()
@dataclass(frozen=True)
class FeatureFacts:
    """What was found about the features: their names, places of anchors, and `Screening`."""

    features: Annotated[NDArray[Any], "label[features]"]
    anchors: Annotated[Places, "index(features)[anchors]"]
    correlations: Annotated[Floats, "finite[features, anchors]"]
    directions: Annotated[NDArray[np.int8], "sign[features]"]
    ties: Annotated[Floats, "float[features]"]
    selected: Annotated[NDArray[np.bool_], "flag[features]"]  # whether a feature is used
    # difference between the 95 % and 5 % quantiles of its effect on the log-odds
    weights: Annotated[Floats, "finite[features]"]
    # whether it shares records with an anchor
    related: Annotated[NDArray[np.bool_] | None, "flag[features] | None"] = None

    def describe(self, model: AnchorModel) -> Any:
        """Return a pandas table: feature, selected, weight, direction, reason; strongest first."""
        import pandas as pd  # noqa: PLC0415 - a third of a second that only tables need

        columns = {
            "feature": self.features,
            "selected": self.selected,
            "weight": self.weights,
            "direction": np.where(self.selected, self.directions, 0).astype(np.int8),
            "reason": [self._reason(model, place) for place in range(len(self.features))],
        }
        order = np.argsort(-np.abs(self.weights), kind="stable")
        return pd.DataFrame(columns).iloc[order].reset_index(drop=True)

    def _reason(self, model: AnchorModel, place: int) -> str:
        anchor = np.flatnonzero(self.anchors == place)
        if len(anchor):
            other, case = model.anchors[int(anchor[0])].means(np.zeros(1))[:, 0]
            return f"anchor: {case / other:.3g} times as frequent among cases"
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
    stated: tuple[float, float] | None,
    rng: np.random.Generator,
) -> PhenotypeFit:
    """Return the phenotype that the anchors define; `stated` are bounds of the prevalence."""
    expected = ExpectedCounts.learn(table)
    rates, anchors = expected.rates(table), roles.anchors
    counts = table.values[:, anchors]
    start = standardize(rates[:, anchors].astype(np.float64)).sum(axis=1)
    about = None if stated is None else float(np.sqrt(stated[0] * stated[1]))
    model = fit_anchors(counts, table.log_use, start, about, charts.signs)
    odds = model.log_odds(counts, table.log_use)
    screening = screen(rates, expected.votes(table), table.log_use, odds, roles, rng)
    places = screening.selected
    chances = np.where(charts.signs == 0, expit(odds), charts.signs > 0)
    group = learn_group(rates[:, places], chances, rng) if len(places) else None
    phenotype = FittedPhenotype(expected, model, anchors, group, places)
    scores = phenotype.score(table, rates)
    phenotype = _calibrate(phenotype, table, scores, charts)
    if stated is not None:
        phenotype = phenotype.moved(match_share(phenotype.calibrate(table, scores), stated))
    phenotype, performance = _review(phenotype, table, scores, charts, stated)
    facts = _collect_facts(phenotype, screening, table, rates, roles)
    posterior = expit(phenotype.calibrate(table, scores))
    return PhenotypeFit(phenotype, facts, posterior, performance)


def _calibrate(
    phenotype: FittedPhenotype, table: CountTable, scores: Floats, charts: ReviewedCharts
) -> FittedPhenotype:
    odds = phenotype.anchor_odds(table)
    known, others = charts.signs != 0, scores - odds
    chances = np.where(known, charts.signs > 0, expit(odds))
    shown = Calibration.learn(scores, chances)
    blind = replace(phenotype, shown=shown).leave_out(table, scores)[0]
    doubtful = judge_strictly(expit(odds), others)[1]
    allowed = np.where(known, chances, allow_for_unseen(chances, blind, doubtful))
    found = replace(phenotype, calibration=Calibration.learn(scores, allowed), shown=shown)
    silent, before = phenotype.is_silent(table), found.calibrate(table, scores)
    if not silent.any():
        return found
    usual = MOST_SILENT / (1 - MOST_SILENT) * float(expit(before[~silent]).sum() / silent.sum())
    most = min(bound_silent(expit(odds), others, silent), usual)
    return replace(found, silence=match_share(before[silent], (0.0, most)))


def _review(
    phenotype: FittedPhenotype,
    table: CountTable,
    scores: Floats,
    charts: ReviewedCharts,
    stated: tuple[float, float] | None,
) -> tuple[FittedPhenotype, Performance]:
    before, n_charts = phenotype.calibrate(table, scores), int((charts.signs != 0).sum())
    review = Review.learn(before, charts.signs)
    if n_charts:
        phenotype = replace(phenotype, adjustment=review.adjustment)
    expected = phenotype.expect_performance(table, scores, stated=stated)
    flagged = expit(phenotype.calibrate(table, scores)) >= THRESHOLD
    if n_charts >= FEWEST_CHARTS and flagged.any():
        seen = flagged & (charts.signs != 0)
        ppv = review.estimate_share(before[flagged], n_charts)
        wider = ppv.widened(charts.signs[seen] > 0, charts.doubt(charts.signs != 0))
        expected = expected._replace(ppv=wider)
    return phenotype, review_performance(charts, flagged, expected)


def _collect_facts(
    phenotype: FittedPhenotype, found: Screening, table: CountTable, rates: Counts, roles: Roles
) -> FeatureFacts:
    weights = np.zeros(len(table.features))
    weights[phenotype.anchors] = _reach(phenotype.anchor_parts(table))
    if phenotype.group is not None:
        parts = phenotype.group.parts(rates[:, phenotype.group_places])
        weights[phenotype.group_places] = GROUP_WEIGHT * _reach(parts)
    related = np.isin(np.arange(len(table.features)), roles.related)
    signed = phenotype.calibration.slope * weights * np.where(found.directions < 0, -1, 1)
    facts = (table.features, phenotype.anchors, *found[:3], weights > 0, signed, related)
    return FeatureFacts(*facts)


def _reach(contributions: NDArray[np.floating]) -> Floats:
    low, high = np.quantile(contributions, [0.05, 0.95], axis=0)
    return np.asarray(high - low)


SHARED_JUDGES = slice(4, 8)  # the places of those with a shared error
MOST_WRONG = 0.95  # of the expected cases, by a shared error: with none left, nothing has a share


class Judges(NamedTuple):
    """P(case) of patients by several judges of other definitions.

    With w_i = P(case | anchors), B_i = P(case) without any anchor, and e, f_+, f_- of
    `posterior.judge_strictly`: P_i; the strict judge, w_i (1 - e f_-(g_i) / f_+(g_i)); the generous
    one, P_i + 2 (1 - P_i) B_i; the strict one at half the odds; four for an error in all anchors of
    a share s of the others: P_i smaller by s (1 - p) / p, p the mean of P, in proportion, or 0 for
    the patients whom the other features support least, among those whom the anchors show or among
    all, or for those with the smallest P_i; and P_i without one of the anchors.
    """

    patients: NDArray[np.generic]
    # judges x patients: P(case), strict, generous, strict at half the odds, with a shared error in
    # proportion and in three orders (`SHARED_JUDGES`), without each anchor
    chances: Floats

    @classmethod
    def of(cls, phenotype: FittedPhenotype, table: CountTable) -> "Judges":
        """Return the judges of some patients."""
        scores, anchored = phenotype.score(table), phenotype.anchor_odds(table)
        blind, without = phenotype.leave_out(table, scores)
        chances = expit(phenotype.calibrate(table, scores, shown=True))
        strict, _ = judge_strictly(expit(anchored), scores - anchored)
        generous = np.minimum(chances + MISSED * (1 - chances) * blind, 1)
        halved = strict / (2 - strict)
        share = max(float(chances.mean()), 1e-9)
        wrong = share_errors(phenotype.anchor_model.correlation) * (1 - share) / share
        shared = _share_error(chances, anchored, scores - anchored, min(MOST_WRONG, wrong))
        judged = np.vstack([chances, strict, generous, halved, *shared, *without])
        return cls(table.patients, judged)


def _share_error(chances: Floats, anchored: Floats, others: Floats, wrong: float) -> list[Floats]:
    """Return P(case) if a share of the expected cases is wrong: in proportion, and in order."""
    found = [(1 - wrong) * chances]
    for support in (np.where(anchored > 0, others, np.inf), others, chances):
        order = np.argsort(support, kind="stable")
        total, left = np.cumsum(chances[order]), np.empty_like(chances)
        left[order] = np.clip(total - wrong * total[-1], 0, chances[order])
        found.append(left)
    return found
