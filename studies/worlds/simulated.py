"""Simulated worlds of both parts: each function draws one world of its kind."""

import numpy as np

from studies.worlds.voters import (
    Rng,
    Signs,
    World,
    answer,
    draw_truth,
    join_voters,
    lose,
    repeat,
    respond,
    seat_crowd,
)
from unelisa.simulation.designs import simulate_votes

SIZES = (300, 1000, 3000)


def _draw_size(rng: Rng, *sizes: int) -> int:
    return int(rng.choice(sizes or SIZES))


def _answer_with_bias(rng: Rng, truth: Signs, accuracy: float, bias: float) -> Signs:
    """Return a voter whose sensitivity is above its accuracy by `bias`, its specificity below."""
    rates = np.clip([accuracy + bias, accuracy - bias], 0.5, 0.98)
    return answer(rng, truth, float(rates[0]), float(rates[1]))


def _draw_panel(rng: Rng, truth: Signs, n_voters: int) -> list[Signs]:
    """Return independent voters who are right on 70 to 90 % of the items."""
    return [
        _answer_with_bias(rng, truth, rng.uniform(0.7, 0.9), rng.uniform(-0.06, 0.06))
        for _ in range(n_voters)
    ]


def copies(rng: Rng) -> World:
    """Return seven voters, and one to three exact copies of one of them."""
    truth = draw_truth(rng, _draw_size(rng, 300, 1000, 3000, 10_000), rng.uniform(0.3, 0.7))
    voters = _draw_panel(rng, truth, 7)
    copied = voters[int(rng.integers(7))]
    return join_voters(voters + [copied] * int(rng.integers(1, 4)), truth)


def near_copies(rng: Rng) -> World:
    """Return seven voters, and one to three who repeat one of them on 90 to 99 % of the items."""
    truth = draw_truth(rng, _draw_size(rng, 300, 1000, 3000, 10_000), rng.uniform(0.3, 0.7))
    voters = _draw_panel(rng, truth, 7)
    copied = voters[int(rng.integers(7))]
    same = rng.uniform(0.9, 0.99)
    return join_voters(
        voters + [repeat(rng, copied, same) for _ in range(rng.integers(1, 4))], truth
    )


def two_prompts(rng: Rng) -> World:
    """Return seven judges, and one of them again with another prompt: 90 to 98 % the same."""
    truth = draw_truth(rng, _draw_size(rng, 1000, 3000), rng.uniform(0.4, 0.6))
    judges = [
        _answer_with_bias(rng, truth, rng.uniform(0.74, 0.9), rng.uniform(-0.1, 0.1))
        for _ in range(7)
    ]
    return join_voters([*judges, repeat(rng, judges[0], rng.uniform(0.9, 0.98))], truth)


def bad_clique(rng: Rng) -> World:
    """Return four or five near-copies of a voter who is right on 58 %, and 7 to 9 better ones."""
    truth = draw_truth(rng, _draw_size(rng), rng.uniform(0.35, 0.65))
    leader = answer(rng, truth, 0.58, 0.58)
    clique = [repeat(rng, leader, rng.uniform(0.92, 0.98)) for _ in range(rng.integers(4, 6))]
    others = [answer(rng, truth, *rng.uniform(0.68, 0.85, 2)) for _ in range(rng.integers(7, 10))]
    return join_voters(clique + others, truth)


def lenient_families(rng: Rng) -> World:
    """Return four to six families of one to three judges with one opinion; most are lenient."""
    truth = draw_truth(rng, _draw_size(rng), rng.uniform(0.3, 0.7))
    judges = []
    for _ in range(rng.integers(4, 7)):
        opinion = _answer_with_bias(rng, truth, rng.uniform(0.72, 0.88), rng.uniform(-0.02, 0.14))
        for _ in range(rng.choice([1, 2, 2, 3])):
            judges.append(answer(rng, opinion, rng.uniform(0.9, 0.99), rng.uniform(0.86, 0.98)))
    return join_voters(judges, truth)


def rare_class(rng: Rng) -> World:
    """Return 6 to 15 independent voters on items of which 3 to 12 % are positive."""
    truth = draw_truth(rng, _draw_size(rng, 1000, 3000), rng.uniform(0.03, 0.12))
    voters = [
        answer(rng, truth, rng.uniform(0.5, 0.9), rng.uniform(0.85, 0.98))
        for _ in range(rng.integers(6, 16))
    ]
    return join_voters(voters, truth)


def rules(rng: Rng) -> World:
    """Return 8 to 15 rules that say one thing or nothing; 8 to 40 % positive; silent items."""
    rate = rng.uniform(0.08, 0.4)
    truth = draw_truth(rng, _draw_size(rng, 1000, 3000), rate)
    n_rules = int(rng.integers(8, 16))
    fired = [_fire(rng, truth, rate, 1 if s % 2 == 0 else -1) for s in range(n_rules)]
    for s in range(5, n_rules, 4):  # a rule for "no" that shares its keyword with the first such
        fired[s] = np.where(rng.random(len(truth)) < 0.7, fired[1], fired[s]).astype(np.int8)
    return join_voters(fired, truth)


def _fire(rng: Rng, truth: Signs, rate: float, side: int) -> Signs:
    """Return a rule for one side: better than that side's share, and silent on most items."""
    base = rate if side > 0 else 1 - rate
    precision = max(rng.uniform(0.6, 0.95), base + 0.35 * (1 - base))
    coverage = rng.uniform(0.05, 0.3) * (base if side > 0 else 1)
    on_side, off_side = coverage * precision / base, coverage * (1 - precision) / (1 - base)
    chances = np.where(truth == side, min(on_side, 0.95), min(off_side, 0.95))
    return np.where(rng.random(len(truth)) < chances, side, 0).astype(np.int8)


def thresholds(rng: Rng) -> World:
    """Return three to five counts, each voting by >= 1 and >= 3 and some also by >= 6."""
    truth = draw_truth(rng, _draw_size(rng), rng.uniform(0.15, 0.45))
    voters = []
    for _ in range(rng.integers(3, 6)):
        mean = np.where(truth > 0, rng.uniform(2.5, 7), rng.uniform(0.15, 0.9))
        shape = rng.uniform(0.8, 2.5)
        counts = rng.poisson(mean * rng.gamma(shape, 1 / shape, len(truth)))
        for least in (1, 3, 6)[: rng.integers(2, 4)]:
            voters.append(np.where(counts >= least, 1, -1).astype(np.int8))
    return join_voters(voters, truth)


def contrarians(rng: Rng) -> World:
    """Return 10 to 24 voters, 10 to 25 % of whom say the opposite; none or half missing."""
    truth = draw_truth(rng, _draw_size(rng), rng.uniform(0.3, 0.7))
    n_voters = int(rng.integers(10, 25))
    turned = max(1, int(n_voters * rng.uniform(0.1, 0.25)))
    ranges = [(0.12, 0.35)] * turned + [(0.62, 0.85)] * (n_voters - turned)
    voters = [answer(rng, truth, *rng.uniform(low, high, 2)) for low, high in ranges]
    world = join_voters(voters, truth)
    return world._replace(votes=lose(rng, world.votes, rng.choice([0, 0.5])))


def uneven_ease(rng: Rng) -> World:
    """Return 6 to 19 voters on items of four degrees of ease; on the hardest they guess."""
    truth = draw_truth(rng, _draw_size(rng), rng.uniform(0.3, 0.7))
    ease = rng.choice([0.1, 0.4, 1.0, 1.8], len(truth))
    voters = [
        respond(rng, rng.normal(0, 0.25) + rng.uniform(0.3, 1.1) * ease * truth)
        for _ in range(rng.integers(6, 20))
    ]
    world = join_voters(voters, truth)
    return world._replace(votes=lose(rng, world.votes, rng.choice([0, 0.4])))


def tilted(rng: Rng) -> World:
    """Return 12 to 29 voters who lean the same way on an item, whatever its truth."""
    truth = draw_truth(rng, _draw_size(rng, 300, 1000), rng.uniform(0.35, 0.65))
    misreading = draw_truth(rng, len(truth), 0.5)
    voters = []
    for _ in range(rng.integers(12, 30)):
        weight, bias, tilt = abs(rng.normal(0.6, 0.35)), rng.normal(0, 0.3), rng.normal(0.35, 0.15)
        voters.append(respond(rng, bias + weight * truth + tilt * misreading))
    return join_voters(voters, truth)


def spammers(rng: Rng) -> World:
    """Return 12 to 29 voters, half of whom ignore the item; up to 70 % of the votes missing."""
    truth = draw_truth(rng, _draw_size(rng), rng.uniform(0.3, 0.7))
    voters = []
    for s in range(rng.integers(12, 30)):
        yes = rng.uniform(0.1, 0.9)
        rates = (yes, 1 - yes) if s % 2 else rng.uniform(0.65, 0.9, 2)
        voters.append(answer(rng, truth, *rates))
    world = join_voters(voters, truth)
    return world._replace(votes=lose(rng, world.votes, rng.choice([0, 0.5, 0.7])))


def sparse_crowd(rng: Rng) -> World:
    """Return 20 to 119 voters, 12 % of them spammers; 3 to 7 votes per item; unequal ease."""
    truth = draw_truth(rng, _draw_size(rng), rng.uniform(0.2, 0.8))
    n_voters = int(rng.integers(20, 120))
    seated = seat_crowd(rng, len(truth), n_voters, int(rng.integers(3, 8)))
    weights, biases = rng.normal(0.75, 0.35, n_voters), rng.normal(0, 0.35, n_voters)
    weights[rng.random(n_voters) < 0.12] = 0
    ease = rng.choice([0.3, 1.0, 1.5], len(truth))
    votes = respond(rng, biases + weights * (ease * truth)[:, None])
    return World(np.where(seated, votes, 0).astype(np.int8), truth)


def incomplete_panel(rng: Rng) -> World:
    """Return a panel with copies, near-copies, lenient families or none; 3 to 6 votes per item."""
    whole = (copies, near_copies, bad_clique, lenient_families, independent)[rng.integers(5)](rng)
    keys = np.where(whole.votes != 0, rng.random(whole.votes.shape), 1.0)
    asked = keys.argsort(axis=1).argsort(axis=1) < rng.integers(3, 7)
    return World(np.where(asked, whole.votes, 0).astype(np.int8), whole.truth)


def independent(rng: Rng) -> World:
    """Return 3 to 14 independent voters; none or 30 % of the votes missing."""
    truth = draw_truth(rng, _draw_size(rng), rng.uniform(0.2, 0.8))
    voters = [answer(rng, truth, *rng.uniform(0.6, 0.92, 2)) for _ in range(rng.integers(3, 15))]
    world = join_voters(voters, truth)
    return world._replace(votes=lose(rng, world.votes, rng.choice([0, 0.3])))


def paper(rng: Rng) -> World:
    """Return a design of the paper's section 5.1: 25 voters, high or medium signal."""
    experts, snr = rng.choice(["log", "sqrt", "quarter"]), rng.choice(["high", "medium"])
    drawn = simulate_votes(25, str(experts), str(snr), random_state=rng)  # type: ignore[arg-type]
    return World(np.array(drawn.votes.values, dtype=np.int8), drawn.truth)
