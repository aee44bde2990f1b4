"""Phenotyper: counts of health records in, the probability of a disease per patient out."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from unelisa.errors import ConvergenceWarning, ModelError, UnelisaWarning, VotesError, warn_user
from unelisa.phenotyping.anchors import fit_anchors
from unelisa.phenotyping.evidence import (
    correlate,
    learn_group,
    remove_utilization,
    screen_features,
)
from unelisa.phenotyping.features import FeatureFacts, describe_features
from unelisa.phenotyping.gold import ReviewedCharts, read_reviewed
from unelisa.phenotyping.graph import tie_features
from unelisa.phenotyping.posterior import Estimate, calibrate, expected_ppv, reviewed_ppv
from unelisa.solvers.blas import one_blas_thread
from unelisa.sources.counts import Counts, CountTable, Floats, read_counts
from unelisa.sources.phenotype import ExpectedCounts

GROUP_WEIGHT = 0.5
FEWEST_PATIENTS = 20
FEWEST_CHARTS = 10  # reviewed ones among the flagged, to tell the share of true cases from them


class Phenotyper(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Who has a disease, from counts of codes and concepts, without chart review.

    The user names one or two anchors, features that stand for the disease: its main code, its main
    concept in the notes. They define the truth; left alone, a hidden truth follows how much care a
    patient gets.

    1. Anchor model: a mixture of two classes of patients with negative binomial anchor counts
       whose log mean grows with log(1 + utilisation).
    2. Other features are used where they go along with every anchor and where the anchored latent
       Ising model ties them to the truth itself, given the others.
    3. Each is an ordinal expert: the level of log((count + 1) / (count expected at this
       utilisation + 1)). Together they are one grouped expert, with half a vote.
    4. The sum of the log odds is calibrated, so that P(case) has the anchor model's mean.

    Parameters
    ----------
    anchors
        Names of the anchor features.
    utilization
        The column that tells how much care a patient had (notes, visits), or None.
    prevalence
        About which share of the patients has the disease, if that is known to its order of
        magnitude; a rare disease in a small cohort needs it, or some reviewed charts.
    random_state
        Seed of the folds of the grouped expert, and of the patients that the graph is learned from
        where there are more than 10,000.

    Attributes
    ----------
    features_
        A pandas table, one row per feature: selected, weight (how far it moves the log odds: from
        the 5 % of patients for whom it says least to the 5 % for whom it says most), direction
        (+1, -1, 0), reason.
    prevalence_
        Estimated share of cases.
    threshold_
        `predict` says yes from this P(case) on.
    ppv_
        Share of true cases among the patients that `predict` flags, with its 95 % interval: from
        the reviewed charts among them where there are ten, else as the model expects it.
    classes_
        (negative, positive): 0 and 1, or the labels of the reviewed charts.
    anchor_model_, expected_counts_, group_, calibration_, feature_facts_
        The fitted parts.

    Examples
    --------
    >>> import unelisa as ue
    >>> drawn = ue.simulate_ehr(3000, random_state=1)
    >>> anchors = ["ICD:714.0", "NLP:rheumatoid arthritis"]
    >>> model = ue.Phenotyper(anchors, utilization="note_count").fit(drawn.counts)
    >>> chances = model.predict_proba(drawn.counts)[:, 1]
    >>> bool(((chances > .5) == (drawn.truth > 0)).mean() > .85)
    True
    """

    def __init__(
        self,
        anchors: Sequence[str],
        utilization: str | None = None,
        prevalence: float | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.anchors = anchors
        self.utilization = utilization
        self.prevalence = prevalence
        self.random_state = random_state

    def fit(self, counts: Any, y: Any = None) -> "Phenotyper":
        """Return self, fitted to the counts.

        Parameters
        ----------
        counts
            A pandas or polars frame: one row per patient, one column per feature.
        y
            Optional truth of some patients, from reviewed charts: a dict or pandas Series from
            patient to label, or one label per patient, missing where none is known.
        """
        table = self._enter(counts)
        charts = read_reviewed(y, table.patients)
        charts.check_side(table.values[:, self._anchor_places].sum(axis=1))
        self.classes_ = np.asarray(charts.classes)
        with one_blas_thread():
            self._fit(table, charts)
        return self

    def decision_function(self, counts: Any) -> Floats:
        """Return the log odds of being a case, per patient."""
        return self.calibration_.log_odds(self._score_anew(self._reenter(counts)))

    def predict_proba(self, counts: Any) -> Floats:
        """Return P(no case), P(case) per patient."""
        chances = expit(self.decision_function(counts))
        return np.column_stack([1 - chances, chances])

    def predict(self, counts: Any) -> NDArray[Any]:
        """Return one of `classes_` per patient: the case from P(case) = `threshold_` on."""
        flagged = self.predict_proba(counts)[:, 1] >= self.threshold_
        return np.asarray(self.classes_[flagged.astype(np.intp)])

    def score(self, counts: Any, y: Any) -> float:
        """Return the share of the patients with known truth, given as in `fit`, that are right."""
        charts = read_reviewed(y, self._reenter(counts).patients)
        known = charts.signs != 0
        flagged = self.predict_proba(counts)[:, 1] >= self.threshold_
        return float(np.mean(flagged[known] == (charts.signs[known] > 0)))

    def expect_ppv(self, counts: Any) -> Estimate:
        """Return the share of true cases among the patients of a table that `predict` flags.

        It is what the model expects; `ppv_` says it of the patients that it was fitted to.
        """
        table = self._reenter(counts)
        return self._expect_ppv(table, self._score_anew(table))

    @property
    def features_(self) -> Any:
        """One row per feature, as a pandas table; the strongest first."""
        return describe_features(self.feature_facts_, self.anchor_model_)

    def _fit(self, table: CountTable, charts: ReviewedCharts) -> None:
        rng = np.random.default_rng(self.random_state)
        self.expected_counts_ = ExpectedCounts.learn(table)
        rates = self.expected_counts_.rates(table)
        self._learn_anchors(table, rates, charts)
        odds = self._anchor_odds(table)
        self._screen(table, rates)
        self._select(table, odds, rng)
        chances = np.where(charts.signs == 0, expit(odds), charts.signs > 0)
        chosen = rates[:, self._group_places]
        self.group_ = learn_group(chosen, chances, rng) if len(self._group_places) else None
        scores = self._score(table, rates)
        self.calibration_ = calibrate(scores, chances)
        if charts.n_charts:
            self.calibration_ = self.calibration_.shift(scores, charts.signs)
        self._conclude(table, rates, charts)

    def _enter(self, counts: Any) -> CountTable:
        """Return the counts of `fit`, checked, and remember the features."""
        anchors = self._check_settings()
        table = read_counts(counts, self.utilization)
        if table.n_patients < FEWEST_PATIENTS:
            raise VotesError(
                f"the table holds {table.n_patients} patients; "
                f"at least {FEWEST_PATIENTS} are needed"
            )
        self._anchor_places = table.find(anchors, "an anchor")
        for name, place in zip(anchors, self._anchor_places, strict=True):
            column = table.values[:, place]
            if not column.any():
                raise VotesError(f"no patient has the anchor {name[:60]!r}; choose another one")
            if column.min() == column.max():
                raise VotesError(
                    f"the anchor {name[:60]!r} has the same count for every patient; "
                    "choose another one"
                )
        self.feature_names_in_, self.n_features_in_ = table.features, len(table.features)
        return table

    def _check_settings(self) -> list[str]:
        if isinstance(self.anchors, str):
            raise ModelError("anchors must be a list of feature names, found a single text")
        anchors = [str(name) for name in self.anchors]
        if not anchors or len(set(anchors)) < len(anchors):
            raise ModelError("anchors must name at least one feature, and each of them once")
        if self.prevalence is not None and not 0 < self.prevalence < 1:
            raise ModelError(
                f"prevalence must lie between 0 and 1, both left out, found {self.prevalence}"
            )
        return anchors

    def _reenter(self, counts: Any) -> CountTable:
        """Return new patients' counts with the features as columns as in `fit`."""
        check_is_fitted(self, "calibration_")
        table = read_counts(counts, self.utilization)
        return table.take_features(
            table.find(self.feature_names_in_.tolist(), "a feature of the model")
        )

    def _learn_anchors(self, table: CountTable, rates: Counts, charts: ReviewedCharts) -> None:
        chosen = rates[:, self._anchor_places].astype(np.float64)
        start = ((chosen - chosen.mean(axis=0)) / chosen.std(axis=0)).sum(axis=1)
        self.anchor_model_ = fit_anchors(
            table.values[:, self._anchor_places],
            table.log_use,
            start,
            self.prevalence,
            charts.signs if charts.n_charts else None,
        )
        if not self.anchor_model_.converged:
            warn_user("EM reached its limit of rounds", ConvergenceWarning)
        for place, found in zip(self._anchor_places, self.anchor_model_.anchors, strict=True):
            if found.levels[1] <= found.levels[0]:
                warn_user(
                    f"the anchor {str(table.features[place])[:60]!r} is not more frequent among "
                    "cases: the anchors contradict each other, choose others",
                    UnelisaWarning,
                )

    def _anchor_odds(self, table: CountTable) -> Floats:
        return self.anchor_model_.log_odds(table.values[:, self._anchor_places], table.log_use)

    def _screen(self, table: CountTable, rates: Counts) -> None:
        """Find the features that go along with, or against, every anchor."""
        free = remove_utilization(rates, table.log_use)
        self._correlations = correlate(free, free[:, self._anchor_places])
        self._directions = screen_features(self._correlations, table.n_patients)

    def _select(self, table: CountTable, odds: Floats, rng: np.random.Generator) -> None:
        """Keep those of them whose tie to the truth, given the others, has the same side."""
        places = np.setdiff1d(np.flatnonzero(self._directions), self._anchor_places)
        self._ties = np.full(self.n_features_in_, np.nan)
        votes = self.expected_counts_.votes(table).take_voters(places) if len(places) else None
        ties = None if votes is None else tie_features(votes, odds, rng)
        if ties is not None:
            self._ties[places] = ties.weights
            places = places[ties.clear & (np.sign(ties.weights) == self._directions[places])]
        self._group_places = places

    def _score(self, table: CountTable, rates: Counts) -> Floats:
        """Return the anchors' log odds and half of the group's, before the calibration."""
        odds = self._anchor_odds(table)
        if self.group_ is None:
            return odds
        return odds + GROUP_WEIGHT * self.group_.log_ratio(rates[:, self._group_places])

    def _score_anew(self, table: CountTable) -> Floats:
        return self._score(table, self.expected_counts_.rates(table))

    def _conclude(self, table: CountTable, rates: Counts, charts: ReviewedCharts) -> None:
        """Sum up what was found, and warn where it follows the wrong thing."""
        scores = self._score(table, rates)
        chances = expit(self.calibration_.log_odds(scores))
        self.prevalence_, self.threshold_ = float(chances.mean()), 0.5
        flagged = chances >= self.threshold_
        if np.count_nonzero(flagged & (charts.signs != 0)) >= FEWEST_CHARTS:
            self.ppv_ = reviewed_ppv(charts.signs, flagged)
        else:
            self.ppv_ = self._expect_ppv(table, scores)
        self.feature_facts_ = self._facts(table, rates)
        self._warn_of_utilization(table, chances)

    def _expect_ppv(self, table: CountTable, scores: Floats) -> Estimate:
        """Return the PPV by P(case), and by P(case) with one anchor left out or not calibrated."""
        chances = expit(self.calibration_.log_odds(scores))
        counts = table.values[:, self._anchor_places]
        parts = self.anchor_model_.parts(counts, table.log_use)
        without = [expit(self.calibration_.log_odds(scores - part)) for part in parts.T]
        return expected_ppv(chances, chances >= self.threshold_, [*without, expit(scores)])

    def _facts(self, table: CountTable, rates: Counts) -> FeatureFacts:
        weights = np.zeros(self.n_features_in_)
        anchor_counts = table.values[:, self._anchor_places]
        weights[self._anchor_places] = _reach(
            self.anchor_model_.parts(anchor_counts, table.log_use)
        )
        if self.group_ is not None:
            parts = self.group_.parts(rates[:, self._group_places])
            weights[self._group_places] = GROUP_WEIGHT * _reach(parts)
        return FeatureFacts(
            table.features,
            self._anchor_places,
            self._correlations,
            self._directions,
            self._ties,
            weights > 0,
            self.calibration_.slope * weights * np.where(self._directions < 0, -1, 1),
        )

    def _warn_of_utilization(self, table: CountTable, chances: Floats) -> None:
        """Warn where P(case) goes along with utilisation more than with the rest of an anchor.

        Without a column of utilisation the sum of the other features' counts stands for it.
        """
        use, what = table.log_use, "utilisation"
        if table.utilization is None:
            others = np.delete(table.values, self._anchor_places, axis=1)
            use = np.log1p(others.sum(axis=1, dtype=np.float64))
            what = "the sum of all other counts"
        anchors = remove_utilization(np.log1p(table.values[:, self._anchor_places]), use)
        follows = abs(_correlation(chances, use))
        if follows > min(_correlation(chances, column) for column in anchors.T):
            warn_user(
                f"the learned truth follows {what} (correlation {follows:.2f}) more than the "
                "anchors: choose anchors that stand for the disease, and name the utilisation",
                UnelisaWarning,
            )


def _reach(evidence: NDArray[Any]) -> Floats:
    """Return per column how far it moves the log odds of patients: 5 % to 95 %."""
    low, high = np.quantile(evidence, [0.05, 0.95], axis=0)
    return np.asarray(high - low)


def _correlation(first: Floats, second: NDArray[Any]) -> float:
    spread = first.std() * second.std()
    covariance = np.mean((first - first.mean()) * (second - second.mean()))
    return float(covariance / spread) if spread > 0 else 0.0
