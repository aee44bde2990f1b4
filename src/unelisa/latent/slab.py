"""Spike-and-slab priors: most edges and most weights are zero, the others have a common size.

An edge is 0 (a spike), or N(+-w, s^2); so is a weight. Sizes, spreads and shares are learned.
"""

from typing import NamedTuple

import numpy as np

from unelisa.latent.joint import Floats

TINY = 1e-300
IMAGINED = np.array([1.0, 0.5, 0.5])  # voters that each share begins with


class Pull(NamedTuple):
    """A mixture of normals as seen from a point: one normal, precision (x - centre)^2 / 2."""

    precision: Floats
    centre: Floats


class EdgeSlab(NamedTuple):
    """The edges that are there: +-size, with a variance; shares of absent, positive, negative."""

    size: float
    variance: float
    shares: tuple[float, float, float] = (0.8, 0.1, 0.1)

    def chances(self, edges: Floats, spike: float) -> Floats:
        """Return the chances of absent, positive and negative for spikes of sd spike * size."""
        return mixture_chances(edges, self, (spike * self.size) ** 2, self.variance)

    def pull(self, edges: Floats, spike: float) -> Pull:
        """Return the E-step of spike and slab: the normal that draws each edge."""
        chances = self.chances(edges, spike)
        return mixture_pull(chances, self, (spike * self.size) ** 2)

    def learned(self, edges: Floats, information: Floats, spike: float) -> "EdgeSlab":
        """Return the M-step: edges count by their information; the variance stays off zero."""
        chances = self.chances(edges, spike)
        _, positive, negative = chances
        mass = float(information @ (positive + negative))
        shares = balanced_shares(chances)
        if mass <= 1e-9:
            return self._replace(shares=shares)
        size = max(float(information @ ((positive - negative) * edges)) / mass, 0.05)
        spread = positive * (edges - size) ** 2 + negative * (edges + size) ** 2
        variance = max(float(information @ spread) / mass, (0.15 * size) ** 2)
        return EdgeSlab(size, variance, shares)


class WeightSlab(NamedTuple):
    """The weights of experts: +-size, with a variance; shares of others, positive, negative."""

    size: float
    variance: float
    shares: tuple[float, float, float]

    def expert_chances(self, weights: Floats, errors: Floats) -> Floats:
        """Return gamma_s, the chance that a_s is no zero, each widened by its own error."""
        return np.asarray(1.0 - self._chances(weights, errors)[0])

    def _chances(self, weights: Floats, errors: Floats) -> Floats:
        noise = errors**2
        return mixture_chances(weights, self, noise + (self.size / 6) ** 2, noise + self.variance)

    def pull(self, weights: Floats) -> Pull:
        """Return the normal that draws each weight: the spike's sd is three tenths of the size."""
        spike = (0.3 * self.size) ** 2
        chances = mixture_chances(weights, self, spike, self.variance)
        return mixture_pull(chances, self, spike)

    def means(self, weights: Floats, errors: Floats) -> Floats:
        """Return the posterior means: chance times the weight drawn to the slab's centre."""
        centre = np.sign(weights) * self.size
        trust = self.variance / (self.variance + errors**2)
        return self.expert_chances(weights, errors) * (centre + trust * (weights - centre))


def mixture_chances(
    x: Floats, slab: EdgeSlab | WeightSlab, spike: Floats | float, spread: Floats | float
) -> Floats:
    """Return the chances of the three normals: 0, +size, -size, with the two variances."""
    parts = ((0.0, spike), (slab.size, spread), (-slab.size, spread))
    heights = [
        share * np.exp(-0.5 * (x - centre) ** 2 / variance) / np.sqrt(variance)
        for share, (centre, variance) in zip(slab.shares, parts, strict=True)
    ]
    chances = np.stack(heights) + TINY
    return np.asarray(chances / chances.sum(axis=0))


def mixture_pull(chances: Floats, slab: EdgeSlab | WeightSlab, spike: float) -> Pull:
    """Return the expected log density as one normal."""
    absent, positive, negative = chances
    precision = absent / spike + (positive + negative) / slab.variance
    centre = (positive - negative) * slab.size / slab.variance / precision
    return Pull(precision, centre)


def balanced_shares(chances: Floats) -> tuple[float, float, float]:
    """Return the three shares with a start of two imagined voters, and one for both signs."""
    counts = chances.reshape(3, -1).sum(axis=1) + IMAGINED
    absent, positive, negative = counts / counts.sum()
    side = (positive + negative) / 2
    return float(absent), float(side), float(side)


def learn_weight_slab(weights: Floats, errors: Floats, rounds: int = 30) -> WeightSlab:
    """Return the mixture of the weights by EM, each weight measured with its own error.

    The slab's sd is between a tenth and a third of its size, with two imagined experts at a fifth.
    """
    noise = errors**2
    slab = _first_weight_slab(weights, errors)
    for _ in range(rounds):
        chances = slab._chances(weights, errors)
        _, positive, negative = chances
        counts = chances.sum(axis=1) + IMAGINED
        total = slab.variance + noise
        mass = ((positive + negative) / total).sum()
        size = float(((positive - negative) * weights / total).sum() / max(mass, 1e-9))
        size = max(size, 0.05)
        trust = slab.variance / total
        left = trust * noise
        above = (trust * (weights - size)) ** 2 + left
        below = (trust * (weights + size)) ** 2 + left
        spread = (positive * above + negative * below).sum() + 2 * (0.2 * size) ** 2
        variance = float(spread / ((positive + negative).sum() + 2))
        variance = min(max(variance, (0.1 * size) ** 2), (size / 3) ** 2)
        shares = counts / counts.sum()
        slab = WeightSlab(size, variance, (shares[0], shares[1], shares[2]))
    return slab


def _first_weight_slab(weights: Floats, errors: Floats) -> WeightSlab:
    """Return the start: the median of the clear weights, at least half of the third largest."""
    sizes = np.abs(weights)
    clear = sizes[sizes > 3 * errors]
    size = float(np.median(clear)) if len(clear) > 2 else max(float(sizes.max()), 0.3)
    third = np.sort(sizes)[::-1][min(2, len(sizes) - 1)]
    size = max(size, 0.5 * float(third), 0.05)
    return WeightSlab(size, (0.3 * size) ** 2, (0.6, 0.2, 0.2))
