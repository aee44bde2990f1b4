"""Preferences of simulated judges: the leaderboard beside a plain Bradley-Terry fit.

Six systems answer 80 questions; on each, three random pairs are shown to the judges in random
order: to all six or three of them, or to every fourth of a hundred. Judges differ in reliability,
prefer what is shown first, and call ties; an answer differs from its system's strength. In the
families, two judges repeat a third one in nine of ten cases; with views of their own, every judge
sees every system otherwise by a random amount. The draws that are shown begin with the seed
`SHOWN`; the method was chosen on others.

Real verdicts become preferences where the systems under test are known: on each question, three
random pairs of systems are compared; a judge prefers an answer that it passes to one that it fails.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, softmax
from scipy.stats import spearmanr

from studies.records import Json
from unelisa.jury.intervals import LEVEL
from unelisa.jury.preferences import Preferences, agree, rank_systems
from unelisa.votes import Votes

Floats = NDArray[np.float64]
SYSTEMS, QUESTIONS, PAIRS = 6, 80, 3
TRUST = np.array([1.6, 1.4, 1.2, 1.0, 0.6, 0.2])
SPREAD, WITHIN, FIRST, TIE = 0.6, 0.3, 0.3, -0.7
COPIED, COPIES, REPEATED = 3, (4, 5), 0.9
PANELS = ("independent judges", "families", "views of their own", "3 judges", "100 judges")
VIEWS = 0.4  # of each judge on each system, beside its strength
MANY, APART, SEEN = 100, 0.4, 0.25  # judges, spread of their reliability, pairs that each one sees
SHOWN = 50_000
STEPS = 50


def draw_preferences(panel: str, rng: np.random.Generator) -> tuple[Preferences, Floats]:
    """Return preferences, and the strengths for a judge of average reliability.

    Examples
    --------
    >>> votes, strengths = draw_preferences("families", np.random.default_rng(0))
    >>> len(votes.judge), len(strengths)
    (1440, 6)
    """
    strengths = rng.normal(0, SPREAD, SYSTEMS)
    strengths -= strengths.mean()
    trust = _draw_trust(panel, rng)
    views = np.zeros((len(trust), SYSTEMS))
    if panel == PANELS[2]:
        views = rng.normal(0, VIEWS, views.shape)
    rows, judges = [], np.arange(len(trust))
    for question in range(QUESTIONS):
        quality = strengths + rng.normal(0, WITHIN, SYSTEMS) + views
        for _ in range(PAIRS):
            pair = rng.choice(SYSTEMS, 2, replace=False)
            if panel == PANELS[4]:
                judges = rng.choice(MANY, int(SEEN * MANY), replace=False)
            seen = _judge(pair, quality[judges], trust[judges], rng)
            for j in COPIES if panel == "families" else ():
                seen[j] = seen[COPIED] if rng.random() < REPEATED else seen[j]
            rows.append(np.column_stack([np.full(len(judges), question), judges, seen]))
    table = np.concatenate(rows)
    question, judge, first, second, winner = table.T
    votes = Preferences(
        [f"system {k}" for k in range(SYSTEMS)],
        [f"judge {j}" for j in range(len(trust))],
        question,
        judge,
        first,
        second,
        winner,
        np.full(len(table), np.nan),
    )
    return votes, strengths * trust.mean()


def _draw_trust(panel: str, rng: np.random.Generator) -> Floats:
    """Return the reliability of each judge of a panel."""
    trust = TRUST.copy()
    if panel == "families":
        trust[list(COPIES)] = TRUST[COPIED]
    elif panel == PANELS[3]:
        trust = TRUST[::2]
    elif panel == PANELS[4]:
        trust = np.maximum(rng.normal(1, APART, MANY), 0)
    return trust


def _judge(
    pair: NDArray[np.intp], quality: Floats, trust: Floats, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Return the systems as they were shown to each judge, and the outcome."""
    turned = rng.random(len(trust)) < 0.5
    shown = np.where(turned[:, None], pair[::-1], pair)
    first, second = np.take_along_axis(quality, shown, axis=1).T
    z = trust * (first - second) + FIRST
    chances = softmax(np.stack([z / 2, -z / 2, np.full_like(z, TIE)]), axis=0)
    winner = (rng.random(len(trust)) > np.cumsum(chances, axis=0)[:2]).sum(axis=0)
    return np.column_stack([shown, winner])


def fit_plainly(votes: Preferences) -> tuple[Floats, Floats]:
    """Return Bradley and Terry's strengths and their errors: judges alike, a tie is half a win.

    Examples
    --------
    >>> votes, strengths = draw_preferences("independent judges", np.random.default_rng(0))
    >>> bool(np.corrcoef(fit_plainly(votes)[0], strengths)[0, 1] > 0.9)
    True
    """
    n = len(votes.systems)
    wins = np.zeros((n, n))
    shares = np.array([1.0, 0.0, 0.5])[votes.winner]
    np.add.at(wins, (votes.first, votes.second), shares)
    np.add.at(wins, (votes.second, votes.first), 1 - shares)
    games, at = wins + wins.T, np.zeros(n)
    for _ in range(STEPS):
        chances = 1 / (1 + np.exp(at - at[:, None]))
        weights = games * chances * (1 - chances)
        information = np.diag(weights.sum(axis=1)) - weights + 1 / n
        at += np.linalg.solve(information, (wins - games * chances).sum(axis=1))
    spread = np.sqrt(np.diag(np.linalg.inv(information) - 1 / n))
    return np.asarray(at - at.mean()), spread


def rank_panel(panel: str, runs: int) -> Json:
    """Return rank correlations with the truth, and how often intervals hold."""
    found = [_rank_once(panel, SHOWN + run) for run in range(runs)]
    names = ("ours", "plain", "coverage", "plain_coverage", "first")
    means = (round(float(np.mean(x)), 4) for x in zip(*found, strict=True))
    return dict(zip(names, means, strict=True))


def _rank_once(panel: str, seed: int) -> tuple[float, float, float, float, bool]:
    votes, strengths = draw_preferences(panel, np.random.default_rng([seed, PANELS.index(panel)]))
    board = rank_systems(votes)
    rows = {row.system: row.estimate for row in board.systems}
    own = [rows[name] for name in votes.systems]
    plain, spread = fit_plainly(votes)
    held = [one.low <= true <= one.high for one, true in zip(own, strengths, strict=True)]
    first = board.first is not None and board.first.low <= FIRST <= board.first.high
    return (
        float(spearmanr(strengths, [one.value for one in own]).statistic),
        float(spearmanr(strengths, plain).statistic),
        float(np.mean(held)),
        float(np.mean(np.abs(plain - strengths) <= ndtri((1 + LEVEL) / 2) * spread)),
        first,
    )


def rank_real(votes: Votes, truth: NDArray[np.int8], systems: Sequence[str]) -> Json:
    """Return rank correlations with the systems' true pass rates, on preferences from verdicts.

    `truth` and `systems` are those of the items; items of one system are in the questions' order.
    `ranks_hold` is the share of systems whose rank by the true pass rates is in the range found.
    """
    names, system = np.unique(np.array(systems), return_inverse=True)
    places = [np.flatnonzero(system == g) for g in range(len(names))]
    table = compare_answers(votes.values, places, names.tolist(), votes.voters.tolist())
    rates = np.array([np.mean(truth[own] > 0) for own in places])
    people = compare_answers(truth[:, None], places, names.tolist(), ["people"])
    board = rank_systems(table)
    rank = dict(zip(names.tolist(), (-rates).argsort().argsort() + 1, strict=True))
    held = [row.rank_low <= rank[row.system] <= row.rank_high for row in board.systems]
    ours = [rates[names == row.system][0] for row in board.systems]
    return {
        "systems": len(names),
        "comparisons": len(table.judge),
        "ours": round(float(spearmanr(ours, range(len(ours), 0, -1)).statistic), 4),
        "plain": round(float(spearmanr(rates, fit_plainly(table)[0]).statistic), 4),
        "people": round(agree(board, rank_systems(people)), 4),
        "ranks_hold": round(float(np.mean(held)), 4),
    }


def compare_answers(
    values: NDArray[np.int8], places: list[NDArray[np.intp]], systems: list[str], judges: list[str]
) -> Preferences:
    """Return the preferences that verdicts imply, on `PAIRS` random pairs a question.

    Examples
    --------
    >>> values = np.array([[1], [-1]], dtype=np.int8)
    >>> found = compare_answers(values, [np.array([0]), np.array([1])], ["a", "b"], ["ann"])
    >>> set(np.where(found.winner == 0, found.first, found.second).tolist())
    {0}
    """
    rng, rows = np.random.default_rng(0), []
    for question in range(min(map(len, places))):
        for _ in range(PAIRS):
            a, b = rng.choice(len(places), 2, replace=False)
            one, other = values[places[a][question]], values[places[b][question]]
            for j in np.flatnonzero((one != 0) & (other != 0)):
                winner = 2 if one[j] == other[j] else 0 if one[j] > other[j] else 1
                rows.append((question, j, a, b, winner))
    question, judge, first, second, winner = np.array(rows, dtype=np.intp).T
    unknown = np.full(len(rows), np.nan)
    return Preferences(systems, judges, question, judge, first, second, winner, unknown)
