"""Preferences between systems: Bradley and Terry's model with a reliability for each judge.

Judge j compares the answers of systems a (shown first) and b to question q. With strengths theta
and Davidson's (1970) ties::

    z = r_j (theta_a + d_ja - theta_b - d_jb) + g_j + l (log length_a - log length_b)
    P(a) : P(b) : P(tie) = exp(z / 2) : exp(-z / 2) : exp(t_j)

The reliability r_j of a judge who guesses is 0 and 1 on average; d_j are the judge's own views of
the systems (with three judges or more), g_j is the preference for what is shown first (only if some
pair was shown in both orders), and l that for length (only if the answers are there, so that
strengths are those of answers of one length). What single judges have of their own is drawn to that
of all judges by a normal prior, and the fit is the posterior's mode by Fisher scoring. The variance
of views is estimated (MacKay's evidence): |d|^2 / (number of d that the comparisons determine). As
views are in units of r_j, a judge with strong views of its own is still one judge of many.

At the mode of all parameters strengths are too large, as what single judges have of their own fits
their errors too, most with many judges of few comparisons each. A step of EM along the scale s
of the strengths integrates it out, with H_b the information on it and c the curvature of
the log posterior, maximized over it, along s: ds = -(d log det H_b / ds) / 2c. Reliabilities follow
a change of s, and strengths change by as much as remains.

A question is a cluster: what several judges say of the same answers is not independent, so that
with g_q the gradient of question q and H the information, the errors' covariance is::

    V = H^-1 (sum_q g_q g_q' Q / (Q - S + 1) + D) H^-1

with S the number of systems (the factor is 2 at most) and D the prior information, as what a prior
shrinks is off by as much as the prior allows: other judges have other views, and a system that lost
all of its comparisons has a wide interval. A judge is reported by how far it follows the strengths,
r_j theta' (theta + d_j) / theta' theta, and strengths are those that the average judge sees, theta
times the mean of that, with errors by the delta method.

Judges who repeat each other's errors (families) count for less: a judge's comparisons have the
weight 1 / (1 + sum_k max(c_jk - c, 0)), c_jk the correlation of two judges' residuals on the same
pairs of answers and c the median of all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import log_softmax, softmax

from unelisa.errors import VotesError
from unelisa.jury.intervals import Estimate, Ranked, rank_all

if TYPE_CHECKING:
    from unelisa.jury.verdicts import Panel, Preference

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
SPREAD = {
    "reliability": 0.5,
    "first": 0.5,
    "tie": 1.0,
    "view": 0.5,
}  # of single judges around all judges
FLAT = 5.0  # of strengths and of what all judges share
STEPS, SETTLED = 200, 1e-8
ROUNDS, NEAR, LEAST_SPREAD = 20, 0.05, 1e-4  # of estimates of the variance of views
BIT, MOST_SHRUNK = 1e-3, 0.5  # of the scale, to differentiate by it, and the longest step
LEAST_JUDGES, MOST_VIEWS = 3, 600  # who have views of their own, and how many views
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
        return cls.of_rows(panel.preferences)

    @classmethod
    def of_rows(cls, rows: Sequence["Preference"]) -> "Preferences":
        """Return preferences that are not about one system alone."""
        rows = [row for row in rows if row.first != row.second]
        if not rows:
            raise VotesError("the logs hold no preferences between answers of two systems")
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


@dataclass(frozen=True)
class Leaderboard:
    """What preferences say about systems and judges; `reason` is why not to trust it, or empty.

    A strength is 0 on average; a judge's reliability is 1 on average and 0 for a guess, and its
    weight less than 1 where it repeats others.
    """

    systems: list[Ranked]  # by strength
    win_rates: dict[str, float]  # against the other systems on average, ties counted as half
    judges: list[dict[str, Any]]  # name, reliability, weight, comparisons
    families: list[list[str]]
    first: Estimate | None  # log-odds for what is shown first; None without both orders
    longer: Estimate | None  # log-odds for an answer e times as long; None without the answers
    n_questions: int
    n_comparisons: int
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
    fit = _fit_best(votes, weights)
    if len(votes.judges) > 2:
        weights, kin = weigh_judges(votes, fit.residuals())
        if weights.min() < 1:
            fit = _fit_best(votes, weights)
    fit.integrate()
    return _describe(votes, fit, weights, kin)


def _fit_best(votes: Preferences, weights: Floats) -> "_Fit":
    """Return the fit with views of judges or without, whichever has more evidence."""
    plain = _Fit(votes, weights).run()
    if not LEAST_JUDGES <= len(votes.judges) <= MOST_VIEWS / len(votes.systems):
        return plain
    return max(plain, _Fit(votes, weights, views=True).run(), key=_Fit.measure_evidence)


class _Fit:
    """The posterior's mode of all parameters, in blocks: strengths, reliabilities, ..."""

    def __init__(self, votes: Preferences, weights: Floats, views: bool = False) -> None:
        self.votes, self.weights, n_judges = votes, weights[votes.judge], len(votes.judges)
        known = np.isfinite(votes.longer)
        self.longer = np.where(known, votes.longer, 0.0)
        sizes = {
            "strength": len(votes.systems),
            "reliability": n_judges,
            "first": (1 + n_judges) * votes.both_orders,
            "tie": (1 + n_judges) * bool((votes.winner == 2).any()),
            "length": int(known.mean() > 0.5),
            "view": n_judges * len(votes.systems) * views,
        }
        ends = np.cumsum([*sizes.values()])
        self.block = {
            name: slice(int(end) - size, int(end))
            for (name, size), end in zip(sizes.items(), ends, strict=True)
        }
        self.center, self.precision = np.zeros(ends[-1]), np.full(ends[-1], FLAT**-2)
        self.center[self.block["reliability"]] = 1.0
        for name, spread in SPREAD.items():  # of first and tie, all judges come before each
            own = self.block[name]
            self.precision[own.start + (name in ("first", "tie")) : own.stop] = spread**-2
        self.at = self.center.copy()

    def has(self, name: str) -> bool:
        """Return whether there are such parameters."""
        return self.block[name].stop > self.block[name].start

    def run(self) -> "_Fit":
        """Go to the mode, again for each estimate of how far views differ (EM)."""
        own = self.block["view"]
        for _ in range(ROUNDS if self.has("view") else 1):
            self.climb()
            unknown = self.precision[own] * np.diag(np.linalg.inv(self.differentiate()[1]))[own]
            spread = float(self.at[own] @ self.at[own] / max(np.sum(1 - unknown), 1.0))
            before, now = self.precision[own][:1], 1 / max(spread, LEAST_SPREAD)
            self.precision[own] = now
            if np.all(np.abs(before / now - 1) < NEAR):
                break
        return self

    def measure_evidence(self) -> float:
        """Return Laplace's log evidence, but for a constant."""
        _, log_size = np.linalg.slogdet(self.differentiate()[1])
        return self.value(self.at) + float(np.log(self.precision).sum() - log_size) / 2

    def integrate(self) -> None:
        """Shrink strengths to where they are with what judges have of their own integrated out."""
        n, own, mode, sizes = len(self.votes.systems), self.block["reliability"], self.at, []
        single = np.ones(len(mode), dtype=np.bool_)
        single[:n] = single[self.block["length"]] = False
        path, among = np.zeros(len(mode)), np.ix_(single, single)
        path[:n] = mode[:n] - mode[:n].mean()
        for end in (BIT, -BIT):
            self.at = mode + end * path
            sizes.append(np.linalg.slogdet(self.differentiate()[1][among])[1])
        self.at = mode.copy()
        information = self.differentiate()[1]
        path[single] = -np.linalg.solve(information[among], information[single] @ path)
        curvature = max(float(path @ information @ path), 1e-9)
        step = np.clip((sizes[1] - sizes[0]) / (4 * BIT * curvature), -MOST_SHRUNK, 0)
        self.at[:n] *= np.exp(step * max(1 + path[own].mean() / mode[own].mean(), 0))

    def climb(self) -> None:
        """Go to the mode by Fisher scoring, with halved steps where one overshoots."""
        value = self.value(self.at)
        for _ in range(STEPS):
            slopes, information = self.differentiate()
            gradient = slopes.sum(axis=0) - self.precision * (self.at - self.center)
            step = np.linalg.solve(information, np.asarray(gradient).ravel())
            factor = 1.0
            while factor > 1e-4 and (new := self.value(self.at + factor * step)) < value:
                factor /= 2
            self.at = self.at + factor * step
            gain, value = new - value, new
            if gain < SETTLED * abs(value):
                break

    def expand(self, at: Floats) -> tuple[Any, Any, Floats]:
        """Return how z and the tie's log-odds change with the parameters, and log P(outcome)."""
        votes, n = self.votes, len(self.votes.judge)
        trust = at[self.block["reliability"]][votes.judge]
        gap, z = at[votes.first] - at[votes.second], [(votes.first, trust), (votes.second, -trust)]
        if self.has("view"):
            own = self.block["view"].start + votes.judge * len(votes.systems)
            gap = gap + at[own + votes.first] - at[own + votes.second]
            z += [(own + votes.first, trust), (own + votes.second, -trust)]
        z.append((self.block["reliability"].start + votes.judge, gap))
        if self.has("length"):
            z.append((np.full(n, self.block["length"].start), self.longer))
        ties: list[tuple[Any, Floats]] = []
        for name, entries in (("first", z), ("tie", ties)):
            start = self.block[name].start
            if self.has(name):
                entries += [(np.full(n, start), np.ones(n)), (start + 1 + votes.judge, np.ones(n))]
        jump, tie = _spread(n, z, len(at)), _spread(n, ties, len(at))
        odds = (jump @ at - trust * gap) / 2  # bilinear in reliability and strength
        tied = tie @ at if self.has("tie") else np.full(n, -np.inf)
        return jump, tie, log_softmax(np.column_stack([odds, -odds, tied]), axis=1)

    def value(self, at: Floats) -> float:
        """Return the log posterior."""
        own = self.expand(at)[2][np.arange(len(self.weights)), self.votes.winner]
        return float(self.weights @ own - 0.5 * self.precision @ (at - self.center) ** 2)

    def differentiate(self) -> tuple[Any, Floats]:
        """Return each comparison's gradient of its log-likelihood, and the information."""
        jump, tie, logs = self.expand(self.at)
        first, second, tied = chances = np.exp(logs).T
        seen = self.weights * (np.eye(3)[self.votes.winner].T - chances)
        slopes = sparse.diags((seen[0] - seen[1]) / 2) @ jump + sparse.diags(seen[2]) @ tie
        mean = (first - second) / 2
        parts = ((first + second) / 4 - mean**2, -mean * tied, tied * (1 - tied))
        own, mixed, alone = (sparse.diags(self.weights * part) for part in parts)
        cross = jump.T @ mixed @ tie
        information = (jump.T @ own @ jump + cross + cross.T + tie.T @ alone @ tie).toarray()
        return slopes, information + np.diag(self.precision)

    def covariance(self) -> Floats:
        """Return the covariance of the errors; a question is a cluster."""
        slopes, information = self.differentiate()
        questions, own = np.unique(self.votes.questions, return_inverse=True)
        n, q = len(own), len(questions)
        sums = sparse.csr_matrix((np.ones(n), (own, np.arange(n))), shape=(q, n)) @ slopes
        spare = max(q - len(self.votes.systems) + 1, q / 2)
        middle = (sums.T @ sums).toarray() * q / spare + np.diag(self.precision)
        inverse = np.linalg.inv(information)
        return np.asarray(inverse @ middle @ inverse)

    def residuals(self) -> Floats:
        """Return how much more each comparison was won by the first system than expected."""
        chances = np.exp(self.expand(self.at)[2])
        expected = chances[:, 0] + chances[:, 2] / 2
        seen = np.array([1.0, 0.0, 0.5])[self.votes.winner]
        spread = chances[:, 0] + chances[:, 2] / 4 - expected**2
        return np.asarray((seen - expected) / np.sqrt(np.maximum(spread, 1e-6)))


def _spread(n: int, entries: list[tuple[Any, Floats]], size: int) -> Any:
    """Return a sparse matrix, comparisons x parameters."""
    columns = np.concatenate([np.empty(0, dtype=np.intp), *(column for column, _ in entries)])
    values = np.concatenate([np.empty(0), *(value for _, value in entries)])
    rows = np.tile(np.arange(n), len(entries))
    return sparse.csr_matrix((values, (rows, columns)), shape=(n, size))


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
    n, covariance = len(votes.systems), fit.covariance()
    measured = trust, follows = _measure_judges(n, fit)
    centering, unit = np.eye(n) - 1 / n, float(trust.mean())
    centered = centering @ fit.at[:n]
    strengths, jump = unit * centered, np.outer(centered, follows.mean(axis=0))
    jump[:, :n] += unit * centering
    own = jump @ covariance @ jump.T
    played = np.bincount(np.concatenate([votes.first, votes.second]), minlength=n)
    tie = fit.at[fit.block["tie"].start] if fit.has("tie") else -np.inf
    rates = expect_wins(strengths, tie).tolist()

    def share(name: str) -> Estimate | None:
        k = fit.block[name].start
        return Estimate.of(fit.at[k], covariance[k, k]) if fit.has(name) else None

    questions = len(np.unique(votes.questions))
    return Leaderboard(
        rank_all(votes.systems, strengths, own, played),
        dict(zip(votes.systems, rates, strict=True)),
        _list_judges(votes, weights, covariance, measured),
        kin,
        share("first"),
        share("length"),
        questions,
        len(votes.judge),
        _find_reason(votes, questions),
    )


def _measure_judges(n: int, fit: _Fit) -> tuple[Floats, Floats]:
    """Return how far each judge follows the strengths, and its derivatives by the parameters.

    r_j theta' (theta + delta_j) / theta' theta, theta and delta_j centered.
    """
    own, view = fit.block["reliability"], fit.block["view"]
    theta, jump = fit.at[:n] - fit.at[:n].mean(), np.zeros((own.stop - own.start, len(fit.at)))
    trust, along = fit.at[own], theta / max(float(theta @ theta), 1e-9)
    judges, follows = np.arange(len(trust)), np.ones(len(trust))
    if fit.has("view"):
        follows += fit.at[view].reshape(-1, n) @ along
        places = view.start + judges[:, None] * n + np.arange(n)
        jump[judges[:, None], places] = trust[:, None] * along
    jump[judges, own.start + judges] = follows
    return trust * follows, jump


def _list_judges(
    votes: Preferences, weights: Floats, covariance: Floats, measured: tuple[Floats, Floats]
) -> list[dict[str, Any]]:
    """Return the judges, the most reliable first."""
    counts, (trust, jump) = np.bincount(votes.judge, minlength=len(votes.judges)), measured
    unit = float(trust.mean())
    jump = (jump - np.outer(trust / unit, jump.mean(axis=0))) / unit
    spread = np.einsum("jp,pq,jq->j", jump, covariance, jump)
    return [
        {
            "name": votes.judges[j],
            "reliability": Estimate.of(trust[j] / unit, spread[j]),
            "weight": float(weights[j]),
            "comparisons": int(counts[j]),
        }
        for j in np.argsort(-trust, kind="stable")
    ]


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

    theirs = {row.system: row.estimate.value for row in other.systems}
    pairs = [(x.estimate.value, theirs[x.system]) for x in one.systems if x.system in theirs]
    return float(spearmanr(*zip(*pairs, strict=True)).statistic) if len(pairs) > 1 else float("nan")
