import warnings

import numpy as np
import pytest

from unelisa.aggregators import LatentIsing, MajorityVote, UnElisa
from unelisa.analysis.stability import bootstrap
from unelisa.errors import UnelisaWarning, VotesWarning, warn_user
from unelisa.sources.tables import read_votes
from unelisa.votes import Votes

STUCK = np.hstack([np.random.default_rng(0).choice([-1, 1], (60, 4)), np.ones((60, 1))])


def read_repeated_votes(folder):
    file = folder / "votes.csv"
    file.write_text("item,voter,vote\na,u,yes\na,u,yes\na,v,no\nb,u,no\nb,v,yes\n")
    return read_votes(file)


def resample_few_votes(_):
    few = np.zeros((3, 3), dtype=np.int8)
    few[0] = 1, -1, 1
    return bootstrap(Votes.of(few, coding="pm1"), MajorityVote(), 40, random_state=0)


@pytest.mark.parametrize(
    "call",
    [
        lambda _: MajorityVote().fit(STUCK),
        lambda _: MajorityVote().fit_predict(STUCK),
        lambda _: UnElisa(random_state=0).fit_predict_proba(STUCK),
        lambda _: LatentIsing(random_state=0).fit_predict(STUCK),
        lambda _: Votes.of(STUCK).warn_of_idle_voters(),
        resample_few_votes,
        read_repeated_votes,
    ],
    ids=["fit", "fit_predict", "unelisa", "latent_ising", "votes", "bootstrap", "read_votes"],
)
def test_a_warning_points_to_the_line_of_the_caller(call, tmp_path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(tmp_path)
    told = [w for w in caught if issubclass(w.category, UnelisaWarning)]
    assert told
    assert {w.filename for w in told} == {__file__}


def test_a_warning_of_nobody_elses_call_is_given_too():
    with pytest.warns(VotesWarning, match="so it is") as told:
        warn_user("so it is", VotesWarning)
    assert told[0].filename == __file__
