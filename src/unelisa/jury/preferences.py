"""Preferences between systems: Bradley and Terry's model with a reliability for each judge.

Judge j compares the answers of systems a (shown first) and b to question q. With strengths theta
and Davidson's (1970) ties::

    z = r_j (theta_a - theta_b) + g_j + l (log length_a - log length_b)
    P(a) : P(b) : P(tie) = exp(z / 2) : exp(-z / 2) : exp(t_j)

The reliability r_j of a judge who guesses is 0 and 1 on average; g_j is the preference for what is
shown first (only if some pair was shown in both orders), and l that for length (only if the answers
are there, so that strengths are those of answers of one length). Reliabilities, biases and ties of
single judges are drawn to those of all judges by a normal prior, and the fit is the posterior's
mode by Fisher scoring.

A question is a cluster: what several judges say of the same answers is not independent, so that
with g_q the gradient of question q and H the information, the errors' covariance is::

    V = H^-1 (sum_q g_q g_q') H^-1 Q / (Q - 1)

Strengths are those that the panel's average judge sees, mean(r) theta, with their errors by the
delta method.

Judges who repeat each other's errors (families) count for less: a judge's comparisons have the
weight 1 / (1 + sum_k max(c_jk - c, 0)), c_jk the correlation of two judges' residuals on the same
pairs of answers and c the median of all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import softmax

from unelisa.errors import VotesError
from unelisa.jury.intervals import Estimate, rank_all

if TYPE_CHECKING:
    from unelisa.jury.verdicts import Panel, Preference

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
SPREAD = {"reliability": 0.5, "first": 0.5, "tie": 1.0}  # of single judges around all judges
FLAT = 5.0  # of strengths and of what all judges share
STEPS, SETTLED = 200, 1e-8
COMMON = 20  # comparisons that two judges share, below which nothing is said of their errors
KIN = 0.3  # correlation of errors beyond the median from which two judges are of one family
LEAST_QUESTIONS = 10
_SIDES = {"first": 0, "second": 1, "tie": 2}


@dataclass(frozen=True, eq=False)
class Preferences:
    """Comparisons of two answers: who compared which systems on which question, and who won."""

    systems: list[str]
    judges: list[str]
    questions: Indices  # of each comparison
    judge: Indices
    first: Indices
    second: Indices
    winner: Indices  # 0 the first, 1 the second, 2 a tie
    longer: Floats  # log length of the first answer beyond the second; NaN where unknown

    @classmethod
    def of(cls, panel: "Panel") -> "Preferences":
        """Return the preferences that logs hold."""
        if not panel.preferences:
            raise VotesError("the logs hold no preferences between two answers")
        panel.tell_failures()
        return cls.of_rows(panel.preferences)

    @classmethod
    def of_rows(cls, rows: Sequence["Preference"]) -> "Preferences":
        """Return preferences that are not about one system alone."""
        rows = [row for row in rows if row.first != row.second]
        lengths = [row.lengths if row.lengths and min(row.lengths) > 0 else None for row in rows]
        questions = np.unique([row.item for row in rows], return_inverse=True)[1]
        judges, judge = np.unique([row.judge for row in rows], return_inverse=True)
        shown = np.array([[row.first, row.second] for row in rows])
        systems, place = np.unique(shown, return_inverse=True)
        first, second = place.reshape(-1, 2).T
        winner = np.array([_SIDES[row.winner] for row in rows], dtype=np.intp)
        longer = np.array([np.nan if x is None else np.log(x[0] / x[1]) for x in lengths])
        return cls(
            systems.tolist(), judges.tolist(), questions, judge, first, second, winner, longer
        )

    @property
    def both_orders(self) -> bool:
        """Whether some pair of systems was shown in both orders."""
        shown = set(zip(self.first.tolist(), self.second.tolist(), strict=True))
        return any((b, a) in shown for a, b in shown)

    @property
    def pairs(self) -> Indices:
        """The number of the two answers that were compared, whatever their order."""
        low, high = np.minimum(self.first, self.second), np.maximum(self.first, self.second)
        cells = (self.questions * len(self.systems) + low) * len(self.systems) + high
        return np.unique(cells, return_inverse=True)[1]


class Ranked(NamedTuple):
    """A system on the leaderboard."""

    system: str
    strength: Estimate  # theta, 0 on average
    win_rate: float  # against the other systems on average, ties counted as half
    comparisons: int
    rank_low: int
    rank_high: int


class PairJudge(NamedTuple):
    """A judge of pairs: 1 is the reliability of an average one, and 0 that of a guess."""

    name: str
    reliability: Estimate
    weight: float  # of a comparison, less than 1 where the judge repeats others
    comparisons: int


@dataclass(frozen=True)
class Leaderboard:
    """What preferences say about systems and judges; `reason` is why not to trust it, or empty."""

    systems: list[Ranked]
    judges: list[PairJudge]
    families: list[list[str]]
    first: Estimate | None  # log-odds for what is shown first; None without both orders
    longer: Estimate | None  # log-odds for an answer e times as long; None without the answers
    n_questions: int
    n_comparisons: int
    covariance: Floats  # of the strengths, in the order of `systems`
    reason: str


def rank_systems(votes: Preferences) -> Leaderboard:
    """Return the leaderboard: systems by strength with the ranks that their differences allow.

    Examples
    --------
    >>> rows = np.arange(300)
    >>> wins = np.where(rows % 4 == 0, 1, 0)
    >>> board = rank_systems(Preferences(["a", "b"], ["ann"], rows, rows * 0, rows * 0,
    ...     rows * 0 + 1, wins, np.full(300, np.nan)))
    >>> [(one.system, one.rank_low, one.rank_high) for one in board.systems], board.first
    ([('a', 1, 1), ('b', 2, 2)], None)
    """
    weights = np.ones(len(votes.judges))
    kin: list[list[str]] = []
    fit = _Fit(votes, weights).run()
    if len(votes.judges) > 2:
        weights, kin = weigh_judges(votes, fit.residuals())
        if weights.min() < 1:
            fit = _Fit(votes, weights).run()
    return _describe(votes, fit, weights, kin)


class _Fit:
    """The posterior's mode of all parameters: strengths, then reliabilities, first, tie, length."""

    def __init__(self, votes: Preferences, weights: Floats) -> None:
        self.votes, n_systems, n_judges = votes, len(votes.systems), len(votes.judges)
        self.weights = weights[votes.judge]
        self.ties = bool((votes.winner == 2).any())
        known = np.isfinite(votes.longer)
        self.longer = np.where(known, votes.longer, 0.0)
        place = n_systems
        self.reliability = slice(place, place := place + n_judges)
        self.first = slice(place, place := place + (1 + n_judges) * votes.both_orders)
        self.tie = slice(place, place := place + (1 + n_judges) * self.ties)
        self.length = slice(place, place := place + int(known.mean() > 0.5))
        self.center, self.precision = np.zeros(place), np.full(place, FLAT**-2)
        self.center[self.reliability] = 1.0
        for part, spread in (
            (self.reliability, "reliability"),
            (self.first, "first"),
            (self.tie, "tie"),
        ):
            alone = part.start + (part is not self.reliability)
            self.precision[alone : part.stop] = SPREAD[spread] ** -2
        self.at = self.center.copy()

    def run(self) -> "_Fit":
        """Go to the mode by Fisher scoring, with halved steps where one overshoots."""
        value = self.value(self.at)
        for _ in range(STEPS):
            gradient, information = self.score()
            step = np.linalg.solve(information, gradient)
            factor = 1.0
            while factor > 1e-4 and (new := self.value(self.at + factor * step)) < value:
                factor /= 2
            self.at = self.at + factor * step
            gain, value = new - value, new
            if gain < SETTLED * abs(value):
                break
        return self

    def logits(self, at: Floats) -> Floats:
        """Return the log-odds of the three outcomes of each comparison."""
        votes = self.votes
        gap = at[votes.first] - at[votes.second]
        z = at[self.reliability][votes.judge] * gap
        if self.first.stop > self.first.start:
            z = z + at[self.first.start] + at[self.first][1:][votes.judge]
        if self.length.stop > self.length.start:
            z = z + at[self.length.start] * self.longer
        tie = np.full(len(z), -np.inf)
        if self.ties:
            tie = at[self.tie.start] + at[self.tie][1:][votes.judge]
        return np.column_stack([z / 2, -z / 2, tie])

    def value(self, at: Floats) -> float:
        """Return the log posterior."""
        logs = self.logits(at)
        top = logs.max(axis=1, keepdims=True)
        logs = logs - top - np.log(np.exp(logs - top).sum(axis=1, keepdims=True))
        own = logs[np.arange(len(logs)), self.votes.winner]
        return float(self.weights @ own - 0.5 * self.precision @ (at - self.center) ** 2)

    def gradients(self) -> tuple[Any, Any, Floats]:
        """Return how z and the tie's log-odds of each comparison change with every parameter."""
        votes, at, n = self.votes, self.at, len(self.votes.judge)
        every = np.ones(n)
        trust = at[self.reliability][votes.judge]
        gap = at[votes.first] - at[votes.second]
        z = [(votes.first, trust), (votes.second, -trust)]
        z.append((self.reliability.start + votes.judge, gap))
        if self.length.stop > self.length.start:
            z.append((np.full(n, self.length.start), self.longer))
        jumps = {"first": z, "tie": []}
        for part, entries in ((self.first, z), (self.tie, jumps["tie"])):
            if part.stop > part.start:
                entries += [(np.full(n, part.start), every), (part.start + 1 + votes.judge, every)]
        jump, tie = (_spread(n, entries, len(at)) for entries in jumps.values())
        return jump, tie, softmax(self.logits(at), axis=1)

    def slopes(self, chances: Floats) -> Floats:
        """Return the derivatives of each comparison's log-likelihood by z and by the tie's odds."""
        seen = np.eye(3)[self.votes.winner] - chances
        return np.column_stack([(seen[:, 0] - seen[:, 1]) / 2, seen[:, 2]])

    def score(self) -> tuple[Floats, Floats]:
        """Return the gradient and the information of the log posterior."""
        jump, tie, chances = self.gradients()
        slopes = self.slopes(chances) * self.weights[:, None]
        gradient = jump.T @ slopes[:, 0] + tie.T @ slopes[:, 1]
        gradient -= self.precision * (self.at - self.center)
        mean = (chances[:, 0] - chances[:, 1]) / 2
        parts = ((chances[:, 0] + chances[:, 1]) / 4 - mean**2, -mean * chances[:, 2])
        own, mixed = (sparse.diags(self.weights * part) for part in parts)
        alone = sparse.diags(self.weights * chances[:, 2] * (1 - chances[:, 2]))
        cross = jump.T @ mixed @ tie
        information = (jump.T @ own @ jump + cross + cross.T + tie.T @ alone @ tie).toarray()
        return np.asarray(gradient), information + np.diag(self.precision)

    def covariance(self) -> Floats:
        """Return the covariance of the errors; a question is a cluster."""
        jump, tie, chances = self.gradients()
        slopes = self.slopes(chances) * self.weights[:, None]
        n = len(slopes)
        questions, own = np.unique(self.votes.questions, return_inverse=True)
        sums = sparse.csr_matrix((np.ones(n), (own, np.arange(n))), shape=(len(questions), n))
        gradients = sums @ (sparse.diags(slopes[:, 0]) @ jump + sparse.diags(slopes[:, 1]) @ tie)
        inverse = np.linalg.inv(self.score()[1])
        middle = (gradients.T @ gradients).toarray() * len(questions) / max(len(questions) - 1, 1)
        return np.asarray(inverse @ middle @ inverse)

    def residuals(self) -> Floats:
        """Return how much more each comparison was won by the first system than expected."""
        chances = softmax(self.logits(self.at), axis=1)
        expected = chances[:, 0] + chances[:, 2] / 2
        seen = np.array([1.0, 0.0, 0.5])[self.votes.winner]
        spread = chances[:, 0] + chances[:, 2] / 4 - expected**2
        return np.asarray((seen - expected) / np.sqrt(np.maximum(spread, 1e-6)))


def _spread(n: int, entries: list[tuple[Any, Floats]], size: int) -> Any:
    """Return a sparse matrix, comparisons x parameters."""
    columns = [column for column, _ in entries] or [np.empty(0, dtype=np.intp)]
    values = [value for _, value in entries] or [np.empty(0)]
    rows = np.tile(np.arange(n), len(entries))
    parts = np.concatenate(values), (rows, np.concatenate(columns))
    return sparse.csr_matrix(parts, shape=(n, size))


def weigh_judges(votes: Preferences, residuals: Floats) -> tuple[Floats, list[list[str]]]:
    """Return the weight of each judge's comparisons, and the families of judges."""
    n, pairs = len(votes.judges), votes.pairs
    turned = np.where(votes.first < votes.second, residuals, -residuals)
    n_pairs = int(pairs.max()) + 1
    shape = n_pairs, n
    sums = sparse.csr_matrix((turned, (pairs, votes.judge)), shape=shape)
    seen = sparse.csr_matrix((np.ones(len(pairs)), (pairs, votes.judge)), shape=shape)
    seen.data[:] = 1.0
    squares = sums.multiply(sums)
    common = (seen.T @ seen).toarray()
    scale = np.sqrt((squares.T @ seen).toarray() * (seen.T @ squares).toarray())
    shared = (sums.T @ sums).toarray() / np.maximum(scale, 1e-9)
    known = (common >= COMMON) & ~np.eye(n, dtype=np.bool_)
    if not known.any():
        return np.ones(n), []
    excess = np.where(known, shared - np.median(shared[known]), 0.0)
    excess -= np.where(known, 2 / np.sqrt(np.maximum(common, 1)), 0.0)  # more than chance
    weights = 1 / (1 + np.maximum(excess, 0).sum(axis=1))
    count, own = sparse.csgraph.connected_components(
        sparse.csr_matrix(excess > KIN), directed=False
    )
    groups = [[votes.judges[s] for s in np.flatnonzero(own == k)] for k in range(count)]
    return weights, [group for group in groups if len(group) > 1]


def _describe(votes: Preferences, fit: _Fit, weights: Floats, kin: list[list[str]]) -> Leaderboard:
    n = len(votes.systems)
    covariance = fit.covariance()
    strengths, own = _scale_strengths(n, fit, covariance)
    order = np.argsort(-strengths, kind="stable")
    ranks = rank_all(strengths, own)
    played = np.bincount(np.concatenate([votes.first, votes.second]), minlength=n)
    rates = expect_wins(strengths, fit.at[fit.tie.start] if fit.ties else -np.inf)

    def describe(s: int) -> Ranked:
        strength = Estimate.of(strengths[s], own[s, s])
        return Ranked(votes.systems[s], strength, float(rates[s]), int(played[s]), *ranks[s])

    def share(part: slice) -> Estimate | None:
        k = part.start
        return Estimate.of(fit.at[k], covariance[k, k]) if part.stop > k else None

    questions = len(np.unique(votes.questions))
    return Leaderboard(
        [describe(s) for s in order],
        _list_judges(votes, fit, weights, covariance),
        kin,
        share(fit.first),
        share(fit.length),
        questions,
        len(votes.judge),
        own[np.ix_(order, order)],
        _find_reason(votes, questions),
    )


def _scale_strengths(n: int, fit: _Fit, covariance: Floats) -> tuple[Floats, Floats]:
    """Return strengths as the average judge of this panel sees them, and their covariance."""
    centering = np.eye(n) - 1 / n
    trust = fit.at[fit.reliability]
    unit = float(trust.mean())
    jump = np.zeros((n, len(fit.at)))
    jump[:, :n] = unit * centering
    jump[:, fit.reliability] = (centering @ fit.at[:n])[:, None] / len(trust)
    return unit * (centering @ fit.at[:n]), jump @ covariance @ jump.T


def _list_judges(
    votes: Preferences, fit: _Fit, weights: Floats, covariance: Floats
) -> list[PairJudge]:
    """Return the judges, the most reliable first."""
    counts = np.bincount(votes.judge, minlength=len(votes.judges))
    trust, spread = fit.at[fit.reliability], np.diag(covariance)[fit.reliability]
    unit = float(trust.mean())
    trust, spread = trust / unit, spread / unit**2
    judges = [
        PairJudge(name, Estimate.of(trust[j], spread[j]), float(weights[j]), int(counts[j]))
        for j, name in enumerate(votes.judges)
    ]
    return sorted(judges, key=lambda one: -one.reliability.value)


def expect_wins(strengths: Floats, tie: float = -np.inf) -> Floats:
    """Return how often each system wins against the others on average, a tie counted as half."""
    gaps = strengths[:, None] - strengths
    chances = softmax(np.stack([gaps / 2, -gaps / 2, np.full_like(gaps, tie)]), axis=0)
    won = chances[0] + chances[2] / 2
    np.fill_diagonal(won, 0.0)
    return np.asarray(won.sum(axis=1) / max(len(strengths) - 1, 1))


def _find_reason(votes: Preferences, questions: int) -> str:
    """Return why the leaderboard cannot be trusted; nothing if it can."""
    n = len(votes.systems)
    links = sparse.csr_matrix(
        (np.ones(len(votes.first)), (votes.first, votes.second)), shape=(n, n)
    )
    if sparse.csgraph.connected_components(links, directed=False)[0] > 1:
        return "some systems were never compared with the others, not even through a third one"
    if questions < LEAST_QUESTIONS:
        return f"there are only {questions} questions, too few for intervals"
    won = votes.winner != 2
    better = np.where(votes.winner == 0, votes.first, votes.second)[won]
    if n == 2 and len(set(better.tolist())) == 1:
        return "one system won every comparison, so that its strength has no upper end"
    return ""


def agree(one: Leaderboard, other: Leaderboard) -> float:
    """Return Spearman's rank correlation of two leaderboards' strengths, over common systems."""
    from scipy.stats import spearmanr  # noqa: PLC0415 - takes a quarter of a second

    theirs = {row.system: row.strength.value for row in other.systems}
    pairs = [(x.strength.value, theirs[x.system]) for x in one.systems if x.system in theirs]
    return float(spearmanr(*zip(*pairs, strict=True)).statistic) if len(pairs) > 1 else float("nan")
