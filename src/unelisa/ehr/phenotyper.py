"""Phenotyper: the probability of a disease per patient, from counts in health records."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from unelisa.base import Estimator, check_is_fitted
from unelisa.ehr.cautions import find_roles, list_doubts, read_anchors, read_prevalence
from unelisa.ehr.charts import read_reviewed
from unelisa.ehr.counts import CountTable, Floats, read_counts
from unelisa.ehr.phenotype import THRESHOLD, FittedPhenotype, Judges, fit_phenotype
from unelisa.ehr.posterior import UNADJUSTED, Estimate, Performance
from unelisa.errors import ConvergenceWarning, UnelisaWarning, warn_user
from unelisa.estimator import fit_aside
from unelisa.schema import stored
from unelisa.votes.coding import as_labels

NO_DOUBT = "nothing speaks against the fit"


@stored(
    utilization="text | None",
    n_features_in_="size(features)",
    classes_="label[2]",
    feature_names_in_="label[features]",
    _anchor_places="index(features)[anchors]",
    _group_places="index(features)[group]",
    expected_counts_="ExpectedCounts",
    anchor_model_="AnchorModel",
    group_="GroupedExpert | None",
    calibration_="Calibration",
    _shown="?Calibration",
    _silence="?finite",
    _adjustment="?Adjustment",
    prevalence_="share",
    threshold_="share",
    ppv_="Estimate",
    npv_="?Estimate",
    sensitivity_="?Estimate",
    reliable_="?flag",
    reliability_reason_="?text",
    feature_facts_="FeatureFacts",
)
class Phenotyper(Estimator):
    """Probability of a disease from counts of codes and concepts, without chart review.

    The user names two or more anchors, features that are specific to the disease: its main code,
    its main concept in the notes. They define the truth; without them, it would follow the amount
    of care. With a single anchor, `reliable_` is False unless charts were reviewed.

    1. Anchor model: a two-class mixture of negative binomial anchor counts whose log means grow
       with log(1 + utilization).
    2. Other features are used if they are correlated with every anchor and if the anchored latent
       Ising model connects them to the truth itself, given the others.
    3. Each is an ordinal expert: the level of log((count + 1) / (count expected at this
       utilization + 1)). Together they form one grouped expert with half a vote.
    4. The sum of the log-odds is calibrated to the anchor model's P(case), with an allowance for
       cases whom the anchors do not show but the other features suggest.

    Parameters
    ----------
    anchors
        Names of the anchor features.
    utilization
        Column with the amount of care per patient (notes, visits), or None.
    prevalence
        Proportion of patients with the disease, if it is known: about (within a factor of 1.5), or
        (low, high). P(case) is shifted until its mean is in between. A rare disease needs it, or
        some reviewed charts: records do not show an error that the anchors share.
    random_state
        Seed of the folds of the grouped expert, and of the at most 10,000 patients on which the
        graph is learned.
    related
        Features that share records with an anchor, besides those whose codes show it (ICD:E11.9 and
        ICD:E11+): they are not used, because they only repeat the anchor.

    Attributes
    ----------
    features_
        A pandas table, one row per feature: selected, weight (the difference between the 95 % and 5
        % quantiles, over patients, of its contribution to the log-odds), direction (+1, -1, 0),
        reason.
    prevalence_
        Estimated proportion of cases.
    threshold_
        `predict` returns the positive class if P(case) is at least this.
    ppv_, npv_, sensitivity_
        Positive and negative predictive value and sensitivity of `predict`, each with a 95 %
        interval: from at least ten reviewed charts among the flagged patients, or among the others;
        else as the model expects it. These intervals are then wide: nothing shows cases without a
        trace in the anchors, or an error that the anchors share.
    reliable_, reliability_reason_
        Whether the fit can be relied on, and the reasons against it, which a warning repeats.
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

    estimator_type = "classifier"

    def __init__(
        self,
        anchors: Sequence[str],
        utilization: str | None = None,
        prevalence: float | tuple[float, float] | None = None,
        random_state: int | np.random.Generator | None = None,
        related: Sequence[str] = (),
    ) -> None:
        self.anchors = anchors
        self.utilization = utilization
        self.prevalence = prevalence
        self.random_state = random_state
        self.related = related

    @fit_aside
    def fit(self, counts: Any, y: Any = None) -> "Phenotyper":
        """Return self, fitted to a frame of counts, one row per patient and one column per feature.

        `y` is the truth of some patients from reviewed charts: a dict or pandas Series from patient
        to label, or one label per patient, missing if unknown.
        """
        names, stated = read_anchors(self.anchors), read_prevalence(self.prevalence)
        table = read_counts(counts, self.utilization)
        roles = find_roles(table, names, self.related)
        charts = read_reviewed(y, table.patients)
        charts.check_side(table.values[:, roles.anchors].sum(axis=1))
        rng = np.random.default_rng(self.random_state)
        fitted = fit_phenotype(table, roles, charts, stated, rng)
        phenotype = fitted.phenotype
        if not phenotype.anchor_model.converged:
            warn_user("EM for the anchor model reached its iteration limit", ConvergenceWarning)
        doubts = list_doubts(table, roles, fitted, stated=stated is not None)
        self.reliable_, self.reliability_reason_ = not doubts, "; ".join(doubts) or NO_DOUBT
        if doubts:
            warn_user(f"the phenotype is not reliable: {self.reliability_reason_}", UnelisaWarning)
        self.classes_ = as_labels(charts.classes)
        self.feature_names_in_, self.n_features_in_ = table.features, len(table.features)
        self.expected_counts_ = phenotype.expected_counts
        self.anchor_model_, self._anchor_places = phenotype.anchor_model, phenotype.anchors
        self.group_, self._group_places = phenotype.group, phenotype.group_places
        self.calibration_, self._shown = phenotype.calibration, phenotype.shown
        self._silence, self._adjustment = phenotype.silence, phenotype.adjustment
        self.prevalence_, self.threshold_ = float(fitted.chances.mean()), THRESHOLD
        self.ppv_, self.npv_, self.sensitivity_ = fitted.performance
        self.feature_facts_ = fitted.facts
        self._judges = Judges.of(self._phenotype, table)
        return self

    def decision_function(self, counts: Any) -> Floats:
        """Return the log-odds of being a case, per patient of `counts`, a table as in `fit`."""
        return self._phenotype.log_odds(self._read(counts))

    def predict_proba(self, counts: Any) -> Floats:
        """Return P(non-case) and P(case) per patient of `counts`, a table as in `fit`."""
        chances = expit(self.decision_function(counts))
        return np.column_stack([1 - chances, chances])

    def predict(self, counts: Any) -> NDArray[Any]:
        """Return one of `classes_` per patient of `counts`, a table as in `fit`.

        It is the positive one if P(case) >= `threshold_`.
        """
        flagged = self.predict_proba(counts)[:, 1] >= self.threshold_
        return np.asarray(self.classes_[flagged.astype(np.intp)])

    def score(self, counts: Any, y: Any) -> float:
        """Return the accuracy on the patients of `counts` whose truth y is known, as in `fit`."""
        table = self._read(counts)
        signs = read_reviewed(y, table.patients).signs
        flagged = expit(self._phenotype.log_odds(table)) >= self.threshold_
        return float(np.mean(flagged[signs != 0] == (signs[signs != 0] > 0)))

    def expect_ppv(self, counts: Any) -> Estimate:
        """Return the PPV that the model expects of `predict` on the patients of `counts`."""
        return self.expect_performance(counts).ppv

    def expect_performance(self, counts: Any) -> Performance:
        """Return PPV, NPV and sensitivity that the model expects of `predict` on `counts`."""
        table, phenotype = self._read(counts), self._phenotype
        return phenotype.expect_performance(table, phenotype.score(table))

    def __getstate__(self) -> dict[str, Any]:
        """Return the model without what it knows of the patients of the fit."""
        return {name: value for name, value in super().__getstate__().items() if name != "_judges"}

    @property
    def features_(self) -> Any:
        """One row per feature, as a pandas table; the strongest first."""
        return self.feature_facts_.describe(self.anchor_model_)

    @property
    def _phenotype(self) -> FittedPhenotype:
        return FittedPhenotype(
            self.expected_counts_,
            self.anchor_model_,
            self._anchor_places,
            self.group_,
            self._group_places,
            self.calibration_,
            getattr(self, "_shown", self.calibration_),  # files of earlier versions lack these
            getattr(self, "_silence", 0.0),
            getattr(self, "_adjustment", UNADJUSTED),
        )

    def _read(self, counts: Any) -> CountTable:
        check_is_fitted(self, "calibration_")
        table = read_counts(counts, self.utilization)
        names = self.feature_names_in_.tolist()
        return table.take_features(table.find(names, "an input of the model"))
