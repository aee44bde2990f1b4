import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone

import unelisa as ue
from report.judging import fit_quietly
from unelisa.aggregators import AGGREGATORS
from unelisa.errors import ModelError
from unelisa.votes import Votes

WORDS = np.array([None, "cat", "dog", "owl"], dtype=object)


@pytest.fixture(scope="module")
def crowd():
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 4, 500)
    right = rng.random((500, 8)) < np.linspace(0.5, 0.85, 8)
    said = np.where(right, truth[:, None], rng.integers(1, 4, (500, 8)))
    return Votes.of(WORDS[said]), WORDS[truth]


@pytest.mark.parametrize("name", AGGREGATORS)
def test_every_method_is_lifted(name, crowd, tmp_path):
    votes, truth = crowd
    model = fit_quietly(ue.OneVsRest(AGGREGATORS[name]()), votes)
    scores = model.decision_function(votes)
    assert scores.shape == (500, 3)
    assert model.score(votes, truth) > 0.8
    for k in range(3):
        alone = fit_quietly(AGGREGATORS[name](), votes.one_against_rest(k))
        assert np.array_equal(alone.weights_, model.models_[k].weights_)
        odds = alone.decision_function(votes.one_against_rest(k))
        if not hasattr(alone, "predict_proba"):
            assert np.array_equal(scores[:, k], odds)
        else:
            sums = expit(odds) / model.predict_proba(votes)[:, k]
            assert np.exp(scores[:, k]) * sums == pytest.approx(expit(odds), abs=1e-12)
            assert (sums > 0).all()
    ue.save(model, tmp_path / "model.npz")
    loaded = ue.load(tmp_path / "model.npz")
    assert np.array_equal(loaded.decision_function(votes), scores)
    assert loaded.get_params()["estimator"].get_params() == model.estimator.get_params()


@pytest.mark.parametrize("name", [name for name in AGGREGATORS if name != "stacked-rbm"])
def test_no_order_and_no_voter_who_says_nothing_changes_a_label(name, crowd):
    """stacked-rbm rests on chance, and says so."""

    def label(values):
        votes = Votes.of(values)
        return fit_quietly(ue.OneVsRest(AGGREGATORS[name]()), votes).predict(votes)

    values = WORDS[crowd[0].values[:200]]
    rng, before = np.random.default_rng(1), label(values)
    voters, items = rng.permutation(8), rng.permutation(200)
    assert np.array_equal(label(values[:, voters]), before)
    assert np.array_equal(label(values[items]), before[items])
    for said in (None, "owl"):
        assert np.array_equal(label(np.insert(values, 3, said, axis=1)), before)


def test_two_classes_are_the_method_itself_and_probabilities_are_normalized(crowd):
    two = crowd[0].one_against_rest(0)
    model, plain = ue.OneVsRest(ue.DawidSkene()).fit(two), ue.DawidSkene().fit(two)
    assert np.array_equal(model.decision_function(two), plain.decision_function(two))
    assert np.array_equal(model.predict_proba(two), plain.predict_proba(two))
    assert np.array_equal(model.predict(two), plain.predict(two))
    votes, _ = crowd
    model = ue.OneVsRest(ue.DawidSkene()).fit(votes)
    alone = [
        one.predict_proba(votes.one_against_rest(k))[:, 1] for k, one in enumerate(model.models_)
    ]
    expected = np.column_stack(alone) / np.sum(alone, axis=0)[:, None]
    assert model.predict_proba(votes) == pytest.approx(expected, abs=1e-12)
    assert not hasattr(ue.OneVsRest(ue.MajorityVote()), "predict_proba")
    assert hasattr(ue.OneVsRest(ue.UnElisa()), "predict_proba")


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_gold_labels_reach_every_fit_and_are_the_truth_of_their_items(crowd):
    votes, truth = crowd
    turned = Votes.of(np.array([None, "dog", "owl", "cat"], dtype=object)[votes.values])
    gold = np.where(np.arange(500) < 250, truth, None)
    plain = fit_quietly(ue.OneVsRest(ue.DawidSkene()), turned)
    told = fit_quietly(ue.OneVsRest(ue.DawidSkene()), turned, gold)
    assert told.score(turned, truth) > plain.score(turned, truth)
    crowd = ue.simulate_classes(3, n_voters=6, n_items=200, random_state=0)
    plain = ue.OneVsRest(ue.LatentIsing()).fit(crowd.votes).predict(crowd.votes)
    other = {plain[0]: plain[1], plain[1]: plain[0]}
    gold = {crowd.votes.items[i]: other.get(plain[i], plain[0]) for i in range(5)}
    model = ue.OneVsRest(ue.LatentIsing()).fit(crowd.votes, gold)
    assert model.predict(crowd.votes)[:5].tolist() == list(gold.values())


def test_unvoted_classes_are_never_predicted_and_models_cloned(crowd, tmp_path):
    values = WORDS[crowd[0].values]
    votes = Votes.of(values, order=["cat", "elk", "dog", "owl"])
    model = ue.OneVsRest(ue.DawidSkene()).fit(votes)
    assert model.voted_.tolist() == [0, 2, 3]
    assert model.predict_proba(votes)[:, 1].max() < 1e-100
    ue.save(model, tmp_path / "model.npz")
    assert ue.load(tmp_path / "model.npz").ordered_
    model = ue.OneVsRest(ue.DawidSkene(smoothing=2.0))
    assert clone(model).estimator.smoothing == 2.0
    assert model.get_params()["estimator__smoothing"] == 2.0
    model.fit(crowd[0])
    assert not hasattr(model.estimator, "weights_")
    with pytest.raises(ModelError, match="must be an aggregator such as UnElisa"):
        ue.OneVsRest(ue.ExpertSelector()).fit(crowd[0])
