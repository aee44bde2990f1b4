"""Where the model holds, items of probability q come true with share q."""

import warnings

import numpy as np
import pytest

from unelisa.aggregators import LatentIsing
from unelisa.errors import UnelisaWarning
from unelisa.scoring import calibration_error
from unelisa.simulation import simulate_votes
from unelisa.study.cells import CELLS

LIMIT = 0.02
# At these two, the votes that the paper draws do not settle the parameters: with the true
# labels at hand, the standard error of some weights is beyond 2.
FROZEN = {"low-49-quarter", "low-81-quarter"}
FITTED = [cell for cell in CELLS if cell.name not in FROZEN]


def calibrate(cell, seeds):
    """Return the error over all items of some samples, each with the side of its truth."""
    chances, truths = [], []
    for seed in seeds:
        drawn = simulate_votes(cell.n_voters, cell.size, cell.snr, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnelisaWarning)
            positive = LatentIsing(random_state=0).fit(drawn.votes).predict_proba(drawn.votes)[:, 1]
        upright = np.mean((positive >= 0.5) == (drawn.truth > 0)) >= 0.5
        chances.append(positive if upright else 1 - positive)
        truths.append(drawn.truth)
    return calibration_error(np.concatenate(truths), np.concatenate(chances))


@pytest.mark.slow
@pytest.mark.parametrize(
    "cell", [cell for cell in FITTED if cell.n_voters == 25], ids=lambda c: c.name
)
def test_posteriors_are_calibrated_at_the_papers_sizes(cell):
    assert calibrate(cell, seeds=range(400, 403)) < LIMIT
