"""Coefficients: Gaussian posteriors of what each branch or voter does, around a common center."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.kernels.coefficients import move_voters, weigh_voters
from unelisa.schema import stored

Floats = NDArray[np.float64]

NODES, SHARES = np.polynomial.hermite_e.hermegauss(5)
SHARES /= SHARES.sum()
SPREAD_VOTERS = 2.0  # what the guess of a spread is worth


@stored(
    means="finite[rows, parts]",
    covariances="finite[rows, parts, parts]",
    center="finite[parts]",
    spread="positive[parts]",
)
@dataclass(frozen=True, eq=False)
class Coefficients:
    """N(m, C) for every row, and the N(mu, sd^2) that they come from."""

    # means, covariances: rows x parts, rows x parts x parts
    means: Floats
    covariances: Floats
    # center, spread: mu and sd
    center: Floats
    spread: Floats

    @classmethod
    def first(cls, n_rows: int, prior: "Prior", parts: int) -> "Coefficients":
        """Return where EM begins: all rows alike."""
        center, spread = prior.first[:parts], prior.first_spread[:parts]
        covariances = np.tile(np.diag(spread**2), (n_rows, 1, 1))
        return cls(np.tile(center, (n_rows, 1)), covariances, center, spread)

    def tabulate(self, states: Floats) -> Floats:
        """Return E log P(no), E log P(yes) per row and state: rows x 2 x states."""
        effects, normalizers = weigh_voters(self.means, self.covariances, states, NODES, SHARES)
        return np.ascontiguousarray(np.stack([-effects, effects], axis=1) - normalizers[:, None])

    def moved(self, said: Floats, states: Floats, steps: int, least: float) -> "Coefficients":
        """Return Newton steps toward the expected counts `said` (rows x 2 x states)."""
        counts = said[:, 1] - said[:, 0], said[:, 1] + said[:, 0]
        means, covariances = self.means, self.covariances
        for _ in range(steps):
            means, covariances = move_voters(
                *(means, covariances, *counts, states),
                *(self.center, self.spread, least, NODES, SHARES),
            )
        return replace(self, means=means, covariances=covariances)

    def learned(self, said: Floats, prior: "Prior", *, unbiased: bool = False) -> "Coefficients":
        """Return the same rows with mu and sd of those that were heard, under their hyper-priors.

        `unbiased`: the mean bias is held at 0.
        """
        on, parts = said.sum(axis=(1, 2)) > 0, self.means.shape[1]
        means, variances = self.means[on], np.einsum("sii->si", self.covariances)[on]
        precision, hyper = 1 / self.spread**2, 1 / prior.center_spread[:parts] ** 2
        center = means.sum(axis=0) * precision + prior.center[:parts] * hyper
        center /= len(means) * precision + hyper
        if unbiased:
            center[0] = 0.0
        squares = ((means - center) ** 2 + variances).sum(axis=0)
        squares += SPREAD_VOTERS * prior.spread[:parts] ** 2
        spread = np.sqrt(squares / (len(means) + SPREAD_VOTERS))
        spread = np.clip(spread, prior.least[:parts], prior.most[:parts])
        return replace(self, center=center, spread=spread)

    def shifted(self, said: Floats, part: float) -> "Coefficients":
        """Return the same rows without a part of their mean bias, each weighted by its votes."""
        votes = said.sum(axis=(1, 2))
        means = self.means.copy()
        means[:, 0] -= part * float(votes @ means[:, 0]) / max(float(votes.sum()), 1e-9)
        return replace(self, means=means)

    def divergence(self, on: NDArray[np.bool_]) -> float:
        """Return the sum over these rows of KL(N(m, C) || N(mu, sd^2))."""
        covariances = self.covariances[on]
        variances = np.einsum("sii->si", covariances)
        away = ((self.means[on] - self.center) ** 2 + variances) / self.spread**2
        total = (away - 1 + 2 * np.log(self.spread)).sum()
        return float(total - np.linalg.slogdet(covariances)[1].sum()) / 2

    def without(self, rows: NDArray[np.bool_]) -> "Coefficients":
        """Return the same coefficients with some rows at exactly 0."""
        means = np.where(rows[:, None], 0.0, self.means)
        covariances = np.where(rows[:, None, None], 0.0, self.covariances)
        return replace(self, means=means, covariances=covariances)

    def grown(self, place: int, n_rows: int) -> "Coefficients":
        """Return the same coefficients with rows at the center inserted at a place."""
        square = np.diag(self.spread**2)
        return replace(
            self,
            means=np.insert(self.means, [place] * n_rows, self.center, axis=0),
            covariances=np.insert(self.covariances, [place] * n_rows, square, axis=0),
        )

    def turned(self) -> "Coefficients":
        """Return the same coefficients with the two sides of the truth swapped."""
        signs = np.ones(self.means.shape[1])
        signs[1] = -1
        return replace(
            self,
            means=self.means * signs,
            covariances=self.covariances * np.outer(signs, signs),
            center=self.center * signs,
        )


class Prior(NamedTuple):
    """Hyper-priors of (b, a, c), and where EM begins."""

    # center, center_spread: mean and sd of mu
    center: Floats
    center_spread: Floats
    spread: Floats  # a guess of sd, worth two voters
    # least, most: bounds of sd
    least: Floats
    most: Floats
    # first, first_spread: initial mu and sd
    first: Floats
    first_spread: Floats

    def log_density(self, found: Coefficients) -> float:
        """Return the log density of mu and sd."""
        parts = len(found.center)
        away = (found.center - self.center[:parts]) / self.center_spread[:parts]
        guess = self.spread[:parts] / found.spread
        density = -(away**2).sum() / 2
        return float(density - SPREAD_VOTERS * (np.log(found.spread) + guess**2 / 2).sum())


BRANCHES = Prior(
    np.array([0.0, 0.6, 0.0]),
    np.array([0.5, 0.6, 1.0]),
    np.array([0.3, 0.4, 0.3]),
    np.array([0.1, 0.15, 0.05]),
    np.array([np.inf, np.inf, 0.2]),  # u is a misreading shared by all, not a truth
    np.array([0.0, 0.7, 0.3]),
    np.array([0.5, 0.5, 0.2]),
)
MEMBERS = Prior(
    np.array([0.0, 1.2]),  # a voter says what its family says in 92 % of the cases
    np.array([0.5, 0.6]),
    np.array([0.3, 0.5]),
    np.array([0.1, 0.15]),
    np.array([np.inf, np.inf]),
    np.array([0.0, 1.2]),
    np.array([0.4, 0.7]),
)
