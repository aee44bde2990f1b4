"""Preferences of simulated judges: the leaderboard beside a plain Bradley-Terry fit.

Six systems answer 80 questions; on each, three random pairs are shown to six judges in random
order. Judges differ in reliability, prefer what is shown first, and call ties; an answer differs
from its system's strength. In the families, two judges repeat a third one in nine of ten cases.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from studies.records import Json
from unelisa.jury.preferences import Preferences, rank_systems

Floats = NDArray[np.float64]
SYSTEMS, QUESTIONS, PAIRS = 6, 80, 3
TRUST = np.array([1.6, 1.4, 1.2, 1.0, 0.6, 0.2])
SPREAD, WITHIN, FIRST, TIE = 0.6, 0.3, 0.3, -0.7
COPIED, COPIES, REPEATED = 3, (4, 5), 0.9
PANELS = ("independent judges", "families")
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
    trust = TRUST.copy()
    if panel == "families":
        trust[list(COPIES)] = TRUST[COPIED]
    rows = []
    for question in range(QUESTIONS):
        quality = strengths + rng.normal(0, WITHIN, SYSTEMS)
        for _ in range(PAIRS):
            pair = rng.choice(SYSTEMS, 2, replace=False)
            seen = [_judge(j, pair, quality, trust, rng) for j in range(len(trust))]
            for j in COPIES if panel == "families" else ():
                seen[j] = seen[COPIED] if rng.random() < REPEATED else seen[j]
            rows += [(question, j, *one) for j, one in enumerate(seen)]
    table = np.array(rows)
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


def _judge(
    j: int, pair: NDArray[np.intp], quality: Floats, trust: Floats, rng: np.random.Generator
) -> tuple[int, int, int]:
    """Return the systems as they were shown, and the outcome."""
    first, second = pair if rng.random() < 0.5 else pair[::-1]
    z = trust[j] * (quality[first] - quality[second]) + FIRST
    chances = np.exp([z / 2, -z / 2, TIE])
    return int(first), int(second), int(rng.choice(3, p=chances / chances.sum()))


def fit_plainly(votes: Preferences) -> Floats:
    """Return Bradley and Terry's strengths: all judges alike, a tie is half a win for both.

    Examples
    --------
    >>> votes, strengths = draw_preferences("independent judges", np.random.default_rng(0))
    >>> bool(np.corrcoef(fit_plainly(votes), strengths)[0, 1] > 0.9)
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
    return np.asarray(at - at.mean())


def rank_panel(panel: str, runs: int) -> Json:
    """Return rank correlations with the truth, and how often intervals of strengths hold."""
    found = [_rank_once(panel, seed) for seed in range(runs)]
    ours, plain, held, first = (round(float(np.mean(x)), 4) for x in zip(*found, strict=True))
    return {"ours": ours, "plain": plain, "coverage": held, "first": first}


def _rank_once(panel: str, seed: int) -> tuple[float, float, float, bool]:
    votes, strengths = draw_preferences(panel, np.random.default_rng([seed, PANELS.index(panel)]))
    board = rank_systems(votes)
    rows = {row.system: row.strength for row in board.systems}
    own = [rows[name] for name in votes.systems]
    rank = partial(spearmanr, strengths)
    held = [one.low <= true <= one.high for one, true in zip(own, strengths, strict=True)]
    first = board.first is not None and board.first.low <= FIRST <= board.first.high
    return (
        float(rank([one.value for one in own]).statistic),
        float(rank(fit_plainly(votes)).statistic),
        float(np.mean(held)),
        first,
    )
