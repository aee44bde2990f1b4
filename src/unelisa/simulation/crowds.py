"""Simulated votes of more than two classes, with known truth: confusions, spammers and copies."""

from dataclasses import dataclass, replace
from string import ascii_lowercase

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import ModelError
from unelisa.votes import Votes
from unelisa.votes.coding import MAX_CLASSES, encode_classes

Floats = NDArray[np.float64]

SKILL = (6.0, 3.0)  # of the Beta distribution from which a voter's share of certain votes is drawn
LIKENESS = 0.3  # concentration of what a class is taken for: small, so each has a few look-alikes
STEPS = 1.0  # decay of confusions with the distance between ordered classes
REPEATED = 0.9  # share of its votes that a copy takes over


@dataclass(frozen=True)
class SimulatedClasses:
    """Votes, and what usually stays hidden behind them."""

    votes: Votes
    truth: NDArray[np.int8]  # of each item in the codes of the votes: k + 1 for class k
    confusions: Floats  # P(says c | class k) of each voter, [voters, k, c]; a copy has its source's
    sources: NDArray[np.intp]  # the voter whose votes each repeats: itself unless it is a copy
    spammers: NDArray[np.intp]  # voters whose votes do not depend on the truth


def simulate_classes(  # noqa: PLR0913 -- a crowd is a point in a space of this many dimensions
    n_classes: int = 4,
    n_voters: int = 25,
    n_items: int = 500,
    *,
    ordered: bool = False,
    spammers: float = 0.1,
    copies: float = 0.1,
    missing: float = 0.5,
    random_state: int | np.random.Generator | None = None,
) -> SimulatedClasses:
    """Return votes of a simulated crowd on items of three or more classes.

    Voter s knows the class with probability a_s, drawn from Beta(6, 3), and otherwise says what the
    class is taken for, which is the same for all voters:
    P(says c | k) = a_s [c = k] + (1 - a_s) C_kc.

    Parameters
    ----------
    n_classes, n_voters, n_items
        Sizes.
    ordered
        Whether the classes have an order: then C falls with the distance from k. Otherwise each
        class is taken for a few others.
    spammers
        Share of the voters whose answers do not depend on the truth.
    copies
        Share of the voters who repeat 90 % of another voter's votes.
    missing
        Probability that a vote is missing, independently of everything else.
    random_state
        A seed or generator, the source of every random number.

    Examples
    --------
    >>> simulated = simulate_classes(4, random_state=0)
    >>> simulated.votes
    Votes(500 items x 25 voters, 4 classes, 50.0% abstained)
    >>> simulated.votes.classes, len(simulated.spammers)
    (('a', 'b', 'c', 'd'), 2)
    """
    _check(n_classes, spammers, copies, missing)
    rng = np.random.default_rng(random_state)
    truth = rng.choice(n_classes, n_items, p=rng.dirichlet(np.full(n_classes, 5.0)))
    n_spammers, n_copies = round(spammers * n_voters), round(copies * n_voters)
    order = rng.permutation(n_voters)
    idle, copying = np.sort(order[:n_spammers]), np.sort(order[n_spammers:][:n_copies])
    confusions = _draw_confusions(n_classes, n_voters, ordered, rng)
    confusions[idle] = rng.dirichlet(np.ones(n_classes), (n_spammers, 1))
    said = _draw_answers(confusions, truth, rng)
    sources, others = np.arange(n_voters), order[n_spammers + n_copies :]
    if len(copying):
        sources[copying] = rng.choice(others, len(copying))
        repeats = rng.random((n_items, len(copying))) < REPEATED
        said[:, copying] = np.where(repeats, said[:, sources[copying]], said[:, copying])
        confusions[copying] = confusions[sources[copying]]
    votes = _as_votes(said, rng.random(said.shape) < missing, n_classes, ordered)
    codes = np.array(encode_classes(n_classes), dtype=np.int8)[truth]
    return SimulatedClasses(votes, codes, confusions, sources, idle)


def _check(n_classes: int, spammers: float, copies: float, missing: float) -> None:
    if not 3 <= n_classes <= MAX_CLASSES:
        raise ModelError(
            f"n_classes must be from 3 to {MAX_CLASSES}, found {n_classes}; simulate_votes draws "
            "votes of two classes"
        )
    if not (0 <= missing < 1 and spammers >= 0 and copies >= 0 and spammers + copies < 1):
        raise ModelError(
            "spammers, copies and missing must be shares from 0 to below 1, the first two together"
        )


def _draw_confusions(
    n_classes: int, n_voters: int, ordered: bool, rng: np.random.Generator
) -> Floats:
    """Return P(says c | class k), [voters, k, c]."""
    if ordered:
        steps = np.abs(np.subtract.outer(np.arange(n_classes), np.arange(n_classes)))
        taken = np.where(steps > 0, np.exp(-STEPS * steps), 0.0)
    else:
        taken = rng.gamma(LIKENESS, size=(n_classes, n_classes)) + 1e-3
        taken += taken.T
        np.fill_diagonal(taken, 0.0)
    taken /= taken.sum(axis=1, keepdims=True)
    skill = rng.beta(*SKILL, n_voters)[:, None, None]
    return np.asarray(skill * np.eye(n_classes) + (1 - skill) * taken)


def _draw_answers(
    confusions: Floats, truth: NDArray[np.intp], rng: np.random.Generator
) -> NDArray[np.intp]:
    """Return the class that each voter says of each item, items x voters."""
    said = np.empty((len(truth), len(confusions)), dtype=np.intp, order="F")
    for s, own in enumerate(np.cumsum(confusions, axis=2)):
        drawn = rng.random(len(truth)) * own[truth, -1]
        said[:, s] = (own[truth] <= drawn[:, None]).sum(axis=1)
    return said


def _as_votes(
    said: NDArray[np.intp], missing: NDArray[np.bool_], n_classes: int, ordered: bool
) -> Votes:
    codes = np.array(encode_classes(n_classes), dtype=np.int8)
    values = np.asfortranarray(np.where(missing, np.int8(0), codes[said]))
    voters = np.array([f"v{s + 1}" for s in range(values.shape[1])], dtype=object)
    letters = not ordered and n_classes <= len(ascii_lowercase)
    labels = tuple(ascii_lowercase[:n_classes]) if letters else tuple(range(1, n_classes + 1))
    votes = Votes.of_values(values, np.arange(len(values)), voters, labels)
    return replace(votes, ordered=ordered)
