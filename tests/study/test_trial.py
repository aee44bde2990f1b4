import json

import numpy as np
import pytest

from unelisa.aggregators import UnElisa
from unelisa.errors import ExpertsWarning, ModelError
from unelisa.study.cells import CELLS, Trial, find_cell, seed_trial
from unelisa.study.trial import (
    COLUMNS,
    LABELS,
    METHODS,
    Drawn,
    Verdict,
    draw_trial,
    find_study_methods,
    run_trial,
    run_unelisa,
    score_verdict,
)
from unelisa.votes import Votes

SMALL = find_cell("medium-25-sqrt")


@pytest.fixture(scope="module")
def record():
    return run_trial(Trial(SMALL, 3))


def without_seconds(record):
    return {key: value for key, value in record.items() if key != "seconds"}


def test_a_trial_is_the_same_whenever_it_is_run(record):
    assert without_seconds(run_trial(Trial(SMALL, 3))) == without_seconds(record)
    assert json.loads(json.dumps(record, allow_nan=False)) == record


def test_a_trial_scores_every_method(record):
    assert tuple(record["scores"]) == COLUMNS
    assert set(COLUMNS) <= set(LABELS)
    assert set(record["seconds"]) == {"sampler", *METHODS}
    assert record["scores"]["oracle"]["accuracy"] > 0.97
    assert record["scores"]["unelisa-bayes"]["hit_rate"] == 1.0
    assert "hit_rate" not in record["scores"]["majority-vote"]
    assert record["n"] in (580, 676)
    assert 0 < record["flips"] < record["n"]


def test_a_method_alone_scores_as_it_does_among_the_others(record):
    for name in ("dawid-skene", "unelisa"):
        alone = run_trial(Trial(SMALL, 3), [name])["scores"]
        assert alone == {column: record["scores"][column] for column in alone}


def test_both_rules_rest_on_one_selection_and_equal_the_estimators():
    trial = Trial(SMALL, 4)
    drawn, seed = draw_trial(trial), seed_trial(trial).methods
    verdicts = run_unelisa(drawn, seed)
    for rule, column in (("bayes", "unelisa-bayes"), ("majority", "unelisa-amv")):
        model = UnElisa(rule=rule, random_state=seed).fit(drawn.votes)
        assert np.array_equal(verdicts[column].experts, model.experts_)
        assert np.array_equal(verdicts[column].scores, model.decision_function(drawn.votes))


def test_without_experts_both_rules_are_majority_vote():
    rng = np.random.default_rng(0)
    values = rng.choice(np.array([-1, 1], dtype=np.int8), (200, 6))
    model = draw_trial(Trial(SMALL, 0)).model
    drawn = Drawn(Votes.of(values, coding="pm1"), values[:, 0], model, 0)
    with pytest.warns(ExpertsWarning, match="no expert"):
        verdicts = run_unelisa(drawn, 0)
    for verdict in verdicts.values():
        assert np.array_equal(np.sign(verdict.scores), np.sign(values.sum(axis=1)))
    assert score_verdict(verdicts["unelisa-amv"], drawn)["precision"] is None
    assert score_verdict(verdicts["unelisa-amv"], drawn)["hit_rate"] == 0.0


def test_a_tie_counts_half():
    drawn = draw_trial(Trial(SMALL, 0))
    nothing = Verdict(np.zeros(drawn.votes.n_items))
    assert score_verdict(nothing, drawn) == {"accuracy": 0.5}


def test_the_number_of_items_follows_the_factor():
    sizes = [draw_trial(Trial(SMALL, 0, factor=factor)).votes.n_items for factor in (30, 60, 4)]
    assert sizes[1] == 2 * sizes[0]
    assert sizes[2] == int(np.ceil(sizes[0] * 4 / 30))


def test_the_samplers_share_graphs_and_only_one_of_them_mixes():
    stuck, mixed = (
        draw_trial(Trial(find_cell("high-81-quarter"), 0, s)) for s in ("paper", "mixed")
    )
    assert np.array_equal(stuck.model.edges, mixed.model.edges)
    assert stuck.flips < 20
    assert mixed.flips > 0.4 * mixed.votes.n_items


def test_strange_methods_are_refused():
    assert find_study_methods(None) == tuple(METHODS)
    with pytest.raises(ModelError, match="no method 'tarot'"):
        find_study_methods("unelisa,tarot")


def test_the_readings_of_the_graph_differ():
    edges = [
        np.count_nonzero(draw_trial(Trial(CELLS[1], 0, graph=graph)).model.edges)
        for graph in ("tree", "half", "full")
    ]
    assert edges[0] < edges[2]
    assert edges[0] <= edges[1] <= edges[2]
