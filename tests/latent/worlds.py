"""Small crowds whose truth is known, one for each thing that real votes do."""

import numpy as np

from unelisa.latent.consensus import Consensus, ConsensusReading
from unelisa.latent.crowd import Crowd, Sample
from unelisa.latent.reading import Correction, Links
from unelisa.votes.ballots import list_ballots, set_prior_odds, take_ballots
from unelisa.votes.blocks import WholeTable


def ballots_of(values, prior_odds=None, n_jobs=None):
    """The ballots of a table of votes."""
    ballots = list_ballots(WholeTable(values), n_jobs)
    return ballots if prior_odds is None else set_prior_odds(ballots, prior_odds)


def run_of(values, prior_odds=None):
    """The same as one run."""
    return take_ballots(ballots_of(values, prior_odds), np.arange(len(values)))


def sample_of(values):
    """All items as a sample."""
    return Sample(run_of(values), values.shape[1])


def crowd_of(values, n_classes=2):
    """The crowd of a table of votes."""
    return Crowd.of(ballots_of(values), n_classes)


def model_of(weights, biases=0.0, counts=1.0, ease=(1.0,), classes=None, **more):
    """A model with these parameters; `classes` are the shares of the classes."""
    weights = np.asarray(weights, dtype=float)
    classes = np.full(2, 0.5) if classes is None else np.asarray(classes)
    fixed = {
        "weights": weights,
        "biases": np.zeros((len(weights), len(classes))) + biases,
        "counts": np.zeros(len(weights)) + counts,
        "log_classes": np.log(classes),
        "log_unheard": np.log(classes),
        "ease": np.asarray(ease),
        "ease_shares": np.full(len(ease), 1 / len(ease)),
        "center": 1.0,
        "standard_errors": np.full(len(weights), 0.1),
    }
    return Consensus(**(fixed | more))


def reading_of(model, family=None, kind=ConsensusReading, **more):
    """A reading of the votes with this model; nobody repeats another."""
    n_voters, nobody = len(model.weights), np.empty(0, dtype=np.int32)
    fixed = {
        "structure": "ease",
        "model": model,
        "ties": Links(nobody, nobody, np.empty(0)),
        "experts": np.zeros(n_voters, dtype=bool),
        "heads": np.arange(n_voters, dtype=np.int32),
        "family": np.full(n_voters, -1) if family is None else np.array(family),
        "correction": Correction.none(model.n_classes, n_voters),
    }
    return kind(**(fixed | more))


def drawn_crowd(seed, weights, n_classes, n_items, ease=(1.0,)):
    """Votes, truth and ease, drawn as the model says, with a tenth missing."""
    rng = np.random.default_rng(seed)
    truth, d = rng.integers(0, n_classes, n_items), rng.choice(ease, n_items)
    biases = rng.normal(0, 0.3, (len(weights), n_classes))
    leans = (
        biases + (np.asarray(weights) * d[:, None])[:, :, None] * np.eye(n_classes)[truth][:, None]
    )
    said = (leans + rng.gumbel(size=leans.shape)).argmax(axis=2)
    values = 2 * said - 1 if n_classes == 2 else said + 1
    values[rng.random(values.shape) < 0.1] = 0
    return values.astype(np.int8), truth, biases


def echo(rng, side, accuracy):
    """Votes that repeat a side with some accuracy."""
    return np.where(rng.random(len(side)) < accuracy, side, -side)


def sides(rng, n_items, share=0.5):
    return np.where(rng.random(n_items) < share, 1, -1)


def plain_crowd(seed, n_items=300, n_voters=20, votes_per_item=6, share=0.4):
    """Biased voters of varying skill, a few of whom vote on each item."""
    rng = np.random.default_rng(seed)
    truth = sides(rng, n_items, share)
    field = rng.normal(0, 0.3, n_voters) + rng.normal(0.8, 0.3, n_voters) * truth[:, None]
    values = np.where(rng.random(field.shape) < 1 / (1 + np.exp(-2 * field)), 1, -1)
    order = rng.random(field.shape).argsort(axis=1).argsort(axis=1)
    return np.where(order < votes_per_item, values, 0).astype(np.int8), truth


def copying_crowd(seed, n_items=600, n_copies=3, repeat=0.97, n_others=8):
    """One voter's opinion said several times, beside voters who err on their own."""
    rng = np.random.default_rng(seed)
    truth = sides(rng, n_items, 0.4)
    said = echo(rng, truth, 0.75)
    columns = [echo(rng, said, repeat) for _ in range(n_copies)]
    columns += [echo(rng, truth, rng.uniform(0.65, 0.85)) for _ in range(n_others)]
    return np.array(columns, dtype=np.int8).T, truth


def bad_clique(seed, n_items=1000, size=6, n_others=8, repeat=0.93):
    """Voters who repeat an opinion that hardly follows the truth, beside as many good ones."""
    rng = np.random.default_rng(seed)
    truth = sides(rng, n_items)
    said = echo(rng, truth, 0.55)
    columns = [echo(rng, said, repeat) for _ in range(size)]
    columns += [echo(rng, truth, rng.uniform(0.7, 0.85)) for _ in range(n_others)]
    return np.array(columns, dtype=np.int8).T, truth


def uneven_crowd(seed, n_items=1500, n_voters=15):
    """Items of unequal ease: on a third of them the voters guess; with the truth, the ease."""
    rng = np.random.default_rng(seed)
    truth, ease = sides(rng, n_items), rng.choice([0.1, 0.5, 1.5], n_items)
    field = rng.normal(0, 0.15, n_voters) + rng.normal(0.9, 0.2, n_voters) * (truth * ease)[:, None]
    values = np.where(rng.random(field.shape) < 1 / (1 + np.exp(-2 * field)), 1, -1)
    return values.astype(np.int8), truth, ease


def two_axes(seed, n_items=500):
    """30 voters see the truth, 24 a cue that has nothing to do with it, 15 hardly anything."""
    rng = np.random.default_rng(seed)
    truth = sides(rng, n_items)
    cue = echo(rng, truth, 0.5)
    columns = [echo(rng, truth, rng.uniform(0.62, 0.85)) for _ in range(30)]
    columns += [echo(rng, cue, rng.uniform(0.65, 0.85)) for _ in range(24)]
    columns += [echo(rng, truth, rng.uniform(0.48, 0.58)) for _ in range(15)]
    return np.array(columns, dtype=np.int8).T, truth


def rules(seed, n_items=1500, n_rules=10):
    """Rules that speak on one side only, and mostly on the right one."""
    rng = np.random.default_rng(seed)
    truth, columns = sides(rng, n_items), []
    for k in range(n_rules):
        side, reach, right = (-1) ** k, rng.uniform(0.1, 0.3), rng.uniform(0.75, 0.95)
        chance = np.where(truth == side, reach * right, reach * (1 - right))
        columns.append(np.where(rng.random(n_items) < chance, side, 0))
    return np.array(columns, dtype=np.int8).T, truth


def class_crowd(seed, n_items=600, n_classes=4, n_voters=12, votes_per_item=6, accuracy=0.7):
    """Voters who name the true class or any other; class k is the vote k + 1."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n_items)
    right = np.clip(rng.normal(accuracy, 0.1, n_voters), 0.3, 0.95)
    columns = [name_class(rng, truth, chance, n_classes) for chance in right]
    values = np.array(columns, dtype=np.int8).T + 1
    order = rng.random(values.shape).argsort(axis=1).argsort(axis=1)
    return np.where(order < votes_per_item, values, 0).astype(np.int8), truth


def name_class(rng, truth, accuracy, n_classes):
    """Answers that are right with some accuracy, and otherwise any other class."""
    other = (truth + rng.integers(1, n_classes, len(truth))) % n_classes
    return np.where(rng.random(len(truth)) < accuracy, truth, other)


def copied_classes(seed, n_items=800, n_classes=4, n_copies=6, n_others=6, repeat=0.96):
    """A poor voter's answers said several times, beside good voters who err on their own."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n_items)
    columns = [name_class(rng, truth, 0.7, n_classes) for _ in range(n_others)]
    said = name_class(rng, truth, 0.45, n_classes)
    columns += [name_class(rng, said, repeat, n_classes) for _ in range(n_copies)]
    return np.array(columns, dtype=np.int8).T + 1, truth


def class_rules(seed, n_items=1500, n_classes=3, n_rules=12):
    """Rules that name one class each, and mostly where it is the true one."""
    rng = np.random.default_rng(seed)
    truth, columns = rng.integers(0, n_classes, n_items), []
    for s in range(n_rules):
        own, reach, right = s % n_classes, rng.uniform(0.2, 0.5), rng.uniform(0.75, 0.95)
        chance = np.where(truth == own, reach, reach * (1 - right) / (n_classes - 1))
        columns.append(np.where(rng.random(n_items) < chance, own + 1, 0))
    return np.array(columns, dtype=np.int8).T, truth


def polarized(turned, n_voters=40, n_items=1000, seed=0):
    """Voters who are right in 73 % of the cases, some of them turned around; and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.choice([-1, 1], size=(n_items, 1))
    right = np.where(rng.random((n_items, n_voters)) < 0.73, truth, -truth)
    return np.where(np.arange(n_voters) < turned, -right, right).astype(np.int8), truth[:, 0]
