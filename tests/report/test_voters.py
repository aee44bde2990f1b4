import numpy as np
import pytest

from report.judging import divided_crowd, divided_model, family_model, findings_of
from unelisa.aggregators import DawidSkene, LatentIsing, MajorityVote, UnElisa
from unelisa.analysis.judged import Judged
from unelisa.report.voters import (
    NAMED_LINKS,
    Network,
    choose_columns,
    draw_dots,
    estimate_rates,
    find_families,
    list_voters,
    rank_voters,
    selects_experts,
)
from unelisa.simulation.designs import figure_2_1
from unelisa.votes import Votes


def _rows(model, rates=None):
    return list_voters(model, rank_voters(model), Network.of_model(model), rates or {})


def test_rates_and_dots_need_labels_or_truth(crowd):
    votes, truth = crowd
    rates = estimate_rates(Judged(votes, (-1, 1), truth.astype(float), has_chances=False))
    yes = votes.values[truth > 0] > 0
    no = votes.values[truth < 0] < 0
    assert np.allclose(rates["sensitivity"], yes.mean(axis=0))
    assert np.allclose(rates["specificity"], no.mean(axis=0))
    assert np.allclose(rates["agreement"], (votes.values == truth[:, None]).mean(axis=0))
    assert np.allclose(rates["lean"], (votes.values > 0).mean(axis=0) - (truth > 0).mean())
    model = DawidSkene(random_state=0).fit(crowd[0])
    rows = _rows(model, {"sensitivity": np.zeros(9), "stability": np.ones(9)})
    assert {row["sensitivity"] for row in rows} == set(model.sensitivity_)
    assert {row["stability"] for row in rows} == {1.0}
    votes = Votes.of([[1, 0], [1, 1]], coding="pm1")
    rates = estimate_rates(Judged(votes, (-1, 1), np.ones(2), has_chances=False))
    assert np.isnan(rates["specificity"]).all()
    assert np.isnan(rates["lean"]).all()  # who says one thing only does not lean
    assert rates["agreement"].tolist() == [1, 1]
    votes = Votes.of([["a", "a", "b"], ["b", "b", None], ["c", "a", "c"]])
    rates = estimate_rates(Judged.of(MajorityVote().fit(votes), votes))
    assert rates["agreement"] == pytest.approx([1, 2 / 3, 1 / 2])


def test_networks_give_ties_of_experts_and_mutual_links(crowd):
    model = UnElisa(random_state=0).fit(crowd[0])
    network = Network.of_model(model)
    assert np.flatnonzero(network.counted).tolist() == model.experts_.tolist()
    assert (network.weights[~network.counted] == 0).all()
    equal = MajorityVote().fit(crowd[0])
    assert rank_voters(equal) == list(range(9))  # in their own order
    assert Network.of_model(equal).links == []
    models = LatentIsing(random_state=0).fit(crowd[0]), family_model()[0], equal
    assert [selects_experts(one) for one in models] == [True, False, False]  # only a graph does
    assert len(network.links) == len(model.graph_.edges)
    sizes = [abs(weight) for _, _, weight in network.links]
    assert sizes == sorted(sizes, reverse=True)
    neighbors = Network.of_ising(figure_2_1()).neighbors()
    assert {t for t, _ in neighbors[0]} == {5, 6}
    for s, near in enumerate(neighbors):
        assert all(s in {back for back, _ in neighbors[t]} for t, _ in near)
    ranking, rows = rank_voters(model), _rows(model)
    for s, row in zip(ranking, rows, strict=True):
        assert row["links"] == model.graph_.degrees[s]
        assert len(row["depends_on"]) == min(row["links"], NAMED_LINKS)
        for link in row["depends_on"]:
            assert model.graph_.weights[s, ranking[link["voter"]]] == link["weight"] != 0


def test_families_and_roles_are_those_of_the_model():
    model, _ = family_model()
    families = find_families(model)
    names = [[str(model.voter_names_[s]) for s in kin] for kin in families]
    assert [set(kin) for kin in names] == [set(kin) for kin in model.families_]
    heads = set(model.voters_["family"]) - {""}
    assert {kin[0] for kin in names} == heads
    assert find_families(MajorityVote().fit([[1, 1, -1], [-1, -1, 1]])) == []
    network = Network.of_model(model)
    verdicts = list(model.voters_["verdict"])
    assert network.roles == [word.split(" of ")[0] for word in verdicts]
    assert {"family", "uninformative", "contrarian"} <= set(network.roles)
    assert (network.counted == [word != "uninformative" for word in verdicts]).all()
    assert len(network.links) > 0
    assert network.links_between_families() == []
    apart = network._replace(links=[(0, 21, 1.0), *network.links])
    assert apart.links_between_families() == [(0, 21, 1.0)]


def _titles(findings):
    return [column.title for column in choose_columns(findings["voters"], findings["classes"])]


def test_columns_are_a_methods_own_in_the_users_words(crowd):
    findings = findings_of(UnElisa(random_state=0).fit(crowd[0]), crowd[0])
    voters = [{**voter, "skill": 0.9, "skill_low": 0.8} for voter in findings["voters"]]
    assert _titles({**findings, "voters": voters})[-3:] == ["Skill", "Depends on", "Reason"]
    assert "Sensitivity" not in _titles(findings_of(MajorityVote().fit(crowd[0])))
    titles = _titles(findings_of(*family_model()))
    assert titles[:4] == ["Voter", "Verdict", "Family", "Accuracy"]
    assert not {"Depends on", "Accuracy_low", "Ppv_high"} & set(titles)
    voter = {"voter": "a", "weight": 1.0, "lean": 0.1, "sensitivity": 0.8}
    columns = {column.key: column for column in choose_columns([voter], ("control", "case"))}
    assert columns["sensitivity"].hint == "says “case” where the label is “case”"
    assert columns["lean"].title == "Says “case”"
    voter = {"voter": "a", "weight": 1.0, "accuracy": 0.8, "recall_cat": 0.7, "recall_cat_low": 0.6}
    columns = {column.key: column for column in choose_columns([voter], ("cat", "dog", "owl"))}
    assert list(columns) == ["voter", "accuracy", "recall_cat", "weight"]
    assert columns["recall_cat"].title == "Recall of cat"
    assert columns["recall_cat"].detail
    assert columns["accuracy"].kind == "interval"


def _voter(accuracy, low=None, high=None):
    return {"accuracy": accuracy, "accuracy_low": low, "accuracy_high": high}


def test_the_least_accurate_comes_first_by_accuracy_or_agreement(crowd):
    voters = [_voter(0.9, 0.8, 0.95), _voter(None), _voter(0.3, 0.2, 0.4)]
    rows = draw_dots(voters, [])["rows"]
    assert [row["voter"] for row in rows] == [2, 0, 1]
    assert rows[0]["low"] < rows[0]["x"] < rows[0]["high"] < rows[1]["low"]
    assert rows[2]["x"] is rows[2]["low"] is None
    voters = [_voter(x) for x in (0.9, 0.6, 0.7, 0.5)]
    rows = draw_dots(voters, [[0, 1]])["rows"]
    assert [row["voter"] for row in rows] == [3, 1, 0, 2]
    assert [row["family"] for row in rows] == [None, 0, 0, None]
    assert [rows[1]["first"], rows[1]["last"]] == [True, False]
    assert [rows[2]["first"], rows[2]["last"]] == [False, True]
    drawn = draw_dots([_voter(0.5, 0.31, 0.7), _voter(1.0, 0.9, 1.0)], [])
    assert drawn["ticks"][0] == (3.0, 30)
    assert drawn["ticks"][-1] == (97.0, 100)
    assert all(0 < row["low"] <= row["high"] < 100 for row in drawn["rows"])
    assert draw_dots([_voter(1.0)], [])["ticks"][0] == (3.0, 90)
    findings = findings_of(MajorityVote().fit(crowd[0]), crowd[0])
    assert draw_dots(findings["voters"], [])["measure"] == "agreement"
    assert draw_dots(findings_of(MajorityVote().fit(crowd[0]))["voters"], []) is None
    findings = findings_of(divided_model(), divided_crowd())
    rows = draw_dots(findings["voters"], findings["graph"]["families"])["rows"]
    assert sorted(row["voter"] for row in rows) == list(range(12))
    assert sum(row["family"] == 0 for row in rows) == 6
