"""Simulated worlds of the reporting part alone: kinds that no choice was made on."""

import numpy as np

from studies.worlds.voters import (
    Rng,
    World,
    answer,
    draw_truth,
    join_voters,
    lose,
    repeat,
    respond,
    seat_crowd,
)

SIZES = (500, 1500, 4000)


def copied_expert(rng: Rng) -> World:
    """Return the best of 9 voters copied 2 to 4 times, 90 to 99 % alike; 30 to 60 % missing."""
    truth = draw_truth(rng, int(rng.choice(SIZES)), rng.uniform(0.3, 0.7))
    expert = answer(rng, truth, *rng.uniform(0.86, 0.94, 2))
    copies = [repeat(rng, expert, rng.uniform(0.9, 0.99)) for _ in range(rng.integers(2, 5))]
    others = [answer(rng, truth, *rng.uniform(0.6, 0.78, 2)) for _ in range(8)]
    world = join_voters([expert, *copies, *others], truth)
    return world._replace(votes=lose(rng, world.votes, rng.uniform(0.3, 0.6)))


def nested_families(rng: Rng) -> World:
    """Return 3 or 4 vendors with 2 or 3 models each, and each model with 1 to 3 prompts.

    A vendor has an opinion on every item, its models repeat it on 85 to 95 % of the items, and a
    model's prompts repeat the model on 90 to 98 %.
    """
    truth = draw_truth(rng, int(rng.choice(SIZES)), rng.uniform(0.35, 0.65))
    judges = []
    for _ in range(rng.integers(3, 5)):
        vendor = answer(rng, truth, *rng.uniform(0.72, 0.88, 2))
        for _ in range(rng.integers(2, 4)):
            model = repeat(rng, vendor, rng.uniform(0.85, 0.95))
            for _ in range(rng.integers(1, 4)):
                judges.append(repeat(rng, model, rng.uniform(0.9, 0.98)))
    return join_voters(judges, truth)


def two_topics(rng: Rng) -> World:
    """Return 8 to 19 voters and two topics: each voter is good at one and weak at the other."""
    truth = draw_truth(rng, int(rng.choice(SIZES)), rng.uniform(0.3, 0.7))
    topic = rng.random(len(truth)) < rng.uniform(0.35, 0.65)
    voters = []
    for s in range(rng.integers(8, 20)):
        good, weak = rng.uniform(0.75, 0.92), rng.uniform(0.5, 0.62)
        right = np.where(topic == (s % 2 == 0), good, weak)
        voters.append(np.where(rng.random(len(truth)) < right, truth, -truth).astype(np.int8))
    world = join_voters(voters, truth)
    return world._replace(votes=lose(rng, world.votes, rng.choice([0, 0.5])))


def drifting_crowd(rng: Rng) -> World:
    """Return 15 to 49 voters, 5 to 9 votes per item; some tire and others learn over time."""
    truth = draw_truth(rng, int(rng.choice(SIZES)), rng.uniform(0.3, 0.7))
    n_voters = int(rng.integers(15, 50))
    seated = seat_crowd(rng, len(truth), n_voters, int(rng.integers(5, 10)))
    time = np.linspace(0, 1, len(truth))[:, None]
    first, last = rng.normal(0.7, 0.35, n_voters), rng.normal(0.5, 0.45, n_voters)
    weights = (1 - time) * first + time * last
    votes = respond(rng, rng.normal(0, 0.3, n_voters) + weights * truth[:, None])
    return World(np.where(seated, votes, 0).astype(np.int8), truth)
