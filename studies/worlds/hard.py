"""Hard worlds of two classes or more: voters change, form schools and rings, or share a bias.

K is the number of classes, y_i the class of item i, n the number of items: 200 to 3,000. A class
has the share 1 / (2 K) + s_k / 2, where s is uniform on the simplex. A voter who is wrong says a
class of C[y_i], which all voters share: half to nine tenths of it is one look-alike.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from studies.worlds.voters import Floats, Rng, World, seat_crowd
from unelisa.votes.coding import encode_classes

Classes = NDArray[np.intp]


def drifting(rng: Rng, n_classes: int) -> World:
    """Return 7 to 25 voters, most of whom get worse with the items; a panel or 3 to 7 votes each.

    P(s is right on i) = a_s - d_s i / n with a_s in .75 to .92; d_s is in .1 to .4 for a share of
    .4 to 1 of the voters, otherwise 0.
    """
    truth, n_voters = draw_classes(rng, n_classes), int(rng.integers(7, 26))
    tired = rng.random(n_voters) < rng.uniform(0.4, 1)
    falls = np.where(tired, rng.uniform(0.1, 0.4, n_voters), 0)
    time = np.arange(len(truth))[:, None] / len(truth)
    right = rng.uniform(0.75, 0.92, n_voters) - falls * time
    said = say(rng, truth[:, None], right, draw_confusion(rng, n_classes))
    return seat(rng, truth, said, n_classes, (3, 7) if rng.random() < 0.5 else None)


def two_schools(rng: Rng, n_classes: int) -> World:
    """Return 7 to 20 voters, 25 to 45 % of whom read the task differently; a panel.

    The second school reads z_i: on 20 to 45 % of the items (of all, or of one class: a coin) a
    class of C[y_i], otherwise y_i. P(s says what its school reads) = a_s in .75 to .92.
    """
    truth, n_voters = draw_classes(rng, n_classes), int(rng.integers(7, 21))
    taken, odd = draw_confusion(rng, n_classes), np.full(len(truth), rng.uniform(0.2, 0.45))
    if rng.random() < 0.5:
        odd[truth != rng.integers(n_classes)] = 0
    reading = say(rng, truth, 1 - odd, taken)
    second = np.arange(n_voters) < n_voters * rng.uniform(0.25, 0.45)
    meant = np.where(second, reading[:, None], truth[:, None])
    return seat(rng, truth, say(rng, meant, rng.uniform(0.75, 0.92, n_voters), taken), n_classes)


def sybils(rng: Rng, n_classes: int) -> World:
    """Return 20 to 60 voters, 25 to 40 % of them bots with one random answer; 3 to 7 votes each.

    The bots' answer r_i is any class, whatever y_i; a bot says r_i with probability .95 to 1.
    P(a person is right) = a_s in .6 to .9.
    """
    truth, n_voters = draw_classes(rng, n_classes), int(rng.integers(20, 61))
    bots = np.arange(n_voters) < n_voters * rng.uniform(0.25, 0.4)
    order = rng.integers(n_classes, size=len(truth))
    right = np.where(bots, rng.uniform(0.95, 1), rng.uniform(0.6, 0.9, n_voters))
    meant = np.where(bots, order[:, None], truth[:, None])
    said = say(rng, meant, right, draw_confusion(rng, n_classes))
    return seat(rng, truth, said, n_classes, (3, 7))


def position_bias(rng: Rng, n_classes: int) -> World:
    """Return 4 to 11 judges who prefer the option that is shown first, which nobody records.

    The first option z_i is any class. A judge says z_i with probability h_s, uniform from 0 to a
    limit of .2 to .8; otherwise P(right) = a_s in .65 to .9.
    """
    truth, n_voters = draw_classes(rng, n_classes), int(rng.integers(4, 12))
    first = rng.integers(n_classes, size=len(truth))
    lured = rng.random((len(truth), n_voters)) < rng.uniform(0, rng.uniform(0.2, 0.8), n_voters)
    right = rng.uniform(0.65, 0.9, n_voters)
    said = say(rng, truth[:, None], right, draw_confusion(rng, n_classes))
    return seat(rng, truth, np.where(lured, first[:, None], said), n_classes)


def severity(rng: Rng, n_classes: int) -> World:
    """Return 6 to 15 judges of a quality, lenient or strict together and each; ordered classes.

    The quality x_i is N(0, 1), and y_i counts the cuts c_k below it. Judge s counts those below
    x_i + N(m + l_s, v_s^2) with m in -.5 to .5, l_s from N(0, .3^2) and v_s in .3 to 1.
    """
    quality, n_voters = rng.normal(size=draw_size(rng)), int(rng.integers(6, 16))
    cuts = np.quantile(quality, draw_shares(rng, n_classes).cumsum()[:-1])
    truth = np.searchsorted(cuts, quality)
    lenience = rng.uniform(-0.5, 0.5) + rng.normal(0, 0.3, n_voters)
    noise = rng.uniform(0.3, 1, n_voters) * rng.normal(size=(len(truth), n_voters))
    said = np.searchsorted(cuts, quality[:, None] + lenience + noise)
    return seat(rng, truth, said, n_classes, ordered=n_classes > 2)


def adversaries(rng: Rng, n_classes: int) -> World:
    """Return 8 to 40 voters, 15 to 35 % of them a ring that agrees on wrong answers; a panel.

    The ring's answer is a class of C[y_i] on 20 to 100 % of the items, otherwise y_i; a member
    gives it with probability .9 to 1. P(another voter is right) = a_s in .62 to .88.
    """
    truth, n_voters = draw_classes(rng, n_classes), int(rng.integers(8, 41))
    taken = draw_confusion(rng, n_classes)
    agreed = say(rng, truth, 1 - rng.uniform(0.2, 1), taken)
    ring = np.arange(n_voters) < n_voters * rng.uniform(0.15, 0.35)
    right = np.where(ring, rng.uniform(0.9, 1), rng.uniform(0.62, 0.88, n_voters))
    meant = np.where(ring, agreed[:, None], truth[:, None])
    return seat(rng, truth, say(rng, meant, right, taken), n_classes)


def illusions(rng: Rng, n_classes: int) -> World:
    """Return 7 to 25 voters, most of whom are wrong in the same way on 5 to 20 % of the items.

    On those, a voter says the item's illusion, a class of C[y_i], with probability .6 to .8;
    otherwise P(s is right) = a_s in .7 to .92.
    """
    truth, n_voters = draw_classes(rng, n_classes), int(rng.integers(7, 26))
    taken = draw_confusion(rng, n_classes)
    deceptive = rng.random((len(truth), 1)) < rng.uniform(0.05, 0.2)
    meant = np.where(deceptive, say(rng, truth, 0, taken)[:, None], truth[:, None])
    right = np.where(deceptive, rng.uniform(0.6, 0.8), rng.uniform(0.7, 0.92, n_voters))
    return seat(rng, truth, say(rng, meant, right, taken), n_classes)


def look_alikes(rng: Rng, n_classes: int) -> World:
    """Return 4 to 9 voters of a panel who take classes for look-alikes.

    P(s is right) = a_s in .35 to .8, otherwise C[y_i].
    """
    truth, right = draw_classes(rng, n_classes), rng.uniform(0.35, 0.8, rng.integers(4, 10))
    said = say(rng, truth[:, None], right, draw_confusion(rng, n_classes))
    return seat(rng, truth, said, n_classes)


def class_crowd(rng: Rng, n_classes: int) -> World:
    """Return 20 to 60 voters, 10 to 25 % of them spammers, and look-alikes; 3 to 7 votes each.

    P(s is right) = a_s in .5 to .9, otherwise C[y_i]; a spammer draws from its own shares.
    """
    return _draw_crowd(rng, n_classes, draw_confusion(rng, n_classes))


def steps(rng: Rng, n_classes: int) -> World:
    """Return 4 to 9 voters of a panel who take ordered classes for neighbors.

    P(s is right) = a_s in .35 to .8; otherwise P(c) is proportional to exp(-r |c - y_i|), with r
    in 1 to 2.5.
    """
    truth, right = draw_classes(rng, n_classes), rng.uniform(0.35, 0.8, rng.integers(4, 10))
    said = say(rng, truth[:, None], right, draw_steps(rng, n_classes))
    return seat(rng, truth, said, n_classes, ordered=True)


def step_crowd(rng: Rng, n_classes: int) -> World:
    """Return 20 to 60 voters, 10 to 25 % of them spammers, and neighbors; 3 to 7 votes each.

    As `class_crowd`, with the errors of `steps`.
    """
    return _draw_crowd(rng, n_classes, draw_steps(rng, n_classes))._replace(ordered=True)


def class_families(rng: Rng, n_classes: int) -> World:
    """Return a panel of 3 to 5 opinions, each repeated by 1 to 4 judges.

    P(an opinion is right) = a in .6 to .88; P(a judge repeats it) is in .85 to .97.
    """
    truth, taken = draw_classes(rng, n_classes), draw_confusion(rng, n_classes)
    right = rng.uniform(0.6, 0.88, rng.integers(3, 6))
    opinions = say(rng, truth[:, None], right, taken)
    family = np.repeat(np.arange(len(right)), rng.integers(1, 5, len(right)))
    said = say(rng, opinions[:, family], rng.uniform(0.85, 0.97, len(family)), taken)
    return seat(rng, truth, said, n_classes)


def draw_size(rng: Rng) -> int:
    """Return a number of items, log-uniform from 200 to 3,000."""
    return int(np.exp(rng.uniform(np.log(200), np.log(3000))))


def draw_shares(rng: Rng, n_classes: int) -> Floats:
    """Return shares of classes that sum to 1, none below 1 / (2 K)."""
    return np.asarray(0.5 / n_classes + 0.5 * rng.dirichlet(np.ones(n_classes)))


def draw_classes(rng: Rng, n_classes: int) -> Classes:
    """Return the class of each item."""
    return rng.choice(n_classes, draw_size(rng), p=draw_shares(rng, n_classes))


def draw_confusion(rng: Rng, n_classes: int) -> Floats:
    """Return C: what each class (row) is taken for; its look-alike has a share of .5 to .9."""
    share = rng.uniform(0.5, 0.9)
    odd = 1 - np.eye(n_classes)
    twin = np.eye(n_classes)[np.roll(order := rng.permutation(n_classes), 1)[order.argsort()]]
    mixed = share * twin + (1 - share) * odd / (n_classes - 1)
    return np.asarray(mixed / mixed.sum(axis=1, keepdims=True))


def draw_steps(rng: Rng, n_classes: int) -> Floats:
    """Return what each ordered class is taken for: P falls by e^-r per step, r in 1 to 2.5."""
    distance = np.abs(np.subtract.outer(np.arange(n_classes), np.arange(n_classes)))
    taken = np.where(distance > 0, np.exp(-rng.uniform(1, 2.5) * distance), 0)
    return np.asarray(taken / taken.sum(axis=1, keepdims=True))


def say(rng: Rng, meant: Classes, right: ArrayLike, taken: Floats) -> Classes:
    """Return `meant` with probability `right`, otherwise a class drawn from taken[meant]."""
    shape = np.broadcast_shapes(meant.shape, np.shape(right))
    passed = rng.random(shape)[..., None] > taken.cumsum(axis=1)[meant][..., :-1]
    return np.where(rng.random(shape) < np.asarray(right), meant, passed.sum(axis=-1))


def seat(
    rng: Rng,
    truth: Classes,
    said: Classes,
    n_classes: int,
    per_item: tuple[int, int] | None = None,
    ordered: bool = False,
) -> World:
    """Return a world with so many votes per item, or of a panel: none or 30 % are missing."""
    if per_item is None:
        asked = rng.random(said.shape) >= rng.choice([0, 0.3])
    else:
        n_items, n_voters = said.shape
        n_votes = int(rng.integers(per_item[0], per_item[1] + 1))
        asked = seat_crowd(rng, n_items, n_voters, n_votes)
    codes = np.array(encode_classes(n_classes), dtype=np.int8)
    votes = np.where(asked, codes[said], 0).astype(np.int8)
    return World(votes, codes[truth], n_classes, ordered)


def _draw_crowd(rng: Rng, n_classes: int, taken: Floats) -> World:
    """Return a sparse crowd with spammers whose errors are those of `taken`."""
    truth, n_voters = draw_classes(rng, n_classes), int(rng.integers(20, 61))
    said = say(rng, truth[:, None], rng.uniform(0.5, 0.9, n_voters), taken)
    for s in range(int(n_voters * rng.uniform(0.1, 0.25))):
        said[:, s] = rng.choice(n_classes, len(truth), p=rng.dirichlet(np.ones(n_classes)))
    return seat(rng, truth, said, n_classes, (3, 7))


def draw_hard(rng: Rng, draw: Callable[[Rng, int], World], classes: tuple[int, int]) -> World:
    """Return a world of a kind, with the fewest to the most classes."""
    return draw(rng, int(rng.integers(classes[0], classes[1] + 1)))


_EITHER = (drifting, two_schools, sybils, position_bias, severity, adversaries, illusions)
_MORE = (look_alikes, class_crowd, steps, step_crowd, class_families)
# how to draw a kind, and its fewest and most classes; _k says that there are more than two
HARD: dict[str, tuple[Callable[[Rng, int], World], tuple[int, int]]] = {
    **{draw.__name__: (draw, (2, 2)) for draw in _EITHER},
    **{f"{draw.__name__}_k": (draw, (3, 6)) for draw in _EITHER},
    **{draw.__name__: (draw, (3, 6)) for draw in _MORE},
}
