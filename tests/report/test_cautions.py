import numpy as np
import pytest

from unelisa.aggregators import DawidSkene, MajorityVote, UnElisa
from unelisa.report.findings import collect_findings
from unelisa.votes import Votes


def _told(model, votes):
    return " ".join(collect_findings(model.fit(votes), votes)["warnings"])


def test_a_sound_crowd_is_told_nothing(crowd):
    assert _told(DawidSkene(random_state=0), crowd[0].take_voters(range(7))) == ""


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_votes_without_a_common_cause_are_called_chance():
    rng = np.random.default_rng(1)
    votes = Votes.of(rng.choice(np.array([-1, 1], dtype=np.int8), (300, 8)))
    assert "voters agree with each other no more" in _told(DawidSkene(random_state=0), votes)
    assert "no better than chance" in _told(UnElisa(random_state=0), votes)


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_voters_who_never_vary_are_removed_or_tell_little(crowd):
    values = crowd[0].values.copy(order="F")
    values[:, 5] = 1
    votes = Votes.of(values)
    assert "1 voter always gave the same vote: removed as constant." in _told(
        UnElisa(random_state=0), votes
    )
    assert "same vote: this tells little." in _told(MajorityVote(), votes)


class _TwoExperts(UnElisa):
    @property
    def experts_(self):
        return np.array([0, 1])


def test_two_experts_are_too_few(crowd):
    assert "Only 2 experts found" in _told(_TwoExperts(random_state=0), crowd[0])
