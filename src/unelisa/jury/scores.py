"""Scores on a continuous scale: a Gaussian form of the hidden quality, and each judge's own scale.

Judge j gives answer i of system g the score::

    y_ij = m_j + s_j q_i + e_ij,   q_i ~ N(mu_g, tau^2),   e_ij ~ N(0, sigma_j^2)

The quality q is on the scale of the average judge: s_j is 1 and m_j 0 on average over all scores.
A judge whose scores are all equal is left out. EM finds the parameters. Given the judges, the
unbiased estimate of one answer and its weight are::

    u_i = sum_j (s_j / sigma_j^2) (y_ij - m_j) / I_i,   I_i = sum_j s_j^2 / sigma_j^2,
    w_i = 1 / (tau^2 + 1 / I_i)

so that a system's mean is sum w_i u_i / sum w_i. A question is a cluster: its answers' parts
w_i (u_i - mu_g) / sum w are added up before they are squared, which also pairs the systems that
answered one question. A noise below `FLOOR` of the judge's variance is not believed.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from unelisa.errors import Hint, VotesError
from unelisa.jury.grades import Range, find_mixed, suggest_cut
from unelisa.jury.intervals import Estimate, Ranked, rank_all

if TYPE_CHECKING:
    from unelisa.jury.verdicts import Panel

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
FLOOR = 0.05
STEPS, SETTLED = 500, 1e-6
LEAST_JUDGES, LEAST_ITEMS = 2, 10
FEW = 0.5  # squared answers that are added to the error of a rate: few may all be alike


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of judges: one row each, with the number of its answer and of its judge."""

    items: list[str]
    judges: list[str]
    systems: list[str]
    system: Indices  # of each answer
    question: Indices  # of each answer
    rows: Indices
    columns: Indices
    values: Floats

    @property
    def ranges(self) -> dict[str, Range]:
        """The lowest and the highest score of each judge, and how many there are."""
        own = {name: self.values[self.columns == j] for j, name in enumerate(self.judges)}
        return {name: Range(min(x), max(x), len(x)) for name, x in own.items() if len(x)}

    @classmethod
    def of(cls, panel: "Panel") -> "Scores":
        """Return the scores that logs hold."""
        keys, judges, rows, columns, values = panel.list_scores()
        systems = sorted({key.system for key in keys})
        questions = {key.question: k for k, key in enumerate(keys)}
        system = np.array([systems.index(key.system) for key in keys], dtype=np.intp)
        question = np.array([questions[key.question] for key in keys], dtype=np.intp)
        found = cls(panel.name_items(), judges, systems, system, question, rows, columns, values)
        return found.take(np.ones(len(rows), dtype=np.bool_))

    def take(self, kept: NDArray[np.bool_]) -> "Scores":
        """Return some scores, with the answers, judges and systems that they are about."""
        answers, rows = np.unique(self.rows[kept], return_inverse=True)
        judges, columns = np.unique(self.columns[kept], return_inverse=True)
        systems, system = np.unique(self.system[answers], return_inverse=True)
        return Scores(
            [self.items[i] for i in answers],
            [self.judges[j] for j in judges],
            [self.systems[g] for g in systems],
            *(system, self.question[answers], rows, columns, self.values[kept]),
        )


@dataclass(frozen=True, eq=False)
class ScoredPanel:
    """What scores say; `reason` is why not to trust it, or empty.

    Of a judge: what it adds (m), how far it spreads the scores (s), sigma, and the share of the
    variance of its scores that is quality.
    """

    judges: list[dict[str, Any]]  # name, location, scale, noise, reliability, scores
    systems: list[Ranked]  # by mean quality
    effective_judges: float  # of the panel's precision, in judges like the average one
    quality: Floats  # expected quality of each answer
    error: Floats  # its standard deviation
    scores: Scores
    reason: str
    left_out: list[str]  # judges whose scores are all equal

    def pass_rates(self, cut: float) -> dict[str, Estimate]:
        """Return the share of each system's answers whose quality is at least `cut`.

        The mean of P(q_i >= cut) given the scores; a question is a cluster.
        """
        chances = ndtr((self.quality - cut) / np.maximum(self.error, 1e-12))
        found = {}
        for g, name in enumerate(self.scores.systems):
            own = self.scores.system == g
            share = float(chances[own].mean())
            sums = np.bincount(self.scores.question[own], chances[own] - share)
            n = int(own.sum())
            value, low, high = Estimate.of(share, (float(sums @ sums) + FEW) / n**2)
            found[name] = Estimate(value, max(low, 0.0), min(high, 1.0))
        return found


def fit_scores(scores: Scores) -> ScoredPanel:
    """Return judges, systems and answers as the Gaussian model has them.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> quality = np.repeat([60.0, 70.0], 100) + 10 * rng.standard_normal(200)
    >>> rows, columns = np.repeat(np.arange(200), 3), np.tile(np.arange(3), 200)
    >>> values = quality[rows] + np.array([5.0, 0.0, -5.0])[columns] + rng.standard_normal(600)
    >>> found = fit_scores(Scores([""] * 200, ["x", "y", "z"], ["a", "b"], np.repeat([0, 1], 100),
    ...     np.tile(np.arange(100), 2), rows, columns, values))
    >>> [round(judge["noise"]) for judge in found.judges], found.systems[0].system
    ([2, 2, 2], 'b')
    """
    ranges = scores.ranges
    constant = [name for name in scores.judges if ranges[name].low == ranges[name].high]
    if 0 < len(constant) < len(scores.judges):
        scores = scores.take(~np.isin(np.array(scores.judges)[scores.columns], constant))
    n, p = len(scores.items), len(scores.judges)
    if p < LEAST_JUDGES or n < LEAST_ITEMS or len(constant) == p:
        raise VotesError(
            f"scores of {p} judge{'s' * (p != 1)} on {n} answer{'s' * (n != 1)} are too few or "
            f"too alike for means; {LEAST_JUDGES} judges and {LEAST_ITEMS} answers are needed at "
            "least, or the lowest score that passes",
            Hint("cut", suggest_cut(scores.values.tolist())),
        )
    state = _State.start(scores)
    for _ in range(STEPS):
        new = state.step(scores)
        change = float(np.abs(new.means - state.means).max() / np.sqrt(state.spread))
        change = max(change, float(np.abs(new.scale - state.scale).max()))
        state = new
        if change < SETTLED:
            break
    return _describe(scores, state, constant)


class _State(NamedTuple):
    """The parameters."""

    location: Floats
    scale: Floats
    noise: Floats  # variances
    means: Floats  # of systems
    spread: float  # tau^2

    @classmethod
    def start(cls, scores: Scores) -> "_State":
        """Return judges of scale 1, each with half of its own variance as noise."""
        p, y = len(scores.judges), scores.values
        counts = np.maximum(np.bincount(scores.columns, minlength=p), 1)
        own = np.bincount(scores.columns, y, p) / counts
        variances = np.bincount(scores.columns, (y - own[scores.columns]) ** 2, p) / counts
        scale = np.sqrt(np.maximum(variances, 1e-12))
        center, unit = (float(counts @ x) / len(y) for x in (own, scale))
        scale /= unit
        means = np.full(len(scores.systems), center)
        spread = max(unit**2 / 2, 1e-12)
        noise = np.maximum(variances / 2, 1e-12)
        return cls(own - scale * center, scale, noise, means, spread)

    def gather(self, scores: Scores) -> tuple[Floats, Floats]:
        """Return what the judges say of each answer, weighted, and the sum of the weights."""
        n, trust = len(scores.items), self.scale / self.noise
        said = trust[scores.columns] * (scores.values - self.location[scores.columns])
        information = np.bincount(scores.rows, (trust * self.scale)[scores.columns], n)
        return np.asarray(np.bincount(scores.rows, said, n)), np.asarray(information)

    def expect(self, scores: Scores) -> tuple[Floats, Floats]:
        """Return the mean and the variance of each answer's quality given its scores."""
        sums, information = self.gather(scores)
        variance = 1 / (1 / self.spread + information)
        return variance * (self.means[scores.system] / self.spread + sums), variance

    def step(self, scores: Scores) -> "_State":
        """Return the parameters after a step of EM, on the scale of the average judge."""
        mean, variance = self.expect(scores)
        p, j, y = len(scores.judges), scores.columns, scores.values
        q, extra = mean[scores.rows], variance[scores.rows]
        count, sum_q, sum_y = (np.bincount(j, x, p) for x in (np.ones(len(j)), q, y))
        square, product = np.bincount(j, q * q + extra, p), np.bincount(j, q * y, p)
        apart = np.maximum(square - sum_q**2 / count, 1e-12)
        scale = (product - sum_q * sum_y / count) / apart
        location = (sum_y - scale * sum_q) / count
        error = (y - location[j] - scale[j] * q) ** 2 + scale[j] ** 2 * extra
        variances = np.bincount(j, y * y, p) / count - (sum_y / count) ** 2
        noise = np.maximum(np.bincount(j, error, p) / count, FLOOR * np.maximum(variances, 1e-12))
        sizes = np.maximum(np.bincount(scores.system, minlength=len(self.means)), 1)
        means = np.bincount(scores.system, mean, len(self.means)) / sizes
        spread = float(np.mean((mean - means[scores.system]) ** 2 + variance))
        unit, shift = (float(count @ x) / len(j) for x in (scale, location))  # q' = unit q + shift
        unit = unit if unit > 1e-6 else 1.0
        location = location - scale / unit * shift
        return _State(
            location, scale / unit, noise, means * unit + shift, max(spread * unit**2, 1e-12)
        )


def _describe(scores: Scores, state: _State, constant: list[str]) -> ScoredPanel:
    quality, variance = state.expect(scores)
    sums, information = state.gather(scores)
    heard = information > 0
    best = sums[heard] / information[heard]
    weights = 1 / (state.spread + 1 / information[heard])
    system, question, n = scores.system[heard], scores.question[heard], len(scores.systems)
    totals = np.bincount(system, weights, n)
    means = np.bincount(system, weights * best, n) / np.maximum(totals, 1e-12)
    errors = np.zeros((n, int(scores.question.max()) + 1))
    np.add.at(errors, (system, question), weights * (best - means[system]) / totals[system])
    counts = np.bincount(system, minlength=n)
    systems = rank_all(scores.systems, means, errors @ errors.T, counts)
    judges = _list_judges(scores, state)
    precision = state.scale**2 / state.noise
    effective = float(precision.sum() ** 2 / (precision**2).sum())
    reason = _find_reason(scores, judges)
    error = np.sqrt(variance)
    return ScoredPanel(judges, systems, effective, quality, error, scores, reason, constant)


def _list_judges(scores: Scores, state: _State) -> list[dict[str, Any]]:
    """Return how each judge uses the scale."""
    signal = state.scale**2 * state.spread
    figures = {
        "name": np.array(scores.judges, dtype=object),
        "location": state.location,
        "scale": state.scale,
        "noise": np.sqrt(state.noise),
        "reliability": signal / (signal + state.noise),
        "scores": np.bincount(scores.columns, minlength=len(scores.judges)),
    }
    columns = (figure.tolist() for figure in figures.values())
    return [dict(zip(figures, row, strict=True)) for row in zip(*columns, strict=True)]


def _find_reason(scores: Scores, judges: list[dict[str, Any]]) -> str:
    """Return why the means cannot be trusted; nothing if they can."""
    turned = ", ".join(judge["name"][:60] for judge in judges if judge["scale"] < 0)
    if turned:
        return f"scores of {turned} fall where those of the others rise"
    if (mixed := find_mixed(scores.ranges)) is not None:
        return (
            f"{mixed[0][:60]} and {mixed[1][:60]} score on different scales; read them separately"
        )
    if len(judges) == LEAST_JUDGES:
        return "two judges cannot show which of them is the noisier one"
    covered = np.zeros((len(scores.judges), len(scores.systems)), dtype=np.bool_)
    covered[scores.columns, scores.system[scores.rows]] = True
    if not covered.all():
        return (
            "not every judge scored every system, so that what a judge adds and what a system is "
            "worth cannot be separated fully"
        )
    return ""
