import numpy as np
import pytest

import unelisa as ue
from unelisa.analysis.suggestions.batch import Terms, ask_everybody, plan_questions, without
from unelisa.analysis.suggestions.panels import build_panel
from unelisa.votes.ballots import list_ballots

N_ITEMS, N_VOTERS = 300, 6


@pytest.fixture(scope="module")
def crowd():
    """Six voters, each of whom answers a third of the items; four answer the first two items."""
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], N_ITEMS)[:, None]
    values = np.where(rng.random((N_ITEMS, N_VOTERS)) < 0.8, truth, -truth).astype(np.int8)
    values[rng.permuted(np.arange(N_ITEMS * N_VOTERS).reshape(N_ITEMS, -1) % 6, axis=1) > 1] = 0
    values[:2, :4] = 1
    return ue.Votes.of_values(np.asfortranarray(values), np.arange(N_ITEMS), np.arange(N_VOTERS))


def ask(votes, n, prices=None, offered=None):
    model = ue.OneCoinDawidSkene().fit(votes)
    prices = np.append(np.ones(votes.n_voters), np.inf) if prices is None else prices
    terms = Terms(prices, np.eye(2), "log_loss", offered, spread=10)
    parts = build_panel(model), list_ballots(votes.blocks), model.predict_proba(votes)
    return ask_everybody(*parts, terms, n), (*parts, terms)


def test_a_quarter_completes_the_items_with_the_most_votes(crowd):
    found, _ = ask(crowd, n=40)
    there = crowd.values != 0
    assert 6 <= len(found) <= 10
    assert {0, 1} <= {question.item for question in found}
    for item in {question.item for question in found}:
        asked = [question.voter for question in found if question.item == item]
        assert sorted([*asked, *np.flatnonzero(there[item])]) == list(range(N_VOTERS))
    assert all(question.gain > 0 for question in found)


def test_only_who_can_be_asked_is_asked(crowd):
    prices = np.append(np.ones(N_VOTERS), np.inf)
    prices[5] = np.inf
    found, _ = ask(crowd, 40, prices)
    assert found
    assert 5 not in {question.voter for question in found}
    offered = np.zeros((N_ITEMS, N_VOTERS), dtype=bool)
    offered[10:] = crowd.values[10:] == 0
    found, _ = ask(crowd, 40, offered=offered)
    assert all(offered[question.item, question.voter] for question in found)


def test_a_small_batch_and_voters_who_have_met_need_none(crowd):
    assert ask(crowd, n=4 * N_VOTERS - 1)[0] == []
    whole = np.where(crowd.values == 0, 1, crowd.values)[:, :3].astype(np.int8)
    whole[50:, 0] = 0
    voters = np.arange(3)
    met = ue.Votes.of_values(np.asfortranarray(whole), np.arange(N_ITEMS), voters)
    assert ask(met, n=40)[0] == []
    few = crowd.take_items(np.arange(100))
    assert ask(few, n=40)[0] == []


def test_nobody_is_asked_twice(crowd):
    found, (panel, ballots, chances, terms) = ask(crowd, n=40)
    left = without(terms, found, (N_ITEMS, N_VOTERS))
    rest = plan_questions(panel, ballots, chances, left)
    pairs = [question[:2] for question in [*found, *(next(rest) for _ in range(30))]]
    assert len(set(pairs)) == len(pairs)


def test_suggestions_hold_such_questions_only_if_they_are_spread(crowd):
    model = ue.OneCoinDawidSkene().fit(crowd)
    spread = ue.suggest_votes(model, crowd, n=40, criterion="log_loss")
    plain = ue.suggest_votes(model, crowd, n=40, criterion="log_loss", spread=False)
    assert len(spread) == len(plain) == 40
    assert not spread.duplicated(["item", "voter"]).any()
    first = spread[spread["item"].isin([0, 1])]
    assert len(first) == 4
    assert len(plain[plain["item"].isin([0, 1])]) < 4
