"""A device finds the labels of this process, on torch's processor here and on a GPU alike."""

import numpy as np
import pytest
import scipy.sparse as sp

import unelisa as ue

pytest.importorskip("torch")
from unelisa.latent import crowd
from unelisa.latent.crowd import draw_run, order_items
from unelisa.votes.ballots import count_votes, list_ballots, set_prior_odds
from unelisa.votes.blocks import SparseBlocks, WholeTable
from unelisa.votes.device import RUN, TWINS, DeviceBlocks

pytestmark = pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")


def draw_codes(n_classes, n_items=1200, n_voters=30, seed=0):
    """Sparse votes, with copies, a silent voter and silent items."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n_items)[:, None]
    right = rng.random((n_items, n_voters)) < rng.uniform(0.5, 0.95, n_voters)
    shift = rng.integers(1, n_classes, size=(n_items, n_voters))
    answers = np.where(right, truth, (truth + shift) % n_classes)
    codes = np.where(answers > 0, 1, -1) if n_classes == 2 else answers + 1
    codes[rng.random(codes.shape) < 0.7] = 0
    codes[:, 7] = codes[:, 3]
    codes[:, 11] = 0
    codes[40:60] = 0
    return codes.astype(np.int8)


def hold(codes, n_classes, place=SparseBlocks):
    blocks = place(sp.csr_array(codes) if place is SparseBlocks else np.asfortranarray(codes))
    names = np.array([f"v{s}" for s in range(codes.shape[1])], dtype=object)
    classes = (-1, 1) if n_classes == 2 else tuple(range(n_classes))
    return ue.Votes(blocks, np.arange(len(codes)), names, classes)


def compare(votes, there, **settings):
    """Fit both; the model of the device must say the same."""
    here, found = ue.LatentIsing().fit(votes, **settings), ue.LatentIsing().fit(there, **settings)
    assert np.array_equal(here.predict(votes), found.predict(there))
    assert found.predict_proba(there) == pytest.approx(here.predict_proba(votes), abs=1e-12)
    numbers = here.voters_full_.select_dtypes("number").to_numpy()
    own = found.voters_full_.select_dtypes("number").to_numpy()
    assert own == pytest.approx(numbers, abs=1e-9, nan_ok=True)
    assert found.expected_accuracy_ == pytest.approx(here.expected_accuracy_, abs=1e-12)
    assert found.ease(there) == pytest.approx(here.ease(votes), abs=1e-12, nan_ok=True)
    assert found.reliability_reason_ == here.reliability_reason_
    assert np.array_equal(found._reading.heads, here._reading.heads)
    assert np.array_equal(there.blocks.find_silent(), votes.blocks.find_silent())


@pytest.mark.parametrize("place", [SparseBlocks, WholeTable])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_a_fit_on_a_device_is_the_fit_of_this_process(n_classes, place):
    votes = hold(draw_codes(n_classes), n_classes, place)
    compare(votes, ue.to_device(votes, "cpu"))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_gold_and_what_is_known_besides_enter_alike(n_classes):
    votes = hold(draw_codes(n_classes, seed=1), n_classes)
    rng = np.random.default_rng(2)
    labels = rng.choice(votes.classes, votes.n_items).astype(object)
    labels[30:] = None
    shape = votes.n_items if n_classes == 2 else (votes.n_items, n_classes)
    there = ue.to_device(votes, "cpu")
    compare(votes, there, y=labels)
    compare(votes, there, prevalence={votes.classes[-1]: 0.3})
    odds = rng.normal(size=shape)
    here = ue.LatentIsing().fit(votes, prior=odds)
    found = ue.LatentIsing().fit(there, prior=odds)
    chances = found.predict_proba(there, prior=odds)
    assert chances == pytest.approx(here.predict_proba(votes, prior=odds), abs=1e-12)


def test_what_has_no_twin_runs_in_this_process():
    votes = ue.simulate_votes(random_state=3).votes
    there = ue.to_device(votes, "cpu")
    here = ue.LatentIsing(structure="edges").fit(votes)
    found = ue.LatentIsing(structure="edges").fit(there)
    assert np.array_equal(found.decision_function(there), here.decision_function(votes))
    for method in (ue.MajorityVote, ue.DawidSkene):
        fitted = method().fit(there)
        assert np.array_equal(fitted.predict(there), method().fit(votes).predict(votes))


def test_a_model_of_a_device_is_saved_updated_and_scores_votes_of_this_process(tmp_path):
    votes = hold(draw_codes(2), 2)
    there = ue.to_device(votes, "cpu")
    model = ue.LatentIsing().fit(there)
    ue.save(model, tmp_path / "model.json", keep_votes=True)
    loaded = ue.load(tmp_path / "model.json")
    assert np.array_equal(loaded.predict(votes), model.predict(there))
    more = hold(draw_codes(2, seed=5), 2)
    assert len(model.update(more).predict(more)) == len(more)


@pytest.mark.parametrize("most", [60, 5000])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_samples_of_a_device_are_the_same_items(n_classes, most, monkeypatch):
    monkeypatch.setattr(crowd, "MOST_DRAWN", most)
    codes = draw_codes(n_classes)
    codes[200:900] = codes[:100].repeat(7, axis=0)  # many items with the same votes
    votes = hold(codes, n_classes)
    here, there = (list_ballots(one.blocks) for one in (votes, ue.to_device(votes, "cpu")))
    cast, _ = here.sum(count_votes, codes.shape[1], n_classes)
    order = here.compute(order_items, cast)
    assert np.array_equal(there.compute(order_items, cast), order)
    assert len(order) == min(most, len(codes))
    shape = len(codes) if n_classes == 2 else (len(codes), n_classes)
    odds = np.random.default_rng(3).normal(size=shape)
    for known in (np.empty(0), odds):
        runs = [draw_run(set_prior_odds(one, known), n_classes, 50) for one in (here, there)]
        for one, other in zip(*runs, strict=True):
            assert one.dtype == other.dtype
            assert np.array_equal(one, other)


def test_many_votes_of_one_voter_are_added_in_runs():
    rng = np.random.default_rng(0)
    codes = np.asfortranarray(rng.choice([-1, 1], (3 * RUN + 5, 2)).astype(np.int8))
    blocks, x = DeviceBlocks.of(WholeTable(codes), "cpu"), rng.normal(size=len(codes))
    signed, observed = blocks.tally(x)
    assert signed == pytest.approx(x @ codes, abs=1e-9)
    assert observed == pytest.approx(np.full(2, x.sum()), abs=1e-9)
    runs = blocks.lists.sort(2)
    assert runs.runs.diff().max() <= RUN < runs.starts.diff().min()


def test_every_twin_is_named_as_what_it_replaces():
    assert len(TWINS) >= 10
    for function, twin in TWINS.items():
        assert twin.__name__.strip("_") == function.__name__.strip("_")
