import numpy as np
import pytest

from latent.worlds import ballots_of, rules, run_of
from unelisa.latent.ballots import fill_silence
from unelisa.latent.consensus.model import fit_consensus, infer_states, weigh_truth
from unelisa.latent.consensus.rules import (
    LEAST_WEIGHT,
    fit_rules,
    odds_before_silence,
    share_spoken,
)


def test_rules_that_speak_more_on_one_side_make_it_rarer_among_all_items():
    """Items of known rate and rules; the rate is then recovered from the items with votes."""
    rng = np.random.default_rng(0)
    truth = np.where(rng.random(200_000) < 0.3, 1, -1)
    chances = np.array([[0.02, 0.05, 0.1], [0.5, 0.3, 0.02]])  # no, yes
    speaks = rng.random((200_000, 3)) < chances[(truth > 0).astype(int)]
    spoken = speaks.any(axis=1)
    silence = np.array([-1, -1, 1], dtype=np.int8)
    seen = np.stack([speaks[spoken & (truth == side)].mean(axis=0) for side in (-1, 1)])
    coins = np.where(silence < 0, seen, 1 - seen)
    share = np.mean(truth[spoken] > 0)
    odds = odds_before_silence(coins, silence, np.log(share / (1 - share)))
    assert share > 0.5
    assert odds == pytest.approx(np.log(0.3 / 0.7), abs=0.05)


def test_only_those_who_speak_make_the_first_majority():
    values = np.array([[1, 0, 0, 0], [1, 0, -1, 0], [0, 0, 0, 0], [0, 0, -1, -1]], dtype=np.int8)
    silence = np.array([-1, -1, 1, 1], dtype=np.int8)
    ballots = fill_silence(run_of(values), silence)
    yes = share_spoken(ballots, silence)[:, 0]
    assert yes == pytest.approx([0.95, 0.5, 0.5, 0.05])


def test_em_pulls_rules_toward_the_largest_group_that_speaks_together_one_step_does_not():
    values, truth = rules(0)
    rng = np.random.default_rng(1)
    event = rng.random((len(truth), 1)) < 0.3  # of no concern to the truth
    group = np.where(event & (rng.random((len(truth), 4)) < 0.7), 1, 0)
    values = np.hstack([values, group]).astype(np.int8)
    silence = np.where((values > 0).any(axis=0), -1, 1).astype(np.int8)
    blocks = ballots_of(values).view(fill_silence, silence)
    once = fit_rules(blocks, silence).model
    start = infer_states, once.factors
    rounds = fit_consensus(blocks, *start, model=once, least_weight=LEAST_WEIGHT)
    heard = values.any(axis=1)
    at_once, at_last = (
        np.mean((blocks.concatenate(weigh_truth, model.factors) > 0)[heard] == (truth > 0)[heard])
        for model in (once, rounds)
    )
    assert at_once > at_last + 0.1
