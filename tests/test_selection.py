import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from unelisa.selection import ExpertSelector
from unelisa.simulation import simulate_votes
from unelisa.votes import Votes


@pytest.fixture(scope="module")
def simulated():
    return simulate_votes(n_voters=25, n_experts=5, snr="high", random_state=1)


@pytest.fixture(scope="module")
def selector(simulated):
    return ExpertSelector(random_state=0).fit(simulated.votes)


def test_the_experts_are_found(simulated, selector):
    assert selector.experts_.tolist() == simulated.experts.tolist()


def test_polarity_is_that_of_the_model(simulated, selector):
    true = np.sign(simulated.model.edges[0, 1:])
    assert np.array_equal(selector.polarity_, true)


def test_transform_keeps_the_experts(simulated, selector):
    kept = selector.transform(simulated.votes)
    assert isinstance(kept, Votes)
    assert np.array_equal(kept.values, simulated.votes.values[:, simulated.experts])
    assert np.array_equal(selector.transform(simulated.votes.values), kept.values)
    assert selector.get_support(indices=True).tolist() == simulated.experts.tolist()


def test_pandas_in_pandas_out(simulated):
    frame = pd.DataFrame(simulated.votes.values, columns=[f"w{s}" for s in range(25)])
    selector = ExpertSelector(random_state=0).set_output(transform="pandas").fit(frame)
    kept = selector.transform(frame)
    assert kept.columns.tolist() == [f"w{s}" for s in simulated.experts]


def test_same_seed_same_choice_and_clone(simulated, selector):
    again = clone(selector).fit(simulated.votes)
    assert np.array_equal(again.neighborhoods_.weights, selector.neighborhoods_.weights)
    assert np.array_equal(again.experts_, selector.experts_)


def test_a_long_table_comes_back_as_votes(simulated, selector):
    named = Votes.of_values(
        simulated.votes.values[:50],
        np.array([f"i{i:02d}" for i in range(50)], dtype=object),
        np.array([f"w{s:02d}" for s in range(25)], dtype=object),
    )
    fitted = ExpertSelector(random_state=0).fit(
        Votes.of_values(simulated.votes.values, simulated.votes.items, named.voters)
    )
    wide = pd.DataFrame(named.values, index=named.items, columns=named.voters)
    long = wide.reset_index(names="item").melt("item", var_name="voter", value_name="vote")
    kept = fitted.transform(long)
    assert isinstance(kept, Votes)
    assert kept.voters.tolist() == named.voters[fitted.experts_].tolist()
    assert np.array_equal(kept.values, named.values[:, fitted.experts_])
