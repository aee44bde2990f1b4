"""The anchored graph: which features are tied to the truth itself, and not to other features.

One voter per feature (is its count above what the utilisation lets expect?), the latent Ising model
with edges among the voters, and the anchors' log odds z_i in the field of the hidden truth:

    P(truth_i = +1 | votes) = sigmoid(2 (theta_0 + z_i / 2 + sum_s theta_0s f_is)).

The field holds the truth where the anchors have it; as a start only, it would be forgotten.
"""

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators.latent_ising import LatentIsing
from unelisa.errors import UnelisaWarning
from unelisa.sources.counts import Floats
from unelisa.votes import Votes

MOST_PATIENTS = 10_000  # the graph's ties are clear by then, and it takes seconds
FEWEST_VOTERS = 3  # fewer leave nothing to explain one by the others


class Ties(NamedTuple):
    """theta_0s per feature, and whether it is clearly not 0."""

    weights: Floats
    clear: NDArray[np.bool_]


def tie_features(votes: Votes, odds: Floats, rng: np.random.Generator) -> Ties | None:
    """Return each feature's tie to the truth given all others; None for fewer than three features.

    Parameters
    ----------
    votes
        One voter per feature.
    odds
        The anchors' log odds per patient.
    rng
        Draws the patients where there are many.
    """
    varied = np.flatnonzero(~votes.constant())
    if len(varied) < FEWEST_VOTERS:
        return None
    rows = np.arange(votes.n_items)
    if len(rows) > MOST_PATIENTS:
        rows = np.sort(rng.choice(rows, MOST_PATIENTS, replace=False))
    model = LatentIsing("edges", random_state=rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnelisaWarning)  # it does not know of the anchors
        model.fit(votes.take_voters(varied).take_items(rows), prior=odds[rows])
    weights, clear = np.zeros(votes.n_voters), np.zeros(votes.n_voters, dtype=bool)
    weights[varied] = model.weights_
    clear[varied[model.experts_]] = True
    return Ties(weights, clear)
