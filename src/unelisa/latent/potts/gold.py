"""Gold labels of K classes: they fix the class of their items in the fit, and then recalibrate.

From ten labels on, a slope and offsets are fitted to the pooled log-probabilities L of their items,
with Gaussian priors around "as the reading says"::

    P(k) = softmax_k(slope L_k + offset_k),  slope ~ N(1, .5^2), offset ~ N(0, .5^2)
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from unelisa.blocks import ItemBlocks, KeptBlocks
from unelisa.latent.ballots import Floats, fix_labels, set_prior_odds, take_ballots
from unelisa.latent.gold import LEAST_LABELS, SHIFT_WIDTH, SLOPE_WIDTH
from unelisa.latent.potts import read_classes
from unelisa.latent.potts.pool import ClassPool
from unelisa.latent.potts.reading import ClassReading

LEAST_SLOPE = 0.1


def read_known_classes(
    ballots: ItemBlocks,
    prior_odds: Floats,
    gold: NDArray[np.integer],
    ordered: bool,
    structure: str,
) -> ClassReading:
    """Return the reading of the votes, given prior log-odds (items x classes) and gold labels."""
    known = set_prior_odds(ballots, fix_labels(prior_odds, gold))
    reading = read_classes(known, prior_odds.shape[1], ordered=ordered, structure=structure)
    reading = recalibrate(reading, ballots, gold)
    reading = reading.answering(set_prior_odds(ballots, prior_odds))
    others = tuple(other.answering(ballots) for other in reading.others)
    return replace(reading, others=others)


def recalibrate(
    reading: ClassReading, ballots: ItemBlocks, gold: NDArray[np.integer]
) -> ClassReading:
    """Return the reading with probabilities recalibrated on gold labels, where there are enough."""
    known = np.flatnonzero(gold)
    if len(known) < LEAST_LABELS:
        return reading
    part = take_ballots(ballots, known)
    part = part._replace(prior_odds=np.zeros(part.n_items))
    logs = reading.score(KeptBlocks([part], ballots.n_voters))
    slope, offsets = _regress(logs, gold[known].astype(np.intp) - 1)
    pool: ClassPool = replace(reading.pool, slope=slope, offsets=offsets)
    return replace(reading, pool=pool)


def _regress(logs: Floats, labels: NDArray[np.intp]) -> tuple[float, Floats]:
    """Return slope and offsets with the highest posterior density."""
    rows, n_classes = np.arange(len(labels)), logs.shape[1]
    targets = np.eye(n_classes)[labels]

    def lose(x: Floats) -> tuple[float, Floats]:
        odds = x[0] * logs + x[1:]
        away = np.concatenate([[(x[0] - 1) / SLOPE_WIDTH], x[1:] / SHIFT_WIDTH])
        loss = -log_softmax(odds, axis=1)[rows, labels].sum() + (away**2).sum() / 2
        rest = softmax(odds, axis=1) - targets
        gradient = np.concatenate([[(rest * logs).sum()], rest.sum(axis=0)])
        gradient[0] += away[0] / SLOPE_WIDTH
        gradient[1:] += away[1:] / SHIFT_WIDTH
        return float(loss), gradient

    start = np.concatenate([[1.0], np.zeros(n_classes)])
    bounds = [(LEAST_SLOPE, None), *[(None, None)] * n_classes]
    found = minimize(lose, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return float(found[0]), np.asarray(found[1:])
