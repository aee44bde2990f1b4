import json
import re
import warnings

import numpy as np
import pytest

from latent.worlds import plain_crowd, repeating_crowd
from unelisa.aggregators import DawidSkene, LatentIsing
from unelisa.errors import UnelisaWarning
from unelisa.report.findings import collect_findings
from unelisa.report.page import render_page
from unelisa.report.structure import describe_structure
from unelisa.votes import Votes


def fit(values, y=None):
    votes = Votes.of(values, coding="pm1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnelisaWarning)
        return LatentIsing(random_state=0).fit(votes, y), votes


def test_the_candidates_and_their_criterion_are_told():
    model, votes = fit(repeating_crowd(0)[0])
    findings = collect_findings(model, votes)
    told = json.loads(json.dumps(findings["structure"], allow_nan=False))
    assert told["reading"] == "consensus"
    assert [row["structure"] for row in told["rows"] if row["kept"]] == [
        "discount: voters who repeat each other count less; those who say nearly the same count "
        "once"
    ]
    assert told["rows"][0]["gain"] == 0
    page = render_page(findings)
    assert "How the votes were read" in page
    assert "those who say nearly the same count once" in page


def test_two_readings_are_a_caution():
    model, votes = fit(repeating_crowd(0)[0])
    findings = collect_findings(model, votes)
    assert findings["structure"]["two_readings"]
    assert any("two readings" in warning for warning in findings["warnings"])
    assert "The votes allow two readings" in render_page(findings)
    model, votes = fit(plain_crowd(0)[0])
    assert not any(
        "two readings" in warning for warning in collect_findings(model, votes)["warnings"]
    )


def test_the_models_own_interval_of_the_prevalence_is_shown():
    model, votes = fit(plain_crowd(0)[0])
    for shown in (votes, None):
        found = collect_findings(model, shown)["prevalence"]
        assert (found["low"], found["high"]) == model.prevalence_interval_


def test_starts_of_a_graph_are_told_in_words_and_tenths(crowd):
    votes, _ = crowd
    model = LatentIsing(random_state=0).fit(votes)
    told = describe_structure(model)
    assert told["reading"] == "edges"
    assert all(np.isfinite(row["gain"]) for row in told["rows"])
    assert all(row["structure"].startswith("edges: the search began") for row in told["rows"])
    page = render_page(collect_findings(model, votes))
    assert "hub of their graph" in page
    table = page.split('class="structures')[1].split("</table>")[0]
    assert re.findall(r'data-what="Gain" class="n">([^<]*)<', table)
    assert not re.search(r"\d\.\d\d", table.split("<tbody>")[1].replace("cut at 0.03", ""))


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_a_method_that_chooses_nothing_tells_nothing(crowd):
    votes, _ = crowd
    model = DawidSkene(random_state=0).fit(votes)
    assert describe_structure(model) is None
    assert "How the votes were read" not in render_page(collect_findings(model, votes))
