import json
from typing import get_args

import pytest

from report.judging import divided_crowd, divided_model, family_model, findings_of, fit_quietly
from unelisa.aggregators import DawidSkene, LatentIsing, MajorityVote
from unelisa.latent import Structure
from unelisa.report.findings import describe_structure, explain_structure, list_readings
from unelisa.report.page import render_report
from unelisa.report.voters import rank_voters


def test_the_reading_is_told_in_words():
    model, votes = family_model()
    findings = findings_of(model, votes)
    told = json.loads(json.dumps(findings["structure"], allow_nan=False))
    assert (told["reading"], told["asked_for"], told["two_readings"]) == ("consensus", False, False)
    assert told["coherence"] == model.coherence_
    page = render_report(findings)
    assert "Method, settings and versions" in page
    assert told["meaning"] in page


def test_a_graph_says_so(crowd):
    votes, _ = crowd
    model = fit_quietly(LatentIsing(), votes)
    assert describe_structure(model)["reading"] == "edges"
    assert "do not share one consensus" in render_report(findings_of(model, votes))
    asked = fit_quietly(LatentIsing("edges"), votes)
    assert "as requested: the truth is the hub" in render_report(findings_of(asked, votes))


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_a_method_that_chooses_nothing_tells_nothing(crowd):
    votes, _ = crowd
    model = DawidSkene(random_state=0).fit(votes)
    assert describe_structure(model) is None
    assert "Reading of the votes" not in render_report(findings_of(model, votes))


@pytest.mark.parametrize("name", get_args(Structure))
def test_every_structure_is_explained(name):
    assert explain_structure(name) != name


def test_two_readings_stand_side_by_side():
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


def test_everybody_stands_somewhere_in_every_reading():
    model, votes = divided_model(), divided_crowd()
    findings = findings_of(model, votes)
    names = [voter["voter"] for voter in findings["voters"]]
    for k, one in enumerate(findings["readings"]):
        parts = [one["alone"], one["contrarians"], one["uninformative"], *one["families"]]
        assert sorted(row for part in parts for row in part) == list(range(12))
        families = [{names[row] for row in kin} for kin in one["families"]]
        assert families == [set(kin) for kin in model.read(k).families_]
    first, second = (one["families"] for one in findings["readings"])
    assert first != second


def test_the_other_reading_leads_back():
    model, votes = divided_model().read(1), divided_crowd()
    taken, other = findings_of(model, votes)["readings"]
    there, here = findings_of(divided_model(), votes)["readings"]
    assert (taken["share_yes"], other["share_yes"]) == (here["share_yes"], there["share_yes"])
    assert other["differ"] == here["differ"]


def test_one_reading_needs_no_comparison(crowd):
    model, votes = family_model()
    assert findings_of(model, votes)["readings"] == []
    plain = MajorityVote().fit(crowd[0])
    assert list_readings(plain, rank_voters(plain), None) == []


def test_without_votes_nobody_counts_labels():
    model = divided_model()
    assert {one["differ"] for one in list_readings(model, rank_voters(model), None)} == {None}
