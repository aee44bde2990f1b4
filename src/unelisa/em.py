"""Expert votes -> reliabilities, prevalence and posteriors: Algorithm 2, (4.1)-(4.6)."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from unelisa.kernels.tally import tally_votes, weigh_votes

Floats = NDArray[np.float64]
# psi and pi stay off 0 and 1: an expert is never infallible on the strength of finitely many votes
CLIP = 1e-4


@dataclass(frozen=True)
class Reliability:
    """What the experts' votes say about the experts and the truth.

    Attributes
    ----------
    reliabilities
        psi_s = P(f_s = f_0) per expert.
    prevalence
        pi = P(f_0 = +1).
    posterior
        tau_i = P(f_0 = +1 | votes) per item.
    lower_bound
        The bound that EM raises, one value per round, per item.
    converged
        Whether the last round raised it by less than the tolerance.
    """

    reliabilities: Floats
    prevalence: float
    posterior: Floats
    lower_bound: Floats
    converged: bool

    @property
    def weights(self) -> Floats:
        """theta_0s = 1/2 log(psi_s / (1 - psi_s)), (4.1)."""
        return np.asarray(logit(self.reliabilities) / 2)

    @property
    def field(self) -> float:
        """theta_0 = 1/2 log(pi / (1 - pi)), (4.2)."""
        return float(logit(self.prevalence) / 2)

    def turned_around(self) -> "Reliability":
        """Return the mirror solution, which explains the votes equally well."""
        return replace(
            self,
            reliabilities=1 - self.reliabilities,
            prevalence=1 - self.prevalence,
            posterior=1 - self.posterior,
        )


def estimate_reliability(
    values: NDArray[np.int8],
    start: Floats,
    max_iter: int = 500,
    tol: float = 1e-9,
    *,
    pooled: bool = False,
) -> Reliability:
    """Return Algorithm 2's fixed point from a starting posterior tau.

    M-step (4.6), divided by the items an expert voted on::

        psi_s = 1/2 + sum_i (tau_i - 1/2) f_is / n_s,      pi = mean tau

    E-step (4.5): tau_i = sigmoid(2 (theta_0 + sum_s theta_0s f_is)). Clipping psi and pi keeps
    each M-step the maximiser over the clipped range, so the bound never falls.

    The bound is (4.4) with tau for Z plus the entropy of tau, which print leaves out; without it
    (4.4) is not a bound and can fall.

    Pooled, all voters share one psi and pi is 1/2: majority vote with a probability. On pure noise
    it stays near 1/2, where a psi for each voter would make one of them the truth.
    """
    counts = tally_votes(values, np.ones(len(values)))[1]
    silent = np.zeros(len(counts))
    posterior, history = start, [-np.inf]
    reliabilities, prevalence = np.empty(0), 0.5
    for _ in range(max_iter):
        agreement = tally_votes(values, posterior - 0.5)[0]
        shares = agreement / np.maximum(counts, 1.0)
        if pooled:
            shares[:] = agreement.sum() / max(counts.sum(), 1.0)
        reliabilities = np.clip(0.5 + shares, CLIP, 1 - CLIP)
        prevalence = 0.5 if pooled else float(np.clip(posterior.mean(), CLIP, 1 - CLIP))
        score = weigh_votes(values, logit(reliabilities) / 2, silent)
        posterior = expit(2 * (logit(prevalence) / 2 + score))
        history.append(_lower_bound(score, counts, reliabilities, prevalence))
        if history[-1] - history[-2] < tol:
            break
    converged = history[-1] - history[-2] < tol
    return Reliability(reliabilities, prevalence, posterior, np.array(history[1:]), converged)


def _lower_bound(score: Floats, counts: Floats, reliabilities: Floats, prevalence: float) -> float:
    """Return the bound per item; right after an E-step it equals the log-likelihood.

    sum_i log(pi e^{z_i} + (1 - pi) e^{-z_i}) + sum_s n_s/2 log(psi_s (1 - psi_s)),
    z_i = sum_s theta_0s f_is.
    """
    mixture = np.logaddexp(np.log(prevalence) + score, np.log1p(-prevalence) - score).sum()
    scale = counts @ (np.log(reliabilities) + np.log1p(-reliabilities)) / 2
    return float((mixture + scale) / len(score))


def best_reliability(
    values: NDArray[np.int8],
    polarity: NDArray[Any],
    n_starts: int,
    rng: np.random.Generator,
    max_iter: int = 500,
) -> Reliability:
    """Return the fixed point with the highest bound over several starts.

    The first start weighs the experts equally (their augmented majority), the others draw a
    weight theta_0s between 0 and 1 for each, always on its side of the polarity.
    """
    d0 = len(polarity)
    drawn = np.vstack([np.ones(d0), rng.uniform(0, 1, (n_starts - 1, d0))]) * polarity
    margins = (weigh_votes(values, weights, np.zeros(d0)) for weights in drawn)
    fits = [estimate_reliability(values, expit(2 * margin), max_iter) for margin in margins]
    return max(fits, key=lambda fit: float(fit.lower_bound[-1]))
