import json
import re
import warnings

import numpy as np
import pytest
from scipy.special import expit

from latent.worlds import plain_crowd, repeating_crowd
from report.judging import findings_of
from unelisa.aggregators import DawidSkene, LatentIsing, MajorityVote, UnElisa
from unelisa.errors import UnelisaWarning
from unelisa.report.findings import (
    bound_prevalence,
    describe_structure,
    name_method,
)
from unelisa.report.page import render_report
from unelisa.votes import Votes


def _votes(*rows):
    return Votes.of(np.array(rows, dtype=np.int8), coding="pm1")


def test_items_are_counted():
    votes = _votes([1, 1, 1], [1, -1, 0], [0, 0, 0], [-1, -1, -1])
    items = findings_of(MajorityVote().fit(votes), votes)["items"]
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
    sure = findings_of(model, votes)["items"]["sure"]
    assert sure == (chances.max(axis=1) > 0.95).sum()


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
    found = findings_of(model, crowd[0])["prevalence"]
    assert found["low"] < found["share"] < found["high"]
    others = crowd[0].take_items(np.flatnonzero(crowd[1] > 0))
    assert findings_of(model, others)["prevalence"]["low"] is None


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


def test_known_truth_gives_the_binomial_interval():
    found = bound_prevalence(0.3, np.repeat([0.0, 1.0], [700, 300]))
    reach = 1.96 * np.sqrt(0.3 * 0.7 / 1000)
    assert found["low"] == pytest.approx(0.3 - reach, abs=1e-3)
    assert found["high"] == pytest.approx(0.3 + reach, abs=1e-3)


def test_undecided_items_widen_it():
    sure = bound_prevalence(0.5, np.repeat([0.0, 1.0], 50))
    open_ = bound_prevalence(0.5, np.repeat([0.2, 0.8], 50))
    assert open_["low"] < sure["low"] < sure["high"] < open_["high"]


def test_it_covers_the_share_19_times_in_20():
    rng, covered = np.random.default_rng(0), []
    for _ in range(300):
        truth = rng.random(400) < 0.3
        votes = np.where(rng.random((400, 3)) < 0.8, truth[:, None], ~truth[:, None]).sum(axis=1)
        evidence = (2 * votes - 3) * np.log(0.8 / 0.2)
        share = 0.3
        for _ in range(200):
            share = expit(evidence + np.log(share / (1 - share))).mean()
        found = bound_prevalence(share, expit(evidence + np.log(share / (1 - share))))
        covered.append(found["low"] <= 0.3 <= found["high"])
    assert 0.92 <= np.mean(covered) <= 0.98


@pytest.mark.parametrize("posteriors", [None, np.empty(0), np.full(9, 0.3), np.array([0.9, 0.9])])
def test_without_the_items_of_the_fit_there_is_no_interval(posteriors):
    assert bound_prevalence(0.3, posteriors) == {"share": 0.3, "low": None, "high": None}


def fit(values, y=None):
    votes = Votes.of(values, coding="pm1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnelisaWarning)
        return LatentIsing(random_state=0).fit(votes, y), votes


def test_the_candidates_and_their_criterion_are_told():
    model, votes = fit(repeating_crowd(0)[0])
    findings = findings_of(model, votes)
    told = json.loads(json.dumps(findings["structure"], allow_nan=False))
    assert told["reading"] == "consensus"
    assert [row["structure"] for row in told["rows"] if row["kept"]] == [
        "discount: near-duplicate votes count less; near-duplicate voters count once"
    ]
    assert told["rows"][0]["gain"] == 0
    page = render_report(findings)
    assert "Reading of the votes" in page
    assert "near-duplicate voters count once" in page


def test_two_readings_are_a_caution():
    model, votes = fit(repeating_crowd(0)[0])
    findings = findings_of(model, votes)
    assert findings["structure"]["two_readings"]
    assert any("two readings" in warning for warning in findings["warnings"])
    assert "The votes support two readings" in render_report(findings)
    model, votes = fit(plain_crowd(0)[0])
    assert not any("two readings" in warning for warning in findings_of(model, votes)["warnings"])


def test_the_models_own_interval_of_the_prevalence_is_shown():
    model, votes = fit(plain_crowd(0)[0])
    for shown in (votes, None):
        found = findings_of(model, shown)["prevalence"]
        assert (found["low"], found["high"]) == model.prevalence_interval_


def test_starts_of_a_graph_are_told_in_words_and_tenths(crowd):
    votes, _ = crowd
    model = LatentIsing(random_state=0).fit(votes)
    told = describe_structure(model)
    assert told["reading"] == "edges"
    assert all(np.isfinite(row["gain"]) for row in told["rows"])
    assert all(row["structure"].startswith("edges: search started") for row in told["rows"])
    page = render_report(findings_of(model, votes))
    assert "hub of their graph" in page
    table = page.split('class="structures')[1].split("</table>")[0]
    assert re.findall(r'data-what="Gain" class="n">([^<]*)<', table)
    assert not re.search(r"\d\.\d\d", table.split("<tbody>")[1].replace("clipped at 0.03", ""))


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_a_method_that_chooses_nothing_tells_nothing(crowd):
    votes, _ = crowd
    model = DawidSkene(random_state=0).fit(votes)
    assert describe_structure(model) is None
    assert "Reading of the votes" not in render_report(findings_of(model, votes))
