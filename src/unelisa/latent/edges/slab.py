"""Spike-and-slab priors: most edges and most weights are zero, the others share a common size.

An edge is zero (the spike) or normal around +size or -size (the slab); so is a weight. Sizes,
variances and shares are learned.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TINY = 1e-300
SPIKES = (0.4, 0.4, 0.3, 0.3, 0.2, 0.2)  # widths of the edges' spike, in units of the slab's size
PSEUDO_COUNTS = np.array([1.0, 0.5, 0.5])  # added to the counts from which shares are learned


class Slab(NamedTuple):
    """Normals around +-size with a common variance; shares of zero, positive and negative."""

    size: float
    variance: float
    shares: tuple[float, float, float] = (0.8, 0.1, 0.1)

    def probabilities(self, x: Floats, spike_sd: float, noise: Floats | float = 0.0) -> Floats:
        """Return P(zero), P(positive), P(negative) of each x, which has a noise variance."""
        spike, slab = noise + spike_sd**2, noise + self.variance
        components = ((0.0, spike), (self.size, slab), (-self.size, slab))
        densities = [
            share * np.exp(-0.5 * (x - center) ** 2 / variance) / np.sqrt(variance)
            for share, (center, variance) in zip(self.shares, components, strict=True)
        ]
        heights = np.stack(densities) + TINY
        return np.asarray(heights / heights.sum(axis=0))

    def expected_prior(self, x: Floats, spike_sd: float) -> tuple[Floats, Floats]:
        """Return precision and center of the normal that is the expected log prior of each x."""
        zero, positive, negative = self.probabilities(x, spike_sd)
        precision = zero / spike_sd**2 + (positive + negative) / self.variance
        return precision, (positive - negative) * self.size / self.variance / precision

    def updated(self, edges: Floats, information: Floats, spike_sd: float) -> "Slab":
        """Return the M-step: edges weighted by their information, the variance bounded below."""
        probabilities = self.probabilities(edges, spike_sd)
        _, positive, negative = probabilities
        counts = probabilities.reshape(3, -1).sum(axis=1) + PSEUDO_COUNTS
        zero, *nonzero = counts / counts.sum()
        shares = float(zero), float(sum(nonzero) / 2), float(sum(nonzero) / 2)
        mass = float(information @ (positive + negative))
        if mass <= 1e-9:
            return self._replace(shares=shares)
        size = max(float(information @ ((positive - negative) * edges)) / mass, 0.05)
        squares = positive * (edges - size) ** 2 + negative * (edges + size) ** 2
        variance = max(float(information @ squares) / mass, (0.15 * size) ** 2)
        return Slab(size, variance, shares)

    def expert_probabilities(self, weights: Floats, errors: Floats) -> Floats:
        """Return gamma_s = P(a_s is not zero), given the standard errors of the weights."""
        return np.asarray(1.0 - self.probabilities(weights, self.size / 6, errors**2)[0])

    def shrink(self, weights: Floats, errors: Floats) -> Floats:
        """Return the posterior means of the weights: gamma_s times a_s shrunk toward +-size."""
        center = np.sign(weights) * self.size
        trust = self.variance / (self.variance + errors**2)
        return self.expert_probabilities(weights, errors) * (center + trust * (weights - center))


def learn_edge_slab(edges: Floats, information: Floats) -> Slab:
    """Return the slab of the edges by EM, with a spike that narrows from round to round."""
    sizes = np.abs(edges[edges != 0])
    size = float(np.quantile(sizes, 0.75)) if len(sizes) else 0.3
    slab = Slab(size, (0.4 * size) ** 2)
    for spike in SPIKES:
        slab = slab.updated(edges, information, spike * slab.size)
    return slab


def learn_weight_slab(weights: Floats, errors: Floats, rounds: int = 30) -> Slab:
    """Return the slab of the weights by EM, given their standard errors.

    Its standard deviation is between a tenth and a third of its size, with a prior worth two
    experts at a fifth.
    """
    noise = errors**2
    slab = _initialize(weights, errors)
    for _ in range(rounds):
        probabilities = slab.probabilities(weights, slab.size / 6, noise)
        _, positive, negative = probabilities
        counts = probabilities.sum(axis=1) + PSEUDO_COUNTS
        total = slab.variance + noise
        mass = ((positive + negative) / total).sum()
        size = float(((positive - negative) * weights / total).sum() / max(mass, 1e-9))
        size = max(size, 0.05)
        trust = slab.variance / total
        left = trust * noise
        above = (trust * (weights - size)) ** 2 + left
        below = (trust * (weights + size)) ** 2 + left
        squares = (positive * above + negative * below).sum() + 2 * (0.2 * size) ** 2
        variance = float(squares / ((positive + negative).sum() + 2))
        variance = min(max(variance, (0.1 * size) ** 2), (size / 3) ** 2)
        shares = counts / counts.sum()
        slab = Slab(size, variance, (shares[0], shares[1], shares[2]))
    return slab


def _initialize(weights: Floats, errors: Floats) -> Slab:
    """Return the first slab: the median significant weight, at least half the third largest."""
    sizes = np.abs(weights)
    significant = sizes[sizes > 3 * errors]
    size = float(np.median(significant)) if len(significant) > 2 else max(float(sizes.max()), 0.3)
    third = np.sort(sizes)[::-1][min(2, len(sizes) - 1)]
    size = max(size, 0.5 * float(third), 0.05)
    return Slab(size, (0.3 * size) ** 2, (0.6, 0.2, 0.2))
