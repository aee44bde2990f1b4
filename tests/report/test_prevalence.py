import json

import numpy as np
import pytest
from scipy.special import expit

from report.judging import family_model, findings_of, fit_quietly, page_of
from unelisa.aggregators import DawidSkene, LatentIsing
from unelisa.analysis import rate as prevalence
from unelisa.analysis.rate import find_offset
from unelisa.report.page import render_report


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


def test_gold_labels_stay_whatever_is_stated():
    odds = np.array([-1000.0, -1000.0, 0.0, 1.0, 1000.0])
    assert find_offset(odds, 0.1) is None  # a fifth is positive for certain
    assert find_offset(odds, 0.7) is None
    offset = find_offset(odds, 0.5)
    assert expit(odds + offset).mean() == pytest.approx(0.5)


def test_only_methods_that_take_a_prevalence_have_the_chart(crowd):
    votes, _ = crowd
    model = DawidSkene(random_state=0).fit(votes)
    assert findings_of(model, votes)["by_prevalence"] is None
    assert 'id="by-prevalence"' not in page_of(model, votes)
    fitted, known = family_model()
    assert findings_of(fitted)["by_prevalence"] is None
    page = page_of(fitted, known)
    assert page.count('id="by-prevalence"') == 1


def test_the_table_beside_the_chart_has_its_numbers():
    model, votes = family_model()
    findings = findings_of(model, votes)
    page = render_report(findings)
    table = page[page.index("<summary>As a table</summary>") :]
    table = table[: table.index("</table>")]
    rows = {row["prevalence"]: row for row in findings["by_prevalence"]["rows"]}
    for stated in (0.01, 0.05, 0.5):
        row = rows[stated]
        assert f'{stated:.0%}</td><td class="n">{row["labeled"]:,}</td>' in table
