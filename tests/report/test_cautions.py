import numpy as np
import pytest

from report.judging import divided_crowd, divided_model, findings_of
from unelisa.aggregators import DawidSkene, LatentIsing, MajorityVote, UnElisa
from unelisa.analysis.confusions import measure_agreement
from unelisa.errors import VotesWarning
from unelisa.report.cautions import MARGIN
from unelisa.report.page import render_report
from unelisa.votes import Votes
from unelisa.votes.blocks import WholeTable


def _told(model, votes):
    return " ".join(findings_of(model.fit(votes), votes)["warnings"])


def test_a_sound_crowd_is_told_nothing(crowd):
    assert _told(DawidSkene(random_state=0), crowd[0].take_voters(range(7))) == ""


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_votes_without_a_common_cause_are_called_chance():
    rng = np.random.default_rng(1)
    votes = Votes.of(rng.choice(np.array([-1, 1], dtype=np.int8), (300, 8)))
    assert "cannot be relied on" in _told(DawidSkene(random_state=0), votes)
    assert "agree no more than independent voters" in _told(UnElisa(random_state=0), votes)


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_voters_who_never_vary_are_removed_or_tell_little(crowd):
    values = crowd[0].values.copy(order="F")
    values[:, 5] = 1
    votes = Votes.of(values)
    told = _told(UnElisa(random_state=0), votes)
    assert "1 constant voter (always the same vote), removed: v5." in told
    values[:300, 5] = 0  # silence on some items may tell something
    votes = Votes.of(values, coding="pm1")
    assert "same vote), little information: v5." in _told(MajorityVote(), votes)


class _TwoExperts(UnElisa):
    @property
    def experts_(self):
        return np.array([0, 1])


def test_two_experts_are_too_few(crowd):
    assert "Only 2 experts were found" in _told(_TwoExperts(random_state=0), crowd[0])


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


def test_it_equals_its_slow_twin():
    rng = np.random.default_rng(0)
    values = rng.choice(np.array([-1, 0, 1, 1], dtype=np.int8), (40, 5))
    weights = rng.normal(size=5)
    assert measure_agreement(WholeTable(values), weights)[0] == pytest.approx(
        _naive(values, weights)
    )


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


def test_a_crowd_that_knows_is_no_chance(crowd):
    weights = np.array([1, 1, 1, 1, 1, 0, 0, -1, -1], dtype=float)
    found, noise = measure_agreement(crowd[0].blocks, weights)
    assert found > 3 * noise > noise + MARGIN


def test_voters_who_never_vary_agree_by_chance():
    assert measure_agreement(WholeTable(np.ones((5, 3), dtype=np.int8)), np.ones(3))[0] == 0


def test_every_reason_is_a_line_of_its_own():
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


def test_the_page_names_all_voters_of_a_warning():
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


class _Cautious(MajorityVote):
    cautions_ = ("v1 says yes wherever v2 does", "the votes are few")


def test_a_voters_name_keeps_its_first_letter():
    votes = Votes.of(np.array([[1, 1, -1], [-1, -1, 1]], dtype=np.int8), coding="pm1")
    told = findings_of(_Cautious().fit(votes), votes)["warnings"]
    assert "v1 says yes wherever v2 does." in told
    assert "The votes are few." in told


def test_a_consensus_in_which_nobody_stands_out_is_normal():
    rng = np.random.default_rng(3)
    truth = rng.choice(np.array([-1, 1], dtype=np.int8), (900, 1))
    votes = Votes.of(np.where(rng.random((900, 8)) < 0.8, truth, -truth), coding="pm1")
    model = LatentIsing().fit(votes)
    assert len(model.experts_) < 3
    findings = findings_of(model, votes)
    assert findings["crowd"]["counted"] == 8
    assert findings["warnings"] == []


def test_warnings_on_items_of_three_classes():
    votes = Votes.of([["a", "b"], ["c", "c"], ["b", None], ["a", "c"]])
    told = findings_of(MajorityVote().fit(votes), votes)["warnings"]
    assert "2 items tied, labeled with the most frequent of the tied classes." in told
    assert not any("positive" in one or "two classes" in one for one in told)


def test_the_label_of_ties_is_the_side_with_more_votes():
    no = [[1, -1], [-1, -1], [-1, -1], [1, 1]]
    for side, label in ((1, "-1"), (-1, "1")):
        votes = Votes.of(side * np.array(no), coding="pm1")
        told = findings_of(MajorityVote().fit(votes), votes)["warnings"]
        assert f"1 item tied, labeled “{label}”." in told
