import json
import re
import warnings

import numpy as np
import pytest

from report.judging import divided_crowd, divided_model, family_model, findings_of
from unelisa.aggregators import DawidSkene, LatentIsing, MajorityVote
from unelisa.errors import UnelisaWarning
from unelisa.report.page import render_report
from unelisa.report.readings import describe_structure, explain_structure, list_readings
from unelisa.report.voters import rank_voters


def test_the_candidates_and_their_criterion_are_told():
    model, votes = family_model()
    findings = findings_of(model, votes)
    told = json.loads(json.dumps(findings["structure"], allow_nan=False))
    assert told["reading"] == "consensus"
    kept = [row for row in told["rows"] if row["kept"]]
    assert [row["structure"] for row in kept] == [explain_structure(model.readings_.structure[0])]
    assert kept[0]["structure"] == "families: voters who repeat each other count as one"
    assert kept[0]["branches"] == model.readings_.branches[0]
    assert {row["gain"] for row in told["rows"] if row["structure"].startswith("plain")} == {0}
    page = render_report(findings)
    assert "Reading of the votes" in page
    assert "voters who repeat each other count as one" in page


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


@pytest.mark.parametrize(
    "name", ["plain", "families, ease", "tilt, ease", "plain, silence filled in"]
)
def test_every_part_of_a_structure_is_explained(name):
    told = explain_structure(name)
    assert told.startswith(f"{name}: ")
    assert told.count(";") == name.count(",")


def test_two_readings_stand_side_by_side():
    model, votes = divided_model(), divided_crowd()
    findings = findings_of(model, votes)
    taken, other = findings["readings"]
    assert json.loads(json.dumps(findings["readings"], allow_nan=False)) == findings["readings"]
    changed = model.read(1).predict(votes) != model.predict(votes)
    assert (taken["differ"], other["differ"]) == (0, changed.sum())
    for found, row in zip((taken, other), model.readings_.itertuples(), strict=True):
        assert found["share_yes"] == row.share_yes
        assert found["branches"] == row.branches
        assert found["evidence"] == row.evidence
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


def test_regressions_on_gold_labels_are_listed_beside_the_structures():
    votes = divided_crowd()
    gold = {votes.items[i]: ("yes" if votes.values[i, 0] > 0 else "no") for i in range(60)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnelisaWarning)
        model = LatentIsing().fit(votes, gold)
    findings = findings_of(model, votes)
    rows = findings["structure"]["rows"]
    assert {type(row["branches"]) for row in rows} == {int, type(None)}
    weights = [row["weight"] for row in rows if row["weight"] is not None]
    assert sum(weights) == pytest.approx(1)
    assert "Gold log score: " in render_report(findings)
