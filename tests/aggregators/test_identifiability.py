import numpy as np
import pytest

from studies.paper.cells import CELLS
from unelisa.aggregators import AGGREGATORS, DawidSkene, LatentIsing
from unelisa.aggregators.identifiability import Identifiability, check_identifiability, read_silence
from unelisa.simulation.designs import simulate_votes
from unelisa.sources.tables import read_votes
from unelisa.storage import load, save
from unelisa.votes import Votes


def as_votes(values):
    names = np.array([f"v{s}" for s in range(values.shape[1])], dtype=object)
    return Votes.of_values(np.asfortranarray(values), np.arange(len(values)), names)


def draw_noise(rng, kind):
    n_items, n_voters = int(rng.integers(30, 3000)), int(rng.integers(2, 82))
    leaning = rng.beta(1, 3, n_voters) if "unbalanced" in kind else np.full(n_voters, 0.5)
    values = np.where(rng.random((n_items, n_voters)) < leaning, 1, -1).astype(np.int8)
    if "missing" in kind:
        values[rng.random(values.shape) < rng.uniform(0.1, 0.9)] = 0
    return as_votes(values)


@pytest.mark.parametrize("kind", ["balanced", "unbalanced", "missing", "unbalanced, missing"])
def test_noise_is_flagged(kind):
    """At least nine of ten sets; the limits are meant to miss fewer than one in a hundred."""
    rng = np.random.default_rng(20261115)
    verdicts = [check_identifiability(draw_noise(rng, kind)) for _ in range(200)]
    assert np.mean([not verdict.reliable for verdict in verdicts]) >= 0.97


@pytest.mark.slow
@pytest.mark.parametrize(
    "cell", [cell for cell in CELLS if cell.n_voters < 81], ids=lambda c: c.name
)
def test_the_papers_designs_raise_no_alarm(cell):
    drawn = simulate_votes(cell.n_voters, cell.size, cell.snr, n_items=1000, random_state=91)
    assert check_identifiability(drawn.votes).reliable


def test_the_moments_are_those_of_shuffled_votes():
    """Mean 0 and variance 1 over shuffles within each voter, gaps kept."""
    rng = np.random.default_rng(3)
    values = np.where(rng.random((60, 5)) < [0.5, 0.3, 0.7, 0.5, 0.2], 1, -1).astype(np.int8)
    values[rng.random(values.shape) < 0.3] = 0
    values[:2] = 1  # at least two votes on some items, so that none is left out at random
    found = []
    for _ in range(800):
        shuffled = values.copy()
        for s in range(5):
            voted = np.flatnonzero(values[:, s])
            shuffled[voted, s] = rng.permutation(values[voted, s])
        found.append(check_identifiability(as_votes(shuffled)))
    agreement = np.array([evidence.agreement for evidence in found])
    dependence = np.array([evidence.dependence for evidence in found])
    assert agreement.mean() == pytest.approx(0, abs=0.12)
    assert agreement.std() == pytest.approx(1, abs=0.08)
    assert dependence.mean() == pytest.approx(0, abs=0.15)
    assert dependence.std() == pytest.approx(1, abs=0.25)


def test_copies_of_one_source_are_flagged():
    rng = np.random.default_rng(0)
    source = rng.choice(np.array([-1, 1], dtype=np.int8), (400, 1))
    copies = np.repeat(source, 12, axis=1)
    copies[rng.random(copies.shape) < 0.6] = 0
    verdict = check_identifiability(as_votes(copies))
    assert not verdict.reliable
    assert verdict.dissent == 0
    assert "copy one source" in verdict.reason
    errs = rng.random(copies.shape) < 0.02
    assert check_identifiability(as_votes(np.where(errs, -copies, copies))).reliable


def test_rules_that_say_one_thing_only_are_heard_by_their_silence():
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], 600)
    speaks = rng.random((600, 6)) < np.where(truth[:, None] == np.resize([1, -1], 6), 0.5, 0.1)
    rules = np.where(speaks, np.resize([1, -1], 6), 0).astype(np.int8)
    assert check_identifiability(as_votes(rules)).reliable
    unrelated = np.where(rng.random((600, 6)) < 0.3, np.resize([1, -1], 6), 0).astype(np.int8)
    assert not check_identifiability(as_votes(unrelated)).reliable


def test_silence_speaks_only_where_most_votes_are_one_sided():
    rng = np.random.default_rng(0)
    side = np.array([1, -1] * 5, dtype=np.int8)
    rules = np.where(rng.random((1500, 10)) < 0.1, side, 0).astype(np.int8)
    assert read_silence(rules).tolist() == (-side).tolist()
    assert read_silence(np.where(rules > 0, rules, 0)[:, ::2]).tolist() == [-1] * 5
    assert not read_silence(np.where(rules == 0, side, rules)).any()  # who is never silent
    crowd = rng.choice(np.array([-1, 0, 1], dtype=np.int8), (300, 20))
    crowd[:, 0] = np.arange(300) < 100  # one such voter in a crowd
    assert not read_silence(crowd).any()


def test_silence_of_voters_who_rarely_say_yes_is_no_answer():
    """One item in a hundred is a yes; of each voter's votes fewer than 2 % are."""
    rng = np.random.default_rng(0)
    truth = np.where(rng.random((3000, 1)) < 0.01, 1, -1)
    people = np.where(rng.random((3000, 8)) < np.where(truth > 0, 0.7, 0.995), truth, -truth)
    people[rng.random(people.shape) < 0.6] = 0
    assert ((people > 0).sum(axis=0) < 0.02 * np.count_nonzero(people, axis=0)).all()
    assert check_identifiability(as_votes(people.astype(np.int8))).reliable


@pytest.mark.parametrize(
    "values",
    [
        np.ones((5, 1), np.int8),
        np.ones((1, 5), np.int8),
        np.ones((9, 4), np.int8),
        np.eye(6, dtype=np.int8),
    ],
    ids=["one voter", "one item", "nobody varies", "nobody meets"],
)
def test_where_nobody_can_confirm_anybody(values):
    verdict = check_identifiability(as_votes(values))
    assert verdict == Identifiability(0.0, 0.0, 1.0, 0)
    assert not verdict.reliable
    assert "no vote can be cross-checked" in verdict.reason


def test_only_a_part_of_many_votes_is_looked_at(monkeypatch, crowd):
    monkeypatch.setattr("unelisa.aggregators.identifiability.MAX_VOTERS", 5)
    monkeypatch.setattr("unelisa.aggregators.identifiability.MAX_ITEMS", 100)
    assert check_identifiability(crowd[0]).pairs == 10
    assert check_identifiability(crowd[0]).reliable


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
@pytest.mark.parametrize("name", AGGREGATORS)
def test_every_fitted_model_says_whether_it_can_be_trusted(name, crowd):
    model = AGGREGATORS[name]().fit(crowd[0])
    by_chance = "depends on chance" in model.reliability_reason_
    assert not by_chance or name == "stacked-rbm"
    if name != "latent-ising":  # which also says how right the labels are
        assert model.reliable_ is not by_chance
        assert by_chance or "standard deviations beyond chance" in model.reliability_reason_
    noise = np.random.default_rng(1).choice(np.array([-1, 1], np.int8), (300, 6))
    assert model.fit(noise).reliable_ is False
    assert "no more than independent voters" in model.reliability_reason_


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_voters_who_only_copy_each_other_in_pairs_tell_of_no_truth():
    """There is dependence, but nobody confirms a pair."""
    flagged = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        first = rng.choice(np.array([-1, 1], np.int8), (1500, 6))
        second = np.where(rng.random((1500, 6)) < 0.75, first, -first)
        model = LatentIsing(random_state=0).fit(np.hstack([first, second]))
        flagged += not model.reliable_
        assert check_identifiability(as_votes(np.hstack([first, second]))).reliable
    assert flagged >= 3


def test_the_verdict_is_stored_with_the_model(crowd, tmp_path):
    noise = np.random.default_rng(1).choice(np.array([-1, 1], np.int8), (300, 6))
    model = DawidSkene(random_state=0).fit(noise)
    save(model, tmp_path / "model.npz")
    again = load(tmp_path / "model.npz")
    assert (again.reliable_, again.reliability_reason_) == (False, model.reliability_reason_)


@pytest.mark.shared
def test_hitspam_is_flagged_and_real_crowds_are_not(shared_data):
    for folder in sorted(shared_data.glob("*/votes.csv*")):
        name = folder.parent.name
        assert check_identifiability(read_votes(folder)).reliable == (name != "hitspam"), name


def test_classes_of_noise_and_of_copies_are_told_apart_from_a_crowd():
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 5, (600, 6))
    crowd = np.where(rng.random((600, 6)) < 0.4, noise[:, [0]], noise)
    copies = np.repeat(noise[:, [0]], 6, axis=1)
    found = [check_identifiability(Votes.of(table)) for table in (noise, crowd, copies)]
    assert [one.reliable for one in found] == [False, True, False]
    assert "copy one source" in found[2].reason
