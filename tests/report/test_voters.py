import numpy as np
import pytest

from report.judging import family_model
from unelisa.aggregators import DawidSkene, LatentIsing, MajorityVote, UnElisa
from unelisa.report.judged import Judged
from unelisa.report.voters import (
    NAMED_LINKS,
    Network,
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


def test_rates_judged_by_the_truth_are_the_voters_own(crowd):
    votes, truth = crowd
    rates = estimate_rates(Judged(votes, (-1, 1), truth.astype(float), has_chances=False))
    yes = votes.values[truth > 0] > 0
    no = votes.values[truth < 0] < 0
    assert np.allclose(rates["sensitivity"], yes.mean(axis=0))
    assert np.allclose(rates["specificity"], no.mean(axis=0))
    assert np.allclose(rates["agreement"], (votes.values == truth[:, None]).mean(axis=0))
    assert np.allclose(rates["lean"], (votes.values > 0).mean(axis=0) - (truth > 0).mean())


def test_a_side_that_was_never_met_has_no_rate():
    votes = Votes.of([[1, 0], [1, 1]], coding="pm1")
    rates = estimate_rates(Judged(votes, (-1, 1), np.ones(2), has_chances=False))
    assert np.isnan(rates["specificity"]).all()
    assert np.isnan(rates["lean"]).all()  # who says one thing only does not lean
    assert rates["agreement"].tolist() == [1, 1]


def test_votes_of_more_classes_agree_with_the_labels_or_not():
    votes = Votes.of([["a", "a", "b"], ["b", "b", None], ["c", "a", "c"]])
    rates = estimate_rates(Judged.of(MajorityVote().fit(votes), votes))
    assert rates["agreement"] == pytest.approx([1, 2 / 3, 1 / 2])


def test_a_models_own_rates_come_first(crowd):
    model = DawidSkene(random_state=0).fit(crowd[0])
    rows = _rows(model, {"sensitivity": np.zeros(9), "stability": np.ones(9)})
    assert {row["sensitivity"] for row in rows} == set(model.sensitivity_)
    assert {row["stability"] for row in rows} == {1.0}


def test_links_name_the_rows_of_the_strongest_neighbors(crowd):
    model = UnElisa(random_state=0).fit(crowd[0])
    ranking, rows = rank_voters(model), _rows(model)
    for s, row in zip(ranking, rows, strict=True):
        assert row["links"] == model.graph_.degrees[s]
        assert len(row["depends_on"]) == min(row["links"], NAMED_LINKS)
        for link in row["depends_on"]:
            assert model.graph_.weights[s, ranking[link["voter"]]] == link["weight"] != 0


def test_equal_voters_keep_their_order():
    model = MajorityVote().fit([[1, 1, -1], [-1, -1, 1]])
    assert rank_voters(model) == [0, 1, 2]


def test_a_fitted_model_gives_ties_of_experts_and_links_of_all(crowd):
    model = UnElisa(random_state=0).fit(crowd[0])
    network = Network.of_model(model)
    assert np.flatnonzero(network.counted).tolist() == model.experts_.tolist()
    assert (network.weights[~network.counted] == 0).all()
    assert len(network.links) == len(model.graph_.edges)
    sizes = [abs(weight) for _, _, weight in network.links]
    assert sizes == sorted(sizes, reverse=True)


def test_a_method_without_a_graph_has_no_links(crowd):
    assert Network.of_model(MajorityVote().fit(crowd[0])).links == []


def test_neighbors_are_mutual():
    neighbors = Network.of_ising(figure_2_1()).neighbors()
    assert {t for t, _ in neighbors[0]} == {5, 6}
    for s, near in enumerate(neighbors):
        assert all(s in {back for back, _ in neighbors[t]} for t, _ in near)


def test_families_are_those_of_the_model_with_the_heaviest_voter_first():
    model, _ = family_model()
    families = find_families(model)
    names = [[str(model.voter_names_[s]) for s in kin] for kin in families]
    assert [set(kin) for kin in names] == [set(kin) for kin in model.families_]
    heads = set(model.voters_["family"]) - {""}
    assert {kin[0] for kin in names} == heads
    assert find_families(MajorityVote().fit([[1, 1, -1], [-1, -1, 1]])) == []


def test_roles_are_the_verdicts_and_links_within_families_are_not_drawn():
    model, _ = family_model()
    network = Network.of_model(model)
    verdicts = list(model.voters_["verdict"])
    assert network.roles == [word.split(" of ")[0] for word in verdicts]
    assert {"family", "uninformative", "contrarian"} <= set(network.roles)
    assert (network.counted == [word != "uninformative" for word in verdicts]).all()
    assert len(network.links) > 0
    assert network.links_between_families() == []
    apart = network._replace(links=[(0, 21, 1.0), *network.links])
    assert apart.links_between_families() == [(0, 21, 1.0)]


def test_only_a_graph_selects_experts(crowd):
    assert selects_experts(LatentIsing(random_state=0).fit(crowd[0]))
    assert not selects_experts(family_model()[0])
    assert not selects_experts(MajorityVote().fit(crowd[0]))
