import json
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from scipy.special import expit

import unelisa as ue
from analysis.test_judged import judged, judged_classes
from report.judging import (
    divided_crowd,
    divided_model,
    family_model,
    findings_of,
    fit_quietly,
    page_of,
)
from unelisa.aggregators import DawidSkene, LatentIsing, MajorityVote, UnElisa
from unelisa.analysis import rate as prevalence
from unelisa.analysis.judged import Judged
from unelisa.analysis.rate import find_offset
from unelisa.latent import Structure
from unelisa.report import findings as rooms
from unelisa.report.findings import (
    MOST_LISTED,
    describe_next,
    describe_structure,
    explain_structure,
    list_items,
    list_readings,
)
from unelisa.report.page import render_report, write_report
from unelisa.report.voters import rank_voters
from unelisa.votes import Votes


def _votes(*rows):
    return Votes.of(np.array(rows, dtype=np.int8), coding="pm1")


def test_voters_come_heaviest_first_also_without_votes(crowd):
    votes, _ = crowd
    named = Votes.of_values(
        votes.values, np.array([f"patient{i}" for i in range(600)]), votes.voters
    )
    findings = findings_of(UnElisa(random_state=0).fit(named), named)
    weights = [abs(voter["weight"]) for voter in findings["voters"]]
    assert weights == sorted(weights, reverse=True)
    assert "patient" not in json.dumps(findings)
    findings = findings_of(MajorityVote().fit(crowd[0]))
    assert findings["items"] is None
    assert findings["histogram"] is None
    assert findings["uncertain"] is None
    assert findings["prevalence"] is None
    assert findings["answer"] == "9 of 9 voters count."


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_warnings_are_told_in_words_also_of_a_bare_majority():
    votes = _votes([1, 1, 0], [1, -1, 0], [0, 1, 0], [1, 1, 0])
    told = " ".join(findings_of(MajorityVote().fit(votes), votes)["warnings"])
    assert "1 voter never voted" in told
    assert "1 constant voter" in told
    assert "Every item got the same label" in told
    assert "1 item tied" in told
    votes = _votes([1, 1, -1], [-1, -1, 1])
    findings = findings_of(_Tied().fit(votes), votes)
    assert any("bare majority, 2 voters against 1" in told for told in findings["warnings"])
    assert findings["answer"].endswith("including 1 contrarian (votes reversed).")
    assert findings["fit"]["settings"]["callback"] == "builtin_function_or_method"
    assert findings["method"] == "_Tied"  # which is not registered


class _Tied(MajorityVote):
    orient = "majority"

    def get_params(self, deep=True):
        return {"orient": "majority", "callback": print}

    def _fit(self, votes):
        self.weights_ = np.array([1.0, 1.0, -1.0])


def test_the_graph_is_told_in_order_whatever_the_new_votes(crowd):
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


def test_the_most_uncertain_come_first_and_unknown_ease_is_not_hard():
    found = list_items(judged([], [0.1, 0.6, 0.4, 0.9]))["uncertain"]
    assert [row["item"] for row in found] == ["1", "2", "0", "3"]
    assert (found[1]["label"], found[1]["probability"]) == ("no", pytest.approx(0.4))
    assert found[0]["label"] == "yes"
    assert list_items(judged([-3, 0, 0, 0]))["uncertain"][0]["probability"] is None
    assert len(list_items(judged(np.arange(MOST_LISTED + 9)))["uncertain"]) == MOST_LISTED
    known = judged([1.0, -2.0, 0.5])
    eased = replace(known, ease=np.array([0.3, np.nan, 1.2]))
    assert [(row["item"], row["ease"]) for row in list_items(eased)["hard"]] == [
        ("0", 0.3),
        ("2", 1.2),
    ]
    assert [row["ease"] for row in list_items(eased)["uncertain"]] == [1.2, 0.3, None]
    assert list_items(known)["hard"] == []


def test_labels_of_three_classes_and_against_the_majority_are_listed():
    given = np.array([[0.97, 0.02, 0.01], [0.3, 0.3, 0.4], [0.05, 0.9, 0.05]])
    rows = list_items(judged_classes(np.log(given), has_chances=True))["uncertain"]
    assert [row["item"] for row in rows] == ["1", "2", "0"]
    assert (rows[0]["label"], rows[0]["probability"]) == ("c", pytest.approx(0.4))
    assert [row["said"] for row in rows] == ["a 2: v0, v1", "", "a 2: v0, v1"]
    values = np.ones((3, 6), dtype=np.int8)
    values[:, 0] = -1
    found = list_items(judged([-1, 2, -3], values=values))["differing"]
    assert [row["item"] for row in found] == ["2", "0"]
    assert found[0]["said"] == "yes 5: v1, v2, v3, v4\u00a0…; no 1: v0"


@pytest.fixture(scope="module")
def asked():
    votes = ue.simulate_classes(3, 6, 150, missing=0.4, random_state=0).votes
    names = np.array([f"case <{i}>" for i in range(150)], dtype=object)
    votes = ue.Votes.of_values(votes.values, names, votes.voters, votes.classes)
    model = ue.DawidSkene().fit(votes)
    return model, votes, Judged.of(model, votes)


def test_the_section_says_what_suggest_votes_says(asked):
    model, votes, judged = asked
    found = describe_next(model, judged)["next_votes"]
    rows = ue.suggest_votes(model, votes, n=rooms.SUGGESTED)
    assert found["n"] == len(rows) == sum(row["votes"] for row in found["voters"])
    assert found["gain"] == pytest.approx(rows["gain"].sum())
    assert found["stop"] == rows.attrs["stop"]
    assert found["rows"] == []


def test_items_are_named_only_where_they_may_be_and_other_methods_have_no_section(
    asked, tmp_path, monkeypatch
):
    model, votes, judged = asked
    findings = rooms.collect_findings(model, judged)
    page = render_report({**findings, **describe_next(model, judged)}, judged)
    assert "What to ask next" in page
    assert "case &lt;" not in page
    write_report(model, votes, tmp_path / "page.html", show_items=True)
    shown = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "questions, with the votes so far." in shown
    assert "case &lt;" in shown
    assert "case <" not in shown
    assert describe_next(model, None) == {}
    majority = ue.MajorityVote().fit(votes)
    assert describe_next(majority, Judged.of(majority, votes)) == {}
    assert "What to ask next" not in render_report(rooms.collect_findings(model, judged), judged)
    monkeypatch.setattr(rooms, "MOST_SEARCHED", 10)
    assert describe_next(model, judged) == {}


def test_the_reading_and_its_accuracy_are_told_in_words():
    model, votes = family_model()
    findings = findings_of(model, votes)
    told = json.loads(json.dumps(findings["structure"], allow_nan=False))
    assert (told["reading"], told["asked_for"], told["two_readings"]) == ("consensus", False, False)
    assert told["coherence"] == model.coherence_
    page = render_report(findings)
    assert "Method, settings and versions" in page
    assert told["meaning"] in page
    expected = findings_of(model, votes)["expected_accuracy"]
    assert expected["share"] == model.expected_accuracy_
    assert (expected["low"], expected["high"]) == model.expected_accuracy_interval_
    bare = findings_of(MajorityVote().fit(votes), votes)
    assert bare["expected_accuracy"] is None
    assert bare["crowd"]["effective"] is None
    assert bare["crowd"]["families"] == []


def test_a_graph_says_so_and_knows_no_ease(crowd):
    votes, _ = crowd
    model = fit_quietly(LatentIsing(), votes)
    assert describe_structure(model)["reading"] == "edges"
    assert "do not share one consensus" in render_report(findings_of(model, votes))
    asked = fit_quietly(LatentIsing("edges"), votes)
    assert "as requested: the truth is the hub" in render_report(findings_of(asked, votes))
    model = LatentIsing(random_state=0).fit(crowd[0])
    findings = findings_of(model, crowd[0], show_items=True)
    assert findings["ease"] is None
    assert findings["hard"] == []
    assert findings["crowd"]["selects"]
    assert "voters are experts" in findings["answer"]


@pytest.mark.parametrize("name", get_args(Structure))
def test_every_structure_is_explained(name):
    assert explain_structure(name) != name


def test_two_readings_stand_side_by_side_with_everybody_in_them():
    model, votes = divided_model(), divided_crowd()
    findings = findings_of(model, votes)
    taken, other = findings["readings"]
    assert json.loads(json.dumps(findings["readings"], allow_nan=False)) == findings["readings"]
    changed = model.read(1).predict(votes) != model.predict(votes)
    assert (taken["differ"], other["differ"]) == (0, changed.sum())
    for found, row in zip((taken, other), model.readings_.itertuples(), strict=True):
        assert found["share_yes"] == row.share_yes
        assert found["clusters"] == row.clusters
        assert found["structure"] == explain_structure(row.structure) != row.structure
    page = render_report(findings)
    assert "2 readings of the same votes" in page
    assert f"{other['differ']} of 900 items" in page
    names = [voter["voter"] for voter in findings["voters"]]
    for k, one in enumerate(findings["readings"]):
        parts = [one["alone"], one["contrarians"], one["uninformative"], *one["families"]]
        assert sorted(row for part in parts for row in part) == list(range(12))
        families = [{names[row] for row in kin} for kin in one["families"]]
        assert families == [set(kin) for kin in model.read(k).families_]
    first, second = (one["families"] for one in findings["readings"])
    assert first != second


def test_the_other_reading_leads_back_and_one_needs_no_comparison(crowd):
    model, votes = divided_model().read(1), divided_crowd()
    taken, other = findings_of(model, votes)["readings"]
    there, here = findings_of(divided_model(), votes)["readings"]
    assert (taken["share_yes"], other["share_yes"]) == (here["share_yes"], there["share_yes"])
    assert other["differ"] == here["differ"]
    model, votes = family_model()
    assert findings_of(model, votes)["readings"] == []
    divided = divided_model()  # without votes nobody counts labels
    assert {x["differ"] for x in list_readings(divided, rank_voters(divided), None)} == {None}
    plain = MajorityVote().fit(crowd[0])
    assert list_readings(plain, rank_voters(plain), None) == []
    assert describe_structure(plain) is None


def test_labels_are_those_of_a_fit_with_that_prevalence():
    model, votes = family_model()
    found = findings_of(model, votes)["by_prevalence"]
    assert json.loads(json.dumps(found)) == found
    rows = {row["prevalence"]: row for row in found["rows"]}
    for stated in (0.05, 0.3):
        again = fit_quietly(LatentIsing(), votes, prevalence=stated)
        labeled = (again.predict(votes) == 1).sum()
        assert rows[stated]["labeled"] == pytest.approx(labeled, abs=2)
        assert rows[stated]["share"] == rows[stated]["labeled"] / 1500
    shares = [row["share"] for row in found["rows"]]
    assert shares == sorted(shares)
    table = render_report(findings_of(model, votes)).split("<summary>As a table</summary>")[1]
    for stated in (0.01, 0.05, 0.5):
        labeled = f'{stated:.0%}</td><td class="n">{rows[stated]["labeled"]:,}</td>'
        assert labeled in table.split("</table>")[0]
    nearest = min(rows, key=lambda x: abs(x - model.prevalence_))
    assert rows[nearest]["share"] == pytest.approx((model.predict(votes) == 1).mean(), abs=0.03)


def test_the_chart_reaches_as_far_as_the_estimate_may(monkeypatch):
    model, votes = family_model()
    high = model.prevalence_interval_[1]
    found = findings_of(model, votes)["by_prevalence"]
    assert found["end"] == (1.0 if high > 0.5 else 0.5)
    rare = fit_quietly(LatentIsing(), votes, prevalence=0.1)
    found = findings_of(rare, votes)["by_prevalence"]
    assert (found["end"], found["rows"][0]["prevalence"]) == (0.5, 0.01)
    assert found["rows"][-1]["prevalence"] == 0.5
    monkeypatch.setattr(prevalence, "ENOUGH", 300)  # of many items some are enough
    some = findings_of(rare, votes)["by_prevalence"]["rows"]
    for one, other in zip(some, found["rows"], strict=True):
        assert one["share"] == pytest.approx(other["share"], abs=0.02)


def test_gold_labels_stay_and_only_methods_with_a_prevalence_have_the_chart(crowd):
    odds = np.array([-1000.0, -1000.0, 0.0, 1.0, 1000.0])
    assert find_offset(odds, 0.1) is None  # a fifth is positive for certain
    assert find_offset(odds, 0.7) is None
    offset = find_offset(odds, 0.5)
    assert expit(odds + offset).mean() == pytest.approx(0.5)
    votes, _ = crowd
    model = DawidSkene(random_state=0).fit(votes)
    assert findings_of(model, votes)["by_prevalence"] is None
    assert 'id="by-prevalence"' not in page_of(model, votes)
    fitted, known = family_model()
    assert findings_of(fitted)["by_prevalence"] is None
    page = page_of(fitted, known)
    assert page.count('id="by-prevalence"') == 1
