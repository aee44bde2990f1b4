"""Same seed, same bits: for any number of threads, and for rows in any order."""

import warnings

import numpy as np
import pytest

from latent.worlds import bad_clique, copied_classes, plain_crowd
from unelisa.aggregators import AGGREGATORS
from unelisa.errors import UnelisaWarning
from unelisa.paper.neighborhood import select_neighborhoods
from unelisa.simulation.designs import simulate_votes
from unelisa.sources.tables import read_votes
from unelisa.votes import Votes

THREADED = [name for name, cls in AGGREGATORS.items() if "n_jobs" in cls().get_params()]


@pytest.fixture(scope="module")
def votes():
    drawn = simulate_votes(25, "sqrt", "medium", n_items=1200, missing=0.1, random_state=3)
    return drawn.votes


def fit(name, votes, **settings):
    cls = AGGREGATORS[name]
    if "random_state" in cls().get_params():
        settings["random_state"] = 11
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnelisaWarning)
        return cls(**settings).fit(votes)


@pytest.mark.parametrize("name", THREADED)
def test_the_number_of_threads_changes_no_bit(name, votes):
    first, *others = (fit(name, votes, n_jobs=n_jobs) for n_jobs in (1, 2, 4))
    for other in others:
        assert np.array_equal(other.weights_, first.weights_)
        assert np.array_equal(other.decision_function(votes), first.decision_function(votes))


@pytest.mark.parametrize("penalty", ["theory", "ebic"])
def test_regressions_do_not_depend_on_threads(penalty, votes):
    first, *others = (select_neighborhoods(votes, penalty, n_jobs=n_jobs) for n_jobs in (1, 2, 4))
    for other in others:
        assert np.array_equal(other.weights, first.weights)
        assert np.array_equal(other.intercepts, first.intercepts)


def test_rows_of_a_long_file_may_come_in_any_order(votes, tmp_path):
    """A long table is sorted by name, so the same bits come out."""
    rows = [f"i{i:04d},w{s:02d},{votes.values[i, s]}" for i, s in np.argwhere(votes.values)]
    labels = {}
    for order in ("straight", "shuffled"):
        if order == "shuffled":
            np.random.default_rng(0).shuffle(rows)
        file = tmp_path / f"{order}.csv"
        file.write_text("\n".join(["item,voter,vote", *rows, ""]))
        table = read_votes(file)
        model = fit("unelisa", table)
        labels[order] = (table.items.tolist(), model.predict_proba(table).tobytes())
    assert labels["straight"] == labels["shuffled"]


# the machines' mini-batches are drawn by row, so the order of the items is part of their seed
@pytest.mark.parametrize("name", [name for name in AGGREGATORS if name != "stacked-rbm"])
def test_shuffled_items_get_the_same_labels(name, votes):
    """Sums in another order differ in the last digits; the labels must not."""
    order = np.random.default_rng(5).permutation(len(votes))
    plain, mixed = fit(name, votes), fit(name, votes.take_items(order))
    scores = plain.decision_function(votes)
    again = mixed.decision_function(votes.take_items(order))
    back = np.empty_like(again)
    back[order] = again
    clear = np.abs(scores) > 1e-3 * np.abs(scores).max()
    assert clear.mean() > 0.8
    assert np.array_equal(np.sign(back[clear]), np.sign(scores[clear]))
    assert back == pytest.approx(scores, abs=1e-2 * np.abs(scores).max())


@pytest.mark.parametrize("n_items", [800, 6000])  # of the latter a sample is compared
@pytest.mark.parametrize("world", [bad_clique, plain_crowd, copied_classes])
def test_the_order_of_items_and_voters_moves_no_probability_by_a_millionth(world, n_items):
    values = world(0, n_items=n_items)[0]
    coding = "pm1" if values.min() < 0 else (1, 2, 3, 4)
    votes = Votes.of(np.where(values == 0, np.nan, values), coding=coding)
    rng = np.random.default_rng(1)
    items, voters = rng.permutation(votes.n_items), rng.permutation(votes.n_voters)
    mixed = votes.take_items(items).take_voters(voters)
    plain, other = (fit("latent-ising", some) for some in (votes, mixed))
    chances = plain.predict_proba(votes)[items]
    assert other.predict_proba(mixed) == pytest.approx(chances, abs=1e-6)
    assert other.expected_accuracy_ == pytest.approx(plain.expected_accuracy_, abs=1e-6)


def test_simulated_votes_are_the_same_bits_again():
    first, second = (simulate_votes(25, "log", "low", n_items=300, random_state=9) for _ in "ab")
    assert np.array_equal(first.votes.values, second.votes.values)
    assert np.array_equal(first.truth, second.truth)


def test_a_seed_is_not_changed_by_what_was_drawn_before():
    np.random.default_rng(0).random(10)
    values = np.random.default_rng(1).choice([-1, 1], (100, 5))
    models = []
    for _ in range(2):
        models.append(fit("unelisa", Votes.of(values)).weights_)
        np.random.random(7)  # noqa: NPY002 - the global generator must play no part
    assert np.array_equal(*models)
