import json

import numpy as np
import pytest

from report.judging import divided_crowd, divided_model, family_model, findings_of
from unelisa.aggregators import DawidSkene, LatentIsing, MajorityVote, UnElisa
from unelisa.report.findings import name_method
from unelisa.votes import Votes


def _votes(*rows):
    return Votes.of(np.array(rows, dtype=np.int8), coding="pm1")


def test_voters_come_heaviest_first_and_items_not_at_all(crowd):
    votes, _ = crowd
    named = Votes.of_values(
        votes.values, np.array([f"patient{i}" for i in range(600)]), votes.voters
    )
    findings = findings_of(UnElisa(random_state=0).fit(named), named)
    weights = [abs(voter["weight"]) for voter in findings["voters"]]
    assert weights == sorted(weights, reverse=True)
    assert "patient" not in json.dumps(findings)


def test_without_votes_only_the_voters_are_told(crowd):
    findings = findings_of(MajorityVote().fit(crowd[0]))
    assert findings["items"] is None
    assert findings["histogram"] is None
    assert findings["uncertain"] is None
    assert findings["prevalence"] is None
    assert findings["answer"] == "9 of 9 voters count."


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_warnings_are_told_in_words():
    votes = _votes([1, 1, 0], [1, -1, 0], [0, 1, 0], [1, 1, 0])
    told = " ".join(findings_of(MajorityVote().fit(votes), votes)["warnings"])
    assert "1 voter never voted" in told
    assert "1 constant voter" in told
    assert "Every item got the same label" in told
    assert "1 item tied" in told


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_no_expert_is_a_warning():
    rng = np.random.default_rng(0)
    votes = Votes.of(rng.choice(np.array([-1, 1], dtype=np.int8), (50, 4)))
    model = UnElisa(penalty=10.0, random_state=0).fit(votes)
    findings = findings_of(model, votes)
    assert findings["crowd"]["counted"] == 0
    assert any(told.startswith("No experts were found") for told in findings["warnings"])
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
    findings = findings_of(_Tied().fit(votes), votes)
    assert any("bare majority, 2 voters against 1" in told for told in findings["warnings"])
    assert findings["answer"].endswith("including 1 contrarian (votes reversed).")
    assert findings["fit"]["settings"]["callback"] == "builtin_function_or_method"


def test_a_class_that_is_not_registered_goes_by_its_own_name():
    assert name_method(_Tied()) == "_Tied"


def test_the_graph_is_told_in_the_order_of_the_voters(crowd):
    model = UnElisa(random_state=0).fit(crowd[0])
    findings = findings_of(model)
    graph, voters = findings["graph"], findings["voters"]
    assert len(graph["places"]) == len(voters) == 9
    for voter, tie, role in zip(voters, graph["ties"], graph["roles"], strict=True):
        assert role == voter["verdict"]
        assert tie == (voter["weight"] if role != "pruned" else 0)
    names = [voter["voter"] for voter in voters]
    for s, t, weight in graph["links"]:
        i, j = int(names[s][1:]), int(names[t][1:])
        assert model.graph_.weights[i, j] == weight


def test_new_votes_may_lack_voters_and_have_them_in_another_order(crowd):
    names = np.array(list("abcdefghi"), dtype=object)
    votes = Votes.of_values(crowd[0].values, crowd[0].items, names)
    model = DawidSkene(random_state=0).fit(votes)
    some = votes.take_voters([8, 2, 0])
    findings = findings_of(model, some)
    rows = {voter["voter"]: voter for voter in findings["voters"]}
    assert len(rows) == 9
    assert rows["a"]["weight"] == model.weights_[0]
    assert findings["items"]["positive"] == (model.predict(some) == 1).sum()
    assert "6 voters never voted" in " ".join(findings["warnings"])
    unnamed = Votes.of(crowd[0].values, coding="pm1")
    assert findings_of(model, unnamed)["items"]["n"] == 600


def test_a_consensus_tells_who_is_informative_and_how_much_the_crowd_is_worth():
    model, votes = family_model()
    findings = findings_of(model, votes)
    crowd, verdicts = findings["crowd"], list(model.voters_["verdict"])
    assert not crowd["selects"]
    assert crowd["counted"] == len(verdicts) - verdicts.count("uninformative") < 22
    assert crowd["experts"] == len(model.experts_) < crowd["counted"]
    assert crowd["effective"] == model.effective_voters_
    inside = sum(map(len, model.families_))
    told = f"{crowd['counted']} of 22 voters are informative, including {inside} who repeat each "
    assert f"{told}other in 3 families and 1 contrarian (votes reversed)." in findings["answer"]
    names = [voter["voter"] for voter in findings["voters"]]
    found = [{names[row] for row in family["voters"]} for family in crowd["families"]]
    assert found == [set(kin) for kin in model.families_]
    family_of = {voter["voter"]: voter["family"] for voter in findings["voters"]}
    heads = [family["name"] for family in crowd["families"]]
    assert [family_of[head] for head in heads] == heads


def test_the_accuracy_that_a_model_expects_has_an_interval():
    model, votes = family_model()
    expected = findings_of(model, votes)["expected_accuracy"]
    assert expected["share"] == model.expected_accuracy_
    assert (expected["low"], expected["high"]) == model.expected_accuracy_interval_
    bare = findings_of(MajorityVote().fit(votes), votes)
    assert bare["expected_accuracy"] is None
    assert bare["crowd"]["effective"] is None
    assert bare["crowd"]["families"] == []


def test_hard_items_are_counted_always_and_named_on_request():
    model, votes = divided_model(), divided_crowd()
    findings = findings_of(model, votes)
    ease = model.ease(votes)
    assert findings["ease"]["hard"] == (ease < 0.5).sum()
    assert sum(findings["ease"]["counts"]) == findings["ease"]["n"] == 900
    assert findings["hard"] is None
    assert "patient" not in json.dumps(findings)
    hard = findings_of(model, votes, show_items=True)["hard"]
    assert [one["ease"] for one in hard] == sorted(ease)[:200]
    assert {one["item"] for one in hard} <= set(votes.items)


def test_a_graph_knows_no_ease(crowd):
    model = LatentIsing(random_state=0).fit(crowd[0])
    findings = findings_of(model, crowd[0], show_items=True)
    assert findings["ease"] is None
    assert findings["hard"] == []
    assert findings["crowd"]["selects"]
    assert "voters are experts" in findings["answer"]
