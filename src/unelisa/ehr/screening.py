"""Which features, besides the anchors, carry information about the truth.

A feature is used if its rate is correlated with every anchor, in the same direction, and if the
anchored graph connects it to the truth itself given all other features. The graph is the latent
Ising model with one voter per feature (does the count exceed its expectation?) and the anchors'
log-odds z_i as prior odds of the hidden truth:

    P(truth_i = +1 | votes) = sigmoid(2 (theta_0 + z_i / 2 + sum_s theta_0s f_is)).

The prior odds keep the truth where the anchors have it; used only as an initialization, they would
be forgotten.
"""

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators.latent_ising import LatentIsing
from unelisa.ehr.counts import Counts, Floats, Places, Roles
from unelisa.errors import UnelisaWarning
from unelisa.votes import Votes

SCREEN = 0.1  # smallest correlation with every anchor
MOST_PATIENTS = 10_000  # enough for clear couplings within seconds
FEWEST_VOTERS = 3  # with fewer, no feature can be explained by the others
_DEGREE = 3  # of the polynomial in log utilization that is removed before correlating features


class Screening(NamedTuple):
    """What was found about each feature."""

    correlations: Floats  # features x anchors, after removing utilization
    # +1 or -1 for features correlated with every anchor, positively or negatively; else 0
    directions: NDArray[np.int8]
    ties: Floats  # theta_0s of the anchored graph, NaN for features that were not in it
    selected: Places  # indices of the features that are used, without the anchors


def screen(
    rates: Counts,
    votes: Votes,
    log_use: Floats,
    odds: Floats,
    roles: Roles,
    rng: np.random.Generator,
) -> Screening:
    """Return the features to use besides the anchors.

    `rates` and `votes` are patients x features: log rates, and one voter per feature. `log_use` is
    log(1 + utilization), `odds` the anchors' log-odds.
    """
    free = remove_utilization(rates, log_use)
    correlations = correlate(free, free[:, roles.anchors])
    directions = screen_features(correlations, len(rates))
    places = np.setdiff1d(np.flatnonzero(directions), np.r_[roles.anchors, roles.related])
    ties = np.full(rates.shape[1], np.nan)
    found = tie_features(votes.take_voters(places), odds, rng) if len(places) else None
    if found is not None:
        weights, clear = found
        ties[places] = weights
        places = places[clear & (np.sign(weights) == directions[places])]
    return Screening(correlations, directions, ties, places)


def remove_utilization(rates: Counts, log_use: Floats) -> Counts:
    """Return the residuals of the rates from a cubic in log utilization.

    A rate averages 0 over counts, not over patients: most counts are 0, and the rate of a 0
    falls with utilization. Without this step all rates are slightly correlated.
    """
    spread = float(log_use.std())
    degree = _DEGREE if spread > 0 else 0
    scaled = np.clip((log_use - log_use.mean()) / (3 * spread or 1.0), -1, 1)
    basis, _ = np.linalg.qr(np.polynomial.legendre.legvander(scaled, degree))
    left = np.empty_like(rates)
    for feature in range(rates.shape[1]):
        column = rates[:, feature].astype(np.float64)
        left[:, feature] = column - basis @ (basis.T @ column)
    return left


def correlate(rates: NDArray[np.floating], anchor_rates: NDArray[np.floating]) -> Floats:
    """Return the correlation of every feature with every anchor; 0 for a constant feature."""
    anchors = standardize(anchor_rates.astype(np.float64))
    found = np.zeros((rates.shape[1], anchors.shape[1]))
    for feature in range(rates.shape[1]):
        column = rates[:, feature].astype(np.float64)
        found[feature] = standardize(column) @ anchors / len(column)
    return found


def standardize(columns: Floats) -> Floats:
    """Return the columns with mean 0 and standard deviation 1; 0 for a constant one."""
    spread = columns.std(axis=0)
    return np.asarray((columns - columns.mean(axis=0)) / np.where(spread > 1e-3, spread, np.inf))


def screen_features(correlations: Floats, n_patients: int) -> NDArray[np.int8]:
    """Return +1 or -1 for features correlated with every anchor in that direction, else 0.

    The threshold is SCREEN or, in small samples, what the largest of p correlations reaches by
    chance, sqrt(2 log p / n).
    """
    n_features = max(2, len(correlations))
    bar = max(SCREEN, float(np.sqrt(2 * np.log(n_features) / n_patients)))
    positive, negative = correlations.min(axis=1) > bar, correlations.max(axis=1) < -bar
    return np.asarray(positive.astype(np.int8) - negative.astype(np.int8))


def tie_features(
    votes: Votes, odds: Floats, rng: np.random.Generator
) -> tuple[Floats, NDArray[np.bool_]] | None:
    """Return theta_0s per feature given all others, and whether it is clearly not 0.

    Returns None for fewer than three features that vary. Uses at most 10,000 patients.
    """
    varied = np.flatnonzero(~votes.constant())
    if len(varied) < FEWEST_VOTERS:
        return None
    rows = np.arange(votes.n_items)
    if len(rows) > MOST_PATIENTS:
        rows = np.sort(rng.choice(rows, MOST_PATIENTS, replace=False))
    model = LatentIsing("edges", random_state=rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnelisaWarning)  # the model does not know the anchors
        model.fit(votes.take_voters(varied).take_items(rows), prior=odds[rows])
    weights, clear = np.zeros(votes.n_voters), np.zeros(votes.n_voters, dtype=bool)
    weights[varied] = model.weights_
    clear[varied[model.experts_]] = True
    return weights, clear
