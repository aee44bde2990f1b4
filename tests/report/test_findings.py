import json

import numpy as np
import pytest

from unelisa.aggregators import AGGREGATORS, DawidSkene, MajorityVote, UnElisa
from unelisa.report.findings import VERSION, collect_findings, name_method
from unelisa.report.reference import Reference
from unelisa.study.comparison import MethodScore
from unelisa.votes import Votes


def _votes(*rows):
    return Votes.of(np.array(rows, dtype=np.int8), coding="pm1")


@pytest.mark.parametrize("name", AGGREGATORS)
@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_findings_of_every_method_are_plain_data(name, crowd):
    votes, truth = crowd
    model = AGGREGATORS[name]().fit(votes)
    reference = Reference(votes, truth, [MethodScore(name, 0.5)])
    findings = collect_findings(
        model, votes, reference=reference, seconds=1.5, notes=["a note"], show_items=True
    )
    assert json.loads(json.dumps(findings, allow_nan=False)) == findings
    assert findings["version"] == VERSION
    assert findings["method"] == name
    assert findings["warnings"][-1] == "a note"
    assert sum(findings["histogram"]["counts"]) == votes.n_items
    assert findings["items"]["positive"] == (model.predict(votes) == 1).sum()


def test_items_are_counted():
    votes = _votes([1, 1, 1], [1, -1, 0], [0, 0, 0], [-1, -1, -1])
    items = collect_findings(MajorityVote().fit(votes), votes)["items"]
    assert items == {
        "n": 4,
        "positive": 3,
        "share_positive": 0.75,
        "ties": 2,
        "unvoted": 1,
        "sure": None,
    }


def test_sure_items_are_those_with_a_posterior_above_95_percent(crowd):
    votes, _ = crowd
    model = UnElisa(random_state=0).fit(votes)
    chances = model.predict_proba(votes)
    sure = collect_findings(model, votes)["items"]["sure"]
    assert sure == (chances.max(axis=1) > 0.95).sum()


def test_voters_come_heaviest_first_and_items_not_at_all(crowd):
    votes, _ = crowd
    named = Votes.of_values(
        votes.values, np.array([f"patient{i}" for i in range(600)]), votes.voters
    )
    findings = collect_findings(UnElisa(random_state=0).fit(named), named)
    weights = [abs(voter["weight"]) for voter in findings["voters"]]
    assert weights == sorted(weights, reverse=True)
    assert "patient" not in json.dumps(findings)


def test_without_votes_only_the_voters_are_told(crowd):
    findings = collect_findings(MajorityVote().fit(crowd[0]))
    assert findings["items"] is None
    assert findings["histogram"] is None
    assert findings["uncertain"] is None
    assert findings["prevalence"] is None
    assert findings["answer"] == "9 of 9 voters count."


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_warnings_are_told_in_words():
    votes = _votes([1, 1, 0], [1, -1, 0], [1, 1, 0])
    told = " ".join(collect_findings(MajorityVote().fit(votes), votes)["warnings"])
    assert "1 voter never voted" in told
    assert "1 voter always gave the same vote" in told
    assert "Every item got the same label" in told
    assert "1 item ended in a tie" in told


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_no_expert_is_a_warning():
    rng = np.random.default_rng(0)
    votes = Votes.of(rng.choice(np.array([-1, 1], dtype=np.int8), (50, 4)))
    model = UnElisa(penalty=10.0, random_state=0).fit(votes)
    findings = collect_findings(model, votes)
    assert findings["crowd"]["counted"] == 0
    assert any(told.startswith("No expert was found") for told in findings["warnings"])
    assert findings["reliable"] is False
    assert "cannot be relied on" in findings["warnings"][0]


class _Tied(MajorityVote):
    orient = "majority"

    def get_params(self, deep=True):
        return {"orient": "majority", "callback": print}

    def _fit(self, votes):
        self.weights_ = np.array([1.0, 1.0, -1.0])


def test_a_bare_majority_of_sides_is_a_warning():
    votes = _votes([1, 1, -1], [-1, -1, 1])
    findings = collect_findings(_Tied().fit(votes), votes)
    assert any("bare majority, 2 voters against 1" in told for told in findings["warnings"])
    assert findings["answer"].endswith("1 of them a contrarian turned around.")
    assert findings["fit"]["settings"]["callback"] == "builtin_function_or_method"


def test_a_class_that_is_not_registered_goes_by_its_own_name():
    assert name_method(_Tied()) == "_Tied"


def test_the_graph_is_told_in_the_order_of_the_voters(crowd):
    model = UnElisa(random_state=0).fit(crowd[0])
    findings = collect_findings(model)
    graph, voters = findings["graph"], findings["voters"]
    assert len(graph["places"]) == len(voters) == 9
    for voter, tie, counted in zip(voters, graph["ties"], graph["counted"], strict=True):
        assert counted == (voter["verdict"] != "pruned")
        assert tie == (voter["weight"] if counted else 0)
    names = [voter["voter"] for voter in voters]
    for s, t, weight in graph["links"]:
        i, j = int(names[s][1:]), int(names[t][1:])
        assert model.graph_.weights[i, j] == weight
    assert findings["prevalence"] == {"share": model.prevalence_, "low": None, "high": None}


def test_the_prevalence_of_the_fitted_items_has_an_interval(crowd):
    model = UnElisa(random_state=0).fit(crowd[0])
    found = collect_findings(model, crowd[0])["prevalence"]
    assert found["low"] < found["share"] < found["high"]
    others = crowd[0].take_items(np.flatnonzero(crowd[1] > 0))
    assert collect_findings(model, others)["prevalence"]["low"] is None


def test_new_votes_may_lack_voters_and_have_them_in_another_order(crowd):
    names = np.array(list("abcdefghi"), dtype=object)
    votes = Votes.of_values(crowd[0].values, crowd[0].items, names)
    model = DawidSkene(random_state=0).fit(votes)
    some = votes.take_voters([8, 2, 0])
    findings = collect_findings(model, some)
    rows = {voter["voter"]: voter for voter in findings["voters"]}
    assert len(rows) == 9
    assert rows["a"]["weight"] == model.weights_[0]
    assert findings["items"]["positive"] == (model.predict(some) == 1).sum()
    assert "6 voters never voted" in " ".join(findings["warnings"])
    unnamed = Votes.of(crowd[0].values, coding="pm1")
    assert collect_findings(model, unnamed)["items"]["n"] == 600
