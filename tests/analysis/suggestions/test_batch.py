from collections import Counter
from itertools import islice

import numpy as np
import pytest

import unelisa as ue
from analysis.suggestions.crowds import NAMES, draw_crowd, fit
from unelisa.analysis.suggestions import batch
from unelisa.analysis.suggestions.batch import Terms, ask_everybody, plan_questions, without
from unelisa.analysis.suggestions.gains import await_vote, build_panel, form_belief, measure_gains
from unelisa.votes.ballots import list_ballots


def plan(model, votes, n, criterion="errors", prices=None, offered=None, spread=np.inf):
    panel = build_panel(model)
    given = np.append(np.ones(panel.n_voters), np.inf) if prices is None else prices
    terms = Terms(given, np.eye(panel.n_classes), criterion, offered, spread)
    chances = model.predict_proba(votes)
    return list(islice(plan_questions(panel, list_ballots(votes.blocks), chances, terms), n))


@pytest.mark.parametrize("criterion", ["errors", "log_loss", "rate"])
def test_the_batch_is_that_of_a_search_without_bounds(copied, criterion, monkeypatch):
    model, votes = copied
    monkeypatch.setattr(batch, "OPENED", 16)
    found = plan(model, votes, 60, criterion)
    monkeypatch.setattr(batch, "OPENED", votes.n_items)
    assert found == plan(model, votes, 60, criterion)
    assert len({question.item for question in found}) > 20


def test_the_first_question_is_the_best_of_all_and_relatives_are_asked_less(copied):
    model, votes = copied
    panel = build_panel(model)
    runs = batch.take_ballots(list_ballots(votes.blocks), np.arange(votes.n_items))
    gains = measure_gains(panel, form_belief(panel, runs, model.predict_proba(votes)), "errors")
    gains[votes.values != 0] = -1
    first = plan(model, votes, 1)[0]
    assert first.gain == pytest.approx(gains.max())
    assert gains[first.item, first.voter] == pytest.approx(gains.max())
    asked = Counter(question.voter for question in plan(model, votes, 200))
    assert max(asked[s] for s in (0, 7, 8)) < 10
    # with independent voters in their place they are asked as others are
    naive = Counter(question.voter for question in plan(fit(ue.DawidSkene(), votes), votes, 200))
    assert sum(naive[s] for s in (0, 7, 8)) > 3 * sum(asked[s] for s in (0, 7, 8))


def test_a_later_question_on_an_item_is_expected_over_the_answers_to_the_earlier(copied):
    model, votes = copied
    panel, chances = build_panel(model), model.predict_proba(votes)
    found = plan(model, votes, 500)
    item = next(q.item for k, q in enumerate(found) if q.item in {p.item for p in found[:k]})
    first, second = [question for question in found if question.item == item][:2]
    ballots = batch.take_ballots(list_ballots(votes.blocks), np.array([item]))
    belief = form_belief(panel, ballots, chances[[item]])
    assert measure_gains(panel, belief, "errors")[0, first.voter] == pytest.approx(first.gain)
    after = measure_gains(panel, await_vote(panel, belief, first.voter), "errors").sum(axis=0)
    assert after[second.voter] == pytest.approx(second.gain)


def test_nobody_is_asked_twice_and_only_what_is_offered(copied):
    model, votes = copied
    offered = np.zeros(votes.shape, dtype=bool)
    offered[:, 1:4] = True
    found = plan(model, votes, 400, offered=offered)
    pairs = [(question.item, question.voter) for question in found]
    assert len(set(pairs)) == len(pairs) > 50
    assert all(not votes.values[pair] and 1 <= pair[1] < 4 for pair in pairs)


def test_an_item_is_left_when_its_cases_are_too_many_and_equal_gains_go_to_distinct_items(
    copied, monkeypatch
):
    model, votes = copied
    monkeypatch.setattr(batch, "MOST_CASES", 1)
    found = plan(model, votes, 300)
    assert len({question.item for question in found}) == len(found)
    votes = draw_crowd(n_items=40)
    twice = votes.take_items(np.repeat(np.arange(40), 2))
    found = plan(fit(ue.DawidSkene(), draw_crowd()), twice, 20)
    assert [question.item for question in found[:2]] == [found[0].item, found[0].item + 1]
    assert found[0].gain == pytest.approx(found[1].gain)


def test_a_batch_can_be_spread_over_the_voters(copied):
    model, votes = copied
    free, spread = plan(model, votes, 60), plan(model, votes, 60, spread=60 / 9)
    counts = [Counter(question.voter for question in found) for found in (free, spread)]
    assert max(counts[1].values()) < max(counts[0].values())
    assert len(counts[1]) > len(counts[0])
    assert len({(question.item, question.voter) for question in spread}) == 60
    dearer = np.ones(len(NAMES))
    ranks = []
    for question in spread:
        ranks.append(question.gain / dearer[question.voter])
        dearer[question.voter] += 9 / 60
    once = [k for k, question in enumerate(spread) if question.item not in
            {other.item for other in spread[:k]}]  # fmt: skip
    assert np.all(np.diff(np.array(ranks)[once]) <= 1e-9)


N_ITEMS, N_VOTERS = 300, 6


@pytest.fixture(scope="module")
def sparse():
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


def test_a_quarter_completes_the_items_with_the_most_votes(sparse):
    found, _ = ask(sparse, n=40)
    there = sparse.values != 0
    assert 6 <= len(found) <= 10
    assert {0, 1} <= {question.item for question in found}
    for item in {question.item for question in found}:
        asked = [question.voter for question in found if question.item == item]
        assert sorted([*asked, *np.flatnonzero(there[item])]) == list(range(N_VOTERS))
    assert all(question.gain > 0 for question in found)


def test_only_who_can_be_asked_is_asked_and_nobody_twice(sparse):
    prices = np.append(np.ones(N_VOTERS), np.inf)
    prices[5] = np.inf
    found, _ = ask(sparse, 40, prices)
    assert found
    assert 5 not in {question.voter for question in found}
    offered = np.zeros((N_ITEMS, N_VOTERS), dtype=bool)
    offered[10:] = sparse.values[10:] == 0
    found, _ = ask(sparse, 40, offered=offered)
    assert all(offered[question.item, question.voter] for question in found)
    found, (panel, ballots, chances, terms) = ask(sparse, n=40)
    left = without(terms, found, (N_ITEMS, N_VOTERS))
    rest = plan_questions(panel, ballots, chances, left)
    pairs = [question[:2] for question in [*found, *(next(rest) for _ in range(30))]]
    assert len(set(pairs)) == len(pairs)


def test_a_small_batch_and_voters_who_have_met_need_none(sparse):
    assert ask(sparse, n=4 * N_VOTERS - 1)[0] == []
    whole = np.where(sparse.values == 0, 1, sparse.values)[:, :3].astype(np.int8)
    whole[50:, 0] = 0
    voters = np.arange(3)
    met = ue.Votes.of_values(np.asfortranarray(whole), np.arange(N_ITEMS), voters)
    assert ask(met, n=40)[0] == []
    few = sparse.take_items(np.arange(100))
    assert ask(few, n=40)[0] == []


def test_suggestions_hold_such_questions_only_if_they_are_spread(sparse):
    model = ue.OneCoinDawidSkene().fit(sparse)
    spread = ue.suggest_votes(model, sparse, n=40, criterion="log_loss")
    plain = ue.suggest_votes(model, sparse, n=40, criterion="log_loss", spread=False)
    assert len(spread) == len(plain) == 40
    assert not spread.duplicated(["item", "voter"]).any()
    first = spread[spread["item"].isin([0, 1])]
    assert len(first) == 4
    assert len(plain[plain["item"].isin([0, 1])]) < 4
