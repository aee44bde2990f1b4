"""What gold labels are worth: random labels of real items, everything else is scored."""

import warnings

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from studies.records import Json
from unelisa.aggregators.known import number_codes
from unelisa.analysis.scoring import score_labels
from unelisa.errors import UnelisaWarning
from unelisa.latent import interpret
from unelisa.latent.gold import follow_gold
from unelisa.sources.labels import KnownLabels
from unelisa.votes.ballots import list_ballots

Floats = NDArray[np.float64]
Signs = NDArray[np.int8]
BUDGETS = (10, 20, 50)
DRAWS = 20
MOST_ODDS = 7.0  # log-odds of the default, as a column of the regression
WAYS = ("without", "with", "regression")
FIGURES = ("accuracy", "log_loss")


def run_gold(known: KnownLabels, first_seed: int, draws: int = DRAWS) -> Json:
    """Return mean accuracy and log loss without labels, with them and by regression, per budget.

    The votes are read once; a fit with labels reads them in the same way. The labels of a draw are
    those of random items with votes, at most half of them; all other items are scored.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnelisaWarning)
        fitted, asked = list_ballots(known.votes.blocks), known.scored_votes()
        reading = interpret(fitted, "auto")
        if reading.needs_turning():
            reading = reading.turned()
        ballots = list_ballots(asked.blocks)
        odds = reading.score(ballots)
        found: dict[str, list[float]] = {}
        for budget in BUDGETS:
            for draw in range(draws):
                gold = draw_labels(known.signs, budget, first_seed + draw)
                classes = number_codes(gold, 2)
                labeled = follow_gold(fitted, classes, reading)[0].score(ballots)
                peer = regress(asked.values, odds, np.flatnonzero(gold), known.signs)
                rest = known.scored_signs()
                rest[np.flatnonzero(gold)] = 0
                for way, scores in zip(WAYS, (odds, labeled, peer), strict=True):
                    scored = score_labels(rest, scores, expit(scores))
                    for figure in FIGURES:
                        key = f"{figure}, {way}, {budget}"
                        found.setdefault(key, []).append(getattr(scored, figure))
    return {key: round(float(np.mean(values)), 5) for key, values in found.items()}


def draw_labels(signs: Signs, budget: int, seed: int) -> Signs:
    """Return the labels of some random items, 0 for the others."""
    labeled = np.flatnonzero(signs)
    some = min(budget, len(labeled) // 2)
    chosen = np.random.default_rng(seed).choice(labeled, some, replace=False)
    gold = np.zeros_like(signs)
    gold[chosen] = signs[chosen]
    return gold


def regress(values: Signs, odds: Floats, items: NDArray[np.intp], signs: Signs) -> Floats:
    """Return the log-odds of ridge regression on the votes with our log-odds as one more column.

    With scikit-learn's default penalty; our log-odds where the labels are of one class.
    """
    if len(np.unique(signs[items])) == 1:
        return odds
    votes = sp.csr_array(values.astype(np.float64))
    columns = sp.hstack([np.clip(odds, -MOST_ODDS, MOST_ODDS)[:, None], votes], format="csr")
    model = LogisticRegression(max_iter=1000).fit(columns[items], signs[items])
    return np.asarray(model.decision_function(columns), dtype=np.float64)
