import re

import numpy as np
import pytest

import unelisa
from report.judging import divided_crowd, divided_model, family_model, findings_of, fit_quietly
from unelisa.aggregators import DawidSkene, LatentIsing, MajorityVote, UnElisa
from unelisa.analysis.confusions import measure_agreement
from unelisa.analysis.judged import estimate_shares
from unelisa.analysis.rate import estimate_rate
from unelisa.errors import VotesWarning
from unelisa.report.answer import MARGIN, advise, list_figures, list_origin
from unelisa.report.page import render_report
from unelisa.votes import Votes
from unelisa.votes.blocks import WholeTable


def test_the_answer_is_in_the_users_words_with_its_origin(crowd):
    votes, _ = crowd
    named = Votes.of_values(votes.values, votes.items, votes.voters, ("control", "<case>"))
    findings = findings_of(UnElisa(random_state=0).fit(named), named)
    many = findings["items"]["positive"]
    start = f"{many:,} of 600 items labeled “<case>”. "
    assert findings["answer"].startswith(start)
    page = render_report(findings)
    assert "estimated share of “&lt;case&gt;”" in page
    assert "positive" not in page[page.index("<main>") : page.index("</main>")].lower()
    table = np.array(["cat", "cat", "owl", "dog"], dtype=object).repeat(3).reshape(4, 3)
    votes = Votes.of(table)
    answer = findings_of(MajorityVote().fit(votes), votes)["answer"]
    assert answer.startswith("4 items labeled in 3 classes, most often “cat” (2). 3 of 3 voters")


def test_there_is_one_rate_or_a_reason_why_not(crowd):
    model, votes = family_model()
    rate = estimate_rate(model, votes, level=0.9).iloc[1]
    found = findings_of(model, votes)["prevalence"]
    assert found == pytest.approx({"share": rate.share, "low": rate.low, "high": rate.high})
    assert (rate.low, rate.high) == pytest.approx(model.prevalence_interval_)
    assert rate.share == pytest.approx(model.prevalence_)
    assert findings_of(MajorityVote().fit(votes), votes)["prevalence"] is None
    (no, yes), why = estimate_shares(model, None)  # without items, that of the fit
    assert (yes["low"], yes["high"]) == model.prevalence_interval_
    assert no["share"] == pytest.approx(1 - yes["share"])
    assert no["low"] < no["share"] < no["high"]
    assert why == []
    pair = crowd[0].take_voters([0, 1])
    findings = findings_of(fit_quietly(DawidSkene(), pair), pair)
    assert findings["prevalence"]["low"] is None
    assert sum("fewer than 3 voters vary" in told for told in findings["warnings"]) == 1
    assert "its interval cannot be estimated" in render_report(findings)


def test_where_votes_carry_no_truth_no_accuracy_is_shown_nor_contradicts():
    rng = np.random.default_rng(0)
    votes = Votes.of(rng.choice(np.array([-1, 1], dtype=np.int8), (300, 6)))
    findings = findings_of(fit_quietly(LatentIsing(), votes), votes)
    assert findings["expected_accuracy"] == {"share": None, "low": None, "high": None}
    assert not any("informative" in figure["what"] for figure in list_figures(findings))
    assert "informative" not in findings["answer"]
    assert [figure["value"] for figure in list_figures(findings)] == [
        "cannot be estimated",
        "0 of 6",
    ]
    page = render_report(findings)
    assert page.index("These labels cannot be relied on") < page.index('<dl class="figures">')
    assert "s estimate, which cannot be relied on, " in page
    assert "nats" not in re.sub("<details>.*?</details>", "", page, flags=re.DOTALL)
    # two readings: the model has an expected accuracy, of labels that may be the wrong ones
    findings = findings_of(divided_model(), divided_crowd())
    assert findings["expected_accuracy"]["share"] is not None
    told = list_figures(findings)
    assert [figure["value"] for figure in told] == ["cannot be estimated", "12 of 12"]
    assert "%" not in "".join(figure["value"] for figure in told)


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_a_reliable_fit_is_not_accused_nor_an_even_consensus():
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], 800)[:, None]
    votes = Votes.of(np.where(rng.random((800, 9)) < 0.93, truth, -truth).astype(np.int8))
    model = LatentIsing().fit(votes, dict(enumerate(truth[:200, 0].tolist())))
    assert model.reliable_
    findings = findings_of(model, votes)
    assert findings["warnings"] == []
    page = render_report(findings)
    assert "Nothing in the votes speaks against these labels." in page
    assert all(check in page for check in findings["checks"])
    warned = render_report({**findings, "warnings": ["a <note>"]})
    assert "a &lt;note&gt;" in warned
    assert "Nothing in the votes" not in warned
    rng = np.random.default_rng(3)
    truth = rng.choice(np.array([-1, 1], dtype=np.int8), (900, 1))
    votes = Votes.of(np.where(rng.random((900, 8)) < 0.8, truth, -truth), coding="pm1")
    model = LatentIsing().fit(votes)
    assert len(model.experts_) < 3
    findings = findings_of(model, votes)
    assert findings["crowd"]["counted"] == 8
    assert findings["warnings"] == []


def test_the_figures_on_top_are_in_the_users_words_also_of_a_consensus(crowd):
    def list_words(model):
        return [one["what"] for one in list_figures(findings_of(model, votes))]

    votes, sure = crowd[0], "of the items decided: a label with probability above 95%"
    fitted = UnElisa(random_state=0).fit(votes)
    assert list_words(fitted) == ["estimated share of “1”", "experts", sure]
    assert list_figures(findings_of(fitted, votes))[0]["more"].startswith("90% interval ")
    assert list_words(MajorityVote().fit(votes)) == ["voters that count", "items tied"]
    # a graph models the experts only: the others may repeat each other
    shown = list_words(fit_quietly(LatentIsing("edges"), votes))
    assert "experts" in shown
    assert "independent voters" not in shown
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


def test_the_origin_names_file_date_version_method_and_seed(crowd):
    findings = findings_of(UnElisa(random_state=3).fit(crowd[0]))
    file, date, *rest = list_origin(findings, "votes\x00.csv")
    assert file == "votes\ufffd.csv"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", date)
    assert rest == [f"unelisa {unelisa.__version__}", "unelisa", "seed 3"]


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
    "drawn_above": None,
    "looks": "any",
}


def test_a_certificate_opens_the_page(crowd):
    model, votes = family_model()
    tile = list_figures({**findings_of(model, votes), "certificate": CERTIFICATE})[0]
    assert tile["what"] == "expected accuracy of the labels by the votes alone, without the answers"
    findings = findings_of(UnElisa(random_state=0).fit(crowd[0]), crowd[0])
    page = render_report({**findings, "certificate": CERTIFICATE})
    assert page.index(">Guaranteed</h2>") < page.index('<p class="answer">')
    for words in (
        "<p>With 95% confidence, at most 5% wrong labels among the 412 certified labels.</p>",
        "412 of 600 items certified, 120 with a gold label, 68 need a look.",
        "<li>120 answers on items drawn at random from all items; 3 of",
        "Certified are the labels that unelisa certify wrote",
    ):
        assert words in page
    drawn = {
        **CERTIFICATE,
        "n_certified": 0,
        "drawn_above": 0.9,
        "looks": "once",
        "n_unanswered": 4,
    }
    nothing = render_report({**findings, "certificate": drawn})
    assert ">No guarantee</h2>" in nothing
    doubted, guess = (
        findings_of(divided_model(), divided_crowd()),
        "labels cannot be relied on</h2>",
    )
    assert f"<h2>These {guess}" in render_report({**doubted, "certificate": drawn})
    guaranteed = render_report({**doubted, "certificate": CERTIFICATE})
    assert f"<h2>Beyond the guarantee, these {guess}" in guaranteed
    assert "from the items whose label has a probability of at least 90.0%; 3" in nothing
    assert "labels were wrong, 4 without an answer count as wrong." in nothing
    assert "The number of answers was to be fixed beforehand." in nothing
    assert 'id="certificate"' not in render_report(findings)


def _told(model, votes):
    return " ".join(findings_of(model.fit(votes), votes)["warnings"])


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_votes_of_chance_and_voters_who_never_vary_are_called_so(crowd):
    rng = np.random.default_rng(1)
    votes = Votes.of(rng.choice(np.array([-1, 1], dtype=np.int8), (300, 8)))
    assert "cannot be relied on" in _told(DawidSkene(random_state=0), votes)
    assert "agree no more than independent voters" in _told(UnElisa(random_state=0), votes)
    values = crowd[0].values.copy(order="F")
    values[:, 5] = 1
    votes = Votes.of(values)
    told = _told(UnElisa(random_state=0), votes)
    assert "1 constant voter (always the same vote), removed: v5." in told
    values[:300, 5] = 0  # silence on some items may tell something
    votes = Votes.of(values, coding="pm1")
    assert "same vote), little information: v5." in _told(MajorityVote(), votes)


class _TwoExperts(UnElisa):
    cautions_ = ("v1 says yes wherever v2 does", "the votes are few")

    @property
    def experts_(self):
        return np.array([0, 1])


def test_two_experts_are_too_few_and_a_voters_name_keeps_its_first_letter(crowd):
    told = _told(_TwoExperts(random_state=0), crowd[0])
    assert "Only 2 experts were found" in told
    assert "v1 says yes wherever v2 does. The votes are few." in told


def _naive(values, weights):
    """The same sum over items and pairs, written out."""
    f = values.astype(float)
    voted = f != 0
    means = f.sum(axis=0) / np.maximum(voted.sum(axis=0), 1)
    g, v = np.where(voted, f - means, 0.0), 1 - means**2
    total = variance = 0.0
    for i in range(f.shape[0]):
        for s in range(f.shape[1]):
            for t in range(s):
                total += 2 * weights[s] * weights[t] * g[i, s] * g[i, t]
                both = voted[i, s] and voted[i, t]
                variance += 4 * both * (weights[s] * weights[t]) ** 2 * v[s] * v[t]
    return total / np.sqrt(variance)


def test_agreement_equals_its_slow_twin_and_shows_a_crowd_that_knows(crowd):
    rng = np.random.default_rng(0)
    values = rng.choice(np.array([-1, 0, 1, 1], dtype=np.int8), (40, 5))
    weights = rng.normal(size=5)
    found, _ = measure_agreement(WholeTable(values), weights)
    assert found == pytest.approx(_naive(values, weights))
    assert measure_agreement(WholeTable(np.ones((5, 3), dtype=np.int8)), np.ones(3))[0] == 0
    found, noise = measure_agreement(crowd[0].blocks, np.array([1, 1, 1, 1, 1, 0, 0, -1.0, -1]))
    assert found > 3 * noise > noise + MARGIN
    assert _told(DawidSkene(random_state=0), crowd[0].take_voters(range(7))) == ""


@pytest.mark.parametrize(("n", "p"), [(60, 10), (400, 40)])
def test_even_the_best_weights_on_noise_are_chance(n, p):
    caught = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        values = rng.choice(np.array([-1, 1], dtype=np.int8), (n, p))
        best = np.linalg.eigh(np.cov(values, rowvar=False))[1][:, -1]
        found, noise = measure_agreement(WholeTable(values), best)
        caught.append(found < noise + MARGIN)
    assert np.mean(caught) >= 0.9


def test_every_reason_is_a_line_of_its_own_with_all_its_voters():
    model, votes = divided_model(), divided_crowd()
    told = findings_of(model, votes)["warnings"]
    assert not model.reliable_
    lines = [line.lower() for line in told]
    assert lines[-len(model.cautions_) :] == [f"{one}.".lower() for one in model.cautions_]
    parts = [model.reliability_reason_.count(one) for one in model.cautions_]
    assert sum(parts) + len(told) - len(model.cautions_) == len(parts) + len(told[: -len(parts)])
    assert sum("two readings" in line for line in told) == 1
    page = render_report(findings_of(model, votes))
    assert "These labels cannot be relied on" in page
    assert page.count("The votes allow two readings: ") == 1
    votes = Votes.of(np.column_stack([[[1, 1], [-1, -1]], np.zeros((2, 30))]), coding="pm1")
    with pytest.warns(VotesWarning, match="never voted"):
        model = MajorityVote().fit(votes)
    findings = findings_of(model, votes)
    told = next(one for one in findings["warnings"] if "never voted" in one)
    assert told.endswith("v20, v21 and 10 more.")
    assert len(told.voters) == 30
    page = render_report(findings)
    assert "<summary>Show all 30</summary>" in page
    assert page.index("<bdi>v31</bdi></details>") < page.index('id="voters"')


def test_ties_go_to_the_side_with_more_votes():
    no = [[1, -1], [-1, -1], [-1, -1], [1, 1]]
    for side, label in ((1, "-1"), (-1, "1")):
        told = _told(MajorityVote(), Votes.of(side * np.array(no), coding="pm1"))
        assert f"1 item tied, labeled “{label}”." in told
    votes = Votes.of([["a", "b"], ["c", "c"], ["b", None], ["a", "c"]])
    told = findings_of(MajorityVote().fit(votes), votes)["warnings"]
    assert "2 items tied, labeled with the most frequent of the tied classes." in told
    assert not any("positive" in one or "two classes" in one for one in told)


@pytest.mark.parametrize(
    ("found", "saved", "said"),
    [
        ({"reliable": False, "open_votes": 9}, "m.npz", "label some items by hand"),
        ({"open_votes": 0}, "m.npz", "every voter has voted on every item; unelisa certify"),
        ({"open_votes": 9, "next_votes": {"n": 0}}, "m.npz", "no single further vote is"),
        ({"open_votes": 9, "next_votes": {"n": 3}}, "m.npz", "unelisa suggest m.npz VOTES"),
        ({"open_votes": 9}, "", "--save model.npz keeps the model, for unelisa predict and"),
        ({"open_votes": None}, "m.npz", "unelisa predict m.npz VOTES"),
        ({"open_votes": None}, "", "--save model.npz keeps the model, for unelisa predict"),
    ],
)
def test_what_to_do_next_follows_from_what_was_found(found, saved, said):
    """The terminal named suggest where the page beside it had nothing worth buying."""
    assert advise({"reliable": True, **found}, saved).startswith(said)
