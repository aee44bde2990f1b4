import re

import numpy as np
import pytest

import unelisa
from report.judging import divided_crowd, divided_model, family_model, findings_of, fit_quietly
from unelisa.aggregators import DawidSkene, LatentIsing, MajorityVote, UnElisa
from unelisa.analysis.judged import estimate_shares
from unelisa.analysis.rate import estimate_rate
from unelisa.report.answer import list_figures, list_origin
from unelisa.report.page import render_report
from unelisa.votes import Votes


def test_the_answer_is_in_the_users_words_and_nothing_is_positive(crowd):
    votes, _ = crowd
    named = Votes.of_values(votes.values, votes.items, votes.voters, ("control", "<case>"))
    findings = findings_of(UnElisa(random_state=0).fit(named), named)
    many = findings["items"]["positive"]
    start = f"{many:,} of 600 items labeled “<case>”. "
    assert findings["answer"].startswith(start)
    page = render_report(findings)
    assert "estimated share of “&lt;case&gt;”" in page
    assert "positive" not in page[page.index("<main>") : page.index("</main>")].lower()


def test_there_is_one_rate_and_it_is_that_of_estimate_rate():
    model, votes = family_model()
    rate = estimate_rate(model, votes, level=0.9).iloc[1]
    found = findings_of(model, votes)["prevalence"]
    assert found == pytest.approx({"share": rate.share, "low": rate.low, "high": rate.high})
    assert (rate.low, rate.high) == pytest.approx(model.prevalence_interval_)
    assert rate.share == pytest.approx(model.prevalence_)
    assert findings_of(MajorityVote().fit(votes), votes)["prevalence"] is None


def test_without_items_the_rate_is_that_of_the_fit():
    model, _ = family_model()
    (no, yes), why = estimate_shares(model, None)
    assert (yes["low"], yes["high"]) == model.prevalence_interval_
    assert no["share"] == pytest.approx(1 - yes["share"])
    assert no["low"] < no["share"] < no["high"]
    assert why == []


def test_it_is_said_why_a_rate_cannot_be_told(crowd):
    pair = crowd[0].take_voters([0, 1])
    findings = findings_of(fit_quietly(DawidSkene(), pair), pair)
    assert findings["prevalence"]["low"] is None
    assert sum("fewer than 3 voters vary" in told for told in findings["warnings"]) == 1
    assert "its interval cannot be estimated" in render_report(findings)


def test_where_votes_carry_no_truth_no_accuracy_is_shown():
    rng = np.random.default_rng(0)
    votes = Votes.of(rng.choice(np.array([-1, 1], dtype=np.int8), (300, 6)))
    findings = findings_of(fit_quietly(LatentIsing(), votes), votes)
    assert findings["expected_accuracy"] == {"share": None, "low": None, "high": None}
    assert [figure["value"] for figure in list_figures(findings)] == [
        "cannot be estimated",
        "0 of 6",
    ]
    page = render_report(findings)
    assert page.index("These labels cannot be relied on") < page.index('<dl class="figures">')
    assert "nats" not in re.sub("<details>.*?</details>", "", page, flags=re.DOTALL)


def test_no_figure_contradicts_the_warning_that_labels_cannot_be_relied_on():
    """Two readings: the model has an expected accuracy, of labels that may be the wrong ones."""
    findings = findings_of(divided_model(), divided_crowd())
    assert findings["expected_accuracy"]["share"] is not None
    told = list_figures(findings)
    assert [figure["value"] for figure in told] == ["cannot be estimated", "12 of 12"]
    assert "%" not in "".join(figure["value"] for figure in told)


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_a_reliable_fit_is_not_accused():
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], 800)[:, None]
    votes = Votes.of(np.where(rng.random((800, 9)) < 0.93, truth, -truth).astype(np.int8))
    model = LatentIsing().fit(votes, dict(enumerate(truth[:200, 0].tolist())))
    assert model.reliable_
    findings = findings_of(model, votes)
    assert findings["warnings"] == []
    assert "Nothing in the votes speaks against these labels." in render_report(findings)


def test_where_nothing_speaks_against_the_labels_it_is_said_what_was_checked(crowd):
    votes, _ = crowd
    findings = findings_of(UnElisa(random_state=0).fit(votes), votes)
    page = render_report({**findings, "warnings": []})
    assert "Nothing in the votes speaks against these labels." in page
    assert all(check in page for check in findings["checks"])
    warned = render_report({**findings, "warnings": ["a <note>"]})
    assert "a &lt;note&gt;" in warned
    assert "Nothing in the votes" not in warned


def test_more_classes_are_counted_by_the_most_frequent():
    table = np.array(["cat", "cat", "owl", "dog"], dtype=object).repeat(3).reshape(4, 3)
    votes = Votes.of(table)
    answer = findings_of(MajorityVote().fit(votes), votes)["answer"]
    assert answer.startswith("4 items labeled in 3 classes, most often “cat” (2). 3 of 3 voters")


def test_the_figures_on_top_are_in_the_users_words(crowd):
    votes, _ = crowd
    figures = list_figures(findings_of(UnElisa(random_state=0).fit(votes), votes))
    assert [figure["what"] for figure in figures] == [
        "estimated share of “1”",
        "experts",
        "of the items decided: a label with probability above 95%",
    ]
    assert figures[0]["more"].startswith("90% interval ")


def test_a_margin_shows_its_ties_instead(crowd):
    votes, _ = crowd
    figures = list_figures(findings_of(MajorityVote().fit(votes), votes))
    assert [figure["what"] for figure in figures] == [
        "voters that count",
        "items tied",
    ]


def test_the_origin_names_file_date_version_method_and_seed(crowd):
    findings = findings_of(UnElisa(random_state=3).fit(crowd[0]))
    file, date, *rest = list_origin(findings, "votes\x00.csv")
    assert file == "votes\ufffd.csv"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", date)
    assert rest == [f"unelisa {unelisa.__version__}", "unelisa", "seed 3"]


def test_a_consensus_tells_its_expected_accuracy_and_effective_voters():
    model, votes = family_model()
    figures = list_figures(findings_of(model, votes))
    assert [figure["what"] for figure in figures] == [
        "expected accuracy of the labels",
        "estimated share of “1”",
        "informative voters",
        "independent voters",
        "of the items decided: a label with probability above 95%",
    ]
    low, high = model.expected_accuracy_interval_
    assert figures[0]["more"] == f"90% interval {low:.1%} to {high:.1%}"
    assert figures[3]["value"] == f"{model.effective_voters_:.1f}"
    assert figures[3]["more"] == "carry as much information as the 22 voters"


def test_of_more_classes_the_most_common_has_its_share_on_top():
    shares = [
        {"label": "cat", "prevalence": 0.3, "low": 0.2, "high": 0.4},
        {"label": "dog", "prevalence": 0.7, "low": None, "high": None},
    ]
    found = {
        "classes": ["cat", "dog", "owl"],
        "reliable": True,
        "prevalence": None,
        "by_class": {"shares": shares},
        "expected_accuracy": None,
        "items": None,
        "crowd": {"voters": 3, "counted": 3, "selects": 0, "consensus": 0, "effective": None},
    }
    assert list_figures(found)[0] == {
        "value": "70.0%",
        "what": "estimated share of “dog”",
        "more": "its interval cannot be estimated",
    }


CERTIFICATE = {
    "guarantee": "with 95% confidence, at most 5% wrong labels among the 412 certified labels",
    "n_items": 600,
    "n_certified": 412,
    "n_gold": 120,
    "n_look": 68,
    "n_drawn": 120,
    "n_wrong": 3,
    "n_unanswered": 0,
    "above": 0.0,
    "looks": "any",
}


def test_a_certificate_opens_the_page(crowd):
    findings = findings_of(UnElisa(random_state=0).fit(crowd[0]), crowd[0])
    page = render_report({**findings, "certificate": CERTIFICATE})
    assert page.index(">Guaranteed</h2>") < page.index('<p class="answer">')
    for words in (
        "<p>With 95% confidence, at most 5% wrong labels among the 412 certified labels.</p>",
        "412 of 600 items certified, 120 with a gold label, 68 need a look.",
        "<li>120 answers on items drawn at random from all items; 3 of",
    ):
        assert words in page
    drawn = {**CERTIFICATE, "n_certified": 0, "above": 0.9, "looks": "once", "n_unanswered": 4}
    nothing = render_report({**findings, "certificate": drawn})
    assert ">No guarantee</h2>" in nothing
    assert "from the items whose label has a probability of at least 90.0%; 3" in nothing
    assert "labels were wrong, 4 without an answer count as wrong." in nothing
    assert "The number of answers was to be fixed beforehand." in nothing
    assert 'id="certificate"' not in render_report(findings)


def test_a_graph_shows_no_number_of_independent_voters(crowd):
    """It models the experts only: the others may repeat each other."""
    model = fit_quietly(LatentIsing("edges"), crowd[0])
    shown = [figure["what"] for figure in list_figures(findings_of(model, crowd[0]))]
    assert "experts" in shown
    assert "independent voters" not in shown
