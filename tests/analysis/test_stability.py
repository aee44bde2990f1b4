import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import naive_solver
from unelisa.aggregators import AGGREGATORS, DawidSkene, LatentIsing, MajorityVote, UnElisa
from unelisa.aggregators.base import Aggregator
from unelisa.analysis.stability import Learned, Stability, bootstrap, draw_items, repeat_fits
from unelisa.errors import ConvergenceWarning, ModelError, UnelisaWarning, VotesError
from unelisa.paper.experts import ExpertSelector
from unelisa.paper.ising import VoterGraph
from unelisa.paper.neighborhood import select_neighborhoods, theory_penalty
from unelisa.paper.solvers import L1Problem
from unelisa.simulation.designs import simulate_votes
from unelisa.storage import load, save
from unelisa.votes import Votes

B = 40


def with_silence(votes, share=0.3):
    """The same votes, a share of them withheld."""
    values = votes.values.copy(order="F")
    values[np.random.default_rng(1).random(values.shape) < share] = 0
    return Votes.of_values(values, votes.items, votes.voters, votes.classes)


def seeded_draws(n_items, n_resamples, seed):
    """The rows and the estimator's seed of every resample, one after the other."""
    for generator in np.random.default_rng(seed).spawn(n_resamples):
        rows = draw_items(n_items, generator)
        yield rows, int(generator.integers(2**31))  # as `bootstrap` seeds its estimators


def dense_edges(stability, voters):
    """One matrix per column of the edges' table, symmetric."""
    place = {name: s for s, name in enumerate(voters)}
    columns = {}
    for column in ("weight", "low", "high", "frequency"):
        matrix = np.zeros((len(voters), len(voters)))
        for row in stability.edges.to_dict("records"):
            s, t = place[row["voter"]], place[row["other"]]
            matrix[s, t] = matrix[t, s] = row[column]
        columns[column] = matrix
    return columns


@pytest.mark.parametrize("silent", [False, True])
def test_edges_agree_with_a_slow_loop_on_drawn_items(crowd, silent):
    votes = with_silence(crowd[0]) if silent else crowd[0]
    exact = partial(select_neighborhoods, tol=1e-6)
    found = bootstrap(votes, exact, B, random_state=3, level=0.8)
    graphs = []
    for rows, _ in seeded_draws(len(votes), B, 3):
        drawn = votes.take_items(rows)
        problem = L1Problem(drawn.values, theory_penalty(drawn), tol=1e-6)
        graphs.append(VoterGraph.of(naive_solver.ProximalGradient().solve(problem).weights))
    dense = dense_edges(found, votes.voters)
    drawn = np.array([graph.weights for graph in graphs])
    assert np.array_equal(dense["frequency"], np.mean([g.adjacency for g in graphs], axis=0))
    assert np.allclose(dense["low"], np.percentile(drawn, 10, axis=0), atol=1e-4)
    assert np.allclose(dense["high"], np.percentile(drawn, 90, axis=0), atol=1e-4)
    assert np.allclose(dense["weight"], VoterGraph.of(exact(votes).weights).weights)
    assert found.edges["frequency"].between(0, 1, inclusive="right").any()
    assert found.voters is None


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_voters_agree_with_a_slow_loop_of_fits(crowd):
    votes = with_silence(crowd[0], 0.5).take_items(np.arange(150))
    whole = UnElisa(random_state=0).fit(votes)
    found = bootstrap(votes, UnElisa(random_state=0), B, random_state=3)
    weights, experts, same = [], [], []
    for rows, seed in seeded_draws(len(votes), B, 3):
        model = UnElisa(random_state=seed).fit(votes.take_items(rows))
        side = 1 if model.weights_ @ whole.weights_ >= 0 else -1
        weights.append(side * model.weights_)
        experts.append([s in model.experts_ for s in range(9)])
        agreed = []
        for s in range(9):
            stays = (s in model.experts_) == (s in whole.experts_)
            turns = s in whole.experts_ and side * model.polarity_[s] != whole.polarity_[s]
            agreed.append(stays and not turns)
        same.append(agreed)
    table = found.voters
    assert np.array_equal(table["frequency"], np.mean(experts, axis=0))
    assert np.array_equal(table["stability"], np.mean(same, axis=0))
    assert np.array_equal(table["weight"], whole.weights_)
    assert np.array_equal(table["low"], np.percentile(weights, 2.5, axis=0))
    assert np.array_equal(table["high"], np.percentile(weights, 97.5, axis=0))
    assert 0 < table["stability"].min() < 1  # something was there to disagree on


def test_an_informative_voter_is_stable_and_a_noisy_one_is_not(crowd):
    found = bootstrap(crowd[0], ExpertSelector(), B, random_state=0).voters.set_index("voter")
    informative, noise = ["v0", "v1", "v8"], ["v5", "v6"]
    assert (found.loc[informative, "frequency"] > 0.9).all()
    assert (found.loc[noise, "frequency"] < 0.5).all()
    weighted = bootstrap(crowd[0], DawidSkene(), B, random_state=0).voters.set_index("voter")
    assert (weighted["frequency"] == 1).all()  # it prunes nobody, but cannot tell noise's side
    assert (weighted.loc[informative, "stability"] == 1).all()
    assert (weighted.loc[noise, "stability"] < 0.95).all()
    assert (weighted.loc[noise, "low"] < 0).all()
    assert (weighted.loc[noise, "high"] > 0).all()


@pytest.mark.parametrize("name", sorted(AGGREGATORS))
@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_every_aggregator_gains_a_column(name, crowd, tmp_path):
    votes = crowd[0].take_items(np.arange(120))
    found = bootstrap(votes, AGGREGATORS[name](), 4, random_state=0)
    model = found.fitted
    assert np.array_equal(model.voters_["stability"], found.voters["stability"])
    assert list(found.voters["voter"]) == list(votes.voters)
    assert (found.voters["low"] <= found.voters["high"]).all()
    assert (found.edges is None) == (getattr(model, "graph_", None) is None)
    save(model, tmp_path / "model.npz")
    kept = load(tmp_path / "model.npz")
    assert np.array_equal(kept.voters_["stability"], found.voters["stability"])
    assert "stability" not in kept.fit(votes).voters_  # a new fit has none yet


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
@pytest.mark.parametrize("estimator", [UnElisa(), select_neighborhoods], ids=["model", "function"])
def test_the_same_bits_whatever_the_number_of_jobs(crowd, estimator):
    votes = with_silence(crowd[0])
    one, two = (bootstrap(votes, estimator, 12, random_state=5, n_jobs=n) for n in (1, 2))
    assert one.edges.equals(two.edges)
    assert one.voters is None or one.voters.equals(two.voters)
    other = bootstrap(votes, estimator, 12, random_state=6)
    assert not other.edges.equals(one.edges)


def test_the_given_estimator_is_left_alone_and_it_says_what_it_holds(crowd):
    model = UnElisa(n_jobs=2)
    found = bootstrap(crowd[0], model, 2, random_state=0)
    assert not hasattr(model, "selector_")
    assert model.get_params() == UnElisa(n_jobs=2).get_params()
    assert found.fitted is not model
    found = bootstrap(crowd[0], ExpertSelector(), 2, random_state=0)
    n_edges = len(found.fitted.graph_.edges)
    assert repr(found) == f"Stability(2 resamples of 9 voters and {n_edges} edges)"
    assert "weight" not in found.voters  # a selector weighs nobody
    assert isinstance(found, Stability)
    assert Learned.of(found.fitted).weights is None


class Coin(Aggregator):
    """Calls either side yes, by chance."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def _fit(self, votes):
        side = np.random.default_rng(self.random_state).choice([-1.0, 1.0])
        self.weights_ = side * np.linspace(1, -0.5, votes.n_voters)

    def _score(self, votes):
        return votes.values @ self.weights_


def test_draws_are_turned_to_the_side_of_the_fit_to_all_items(crowd):
    found = bootstrap(crowd[0], Coin(0), B, random_state=0)
    assert (found.voters["stability"] == 1).all()
    assert np.array_equal(found.voters["low"], found.voters["weight"])
    assert 0.2 < found.turned < 0.8
    assert bootstrap(crowd[0], MajorityVote(), 3, random_state=0).turned == 0


def test_gold_labels_and_a_prior_are_drawn_with_their_items(crowd):
    votes, truth = crowd
    seen = []

    class Witness(Coin):
        def fit(self, X, y=None, prior=None):
            seen.append((X.items.tolist(), y, prior.tolist()))
            return super().fit(X, y)

    labels = {int(item): int(sign) for item, sign in enumerate(truth) if item % 3 == 0}
    fields = {str(item): 0.5 * sign for item, sign in labels.items()}
    bootstrap(votes, Witness(0), 3, y=labels, prior=fields, random_state=0)
    assert len(seen) == 4
    for items, y, prior in seen:
        assert len(items) == len(y) == 600
        assert all(label == labels.get(item) for item, label in zip(items, y, strict=True))
        assert prior == [fields.get(str(item), 0.0) for item in items]


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_a_prior_moves_every_resample(crowd):
    """Without it the sides are the majority's, and here most voters are wrong."""
    votes, truth = Votes.of(-crowd[0].values), crowd[1]
    found = bootstrap(votes, LatentIsing(), 3, prior=0.5 * truth, random_state=0)
    assert found.turned == 0
    assert (found.voters["high"][[0, 1, 2]] < 0).all()
    alone = bootstrap(votes, LatentIsing(), 3, random_state=0)
    assert (alone.voters["low"][[0, 1, 2]] > 0).all()


@pytest.mark.filterwarnings("ignore::unelisa.errors.VotesWarning")
def test_few_items_say_little():
    votes = simulate_votes(n_voters=6, n_experts=3, n_items=5, random_state=0).votes
    found = bootstrap(votes, select_neighborhoods, B, random_state=0)
    assert found.n_resamples == B
    assert not found.edges["edge"].any()
    one = bootstrap(votes.take_items([0]), MajorityVote(), 3, random_state=0)
    assert (one.voters["stability"] == 1).all()


def test_draws_without_a_vote_are_left_out_and_counted():
    values = np.zeros((3, 2), dtype=np.int8, order="F")
    values[0] = 1, -1
    votes = Votes.of(values, coding="pm1")
    with pytest.warns(UnelisaWarning) as caught:
        found = bootstrap(votes, MajorityVote(), B, random_state=0)
    left = [
        str(w.message) for w in caught if "omitted, the first because there are" in str(w.message)
    ]
    n_empty = sum(0 not in rows for rows, _ in seeded_draws(3, B, 0))
    assert found.n_resamples == B - n_empty < B
    assert len(left) == 1
    assert left[0].startswith(f"{n_empty} of {B} resamples could not be fitted")


class Silent(BaseEstimator):
    def fit(self, X, y=None):
        return self


@pytest.mark.parametrize(
    ("estimator", "settings", "words"),
    [
        ("unelisa", {}, "an estimator such as .* found str"),
        (UnElisa, {}, "found the class UnElisa"),
        (Silent(), {}, "Silent learns no experts_, weights_ or graph_"),
        (len, {}, "len learns no experts_"),
        (MajorityVote(), {"n_resamples": 0}, "n_resamples must be .* found 0"),
        (MajorityVote(), {"n_resamples": 2.5}, "n_resamples must be a whole number"),
        (MajorityVote(), {"level": 95}, "level must lie between 0 and 1, found 95"),
        (MajorityVote(), {"level": "95 %"}, "level must lie between 0 and 1"),
        (MajorityVote(), {"n_resamples": True}, "n_resamples must be a whole number"),
        (MajorityVote(), {"random_state": "seed"}, "random_state must be"),
        (MajorityVote(), {"n_jobs": 0}, "n_jobs must be"),
        (MajorityVote(), {"prior": np.zeros(600)}, "MajorityVote does not take prior; omit it"),
        (select_neighborhoods, {"y": np.ones(600)}, "select_neighborhoods does not take y"),
    ],
)
def test_settings_without_meaning_are_refused(crowd, estimator, settings, words):
    with pytest.raises(ModelError, match=words):
        bootstrap(crowd[0], estimator, **settings)


@pytest.fixture
def generators():
    return np.random.default_rng(0).spawn(20)


def test_a_draw_has_as_many_items_with_repetitions_in_order():
    counts = np.zeros(50)
    for seed in range(200):
        rows = draw_items(50, np.random.default_rng(seed))
        assert len(rows) == 50
        assert (np.diff(rows) >= 0).all()
        counts += np.bincount(rows, minlength=50)
    # 200 draws of 50 items: each is expected 200 times, spread 14
    assert np.abs(counts - 200).max() < 5 * 14


def test_draws_without_a_vote_and_fits_that_fail_are_left_out(generators):
    def fit(_):
        raise VotesError("these votes are odd")

    with pytest.raises(ModelError, match="^20 of 20 resamples .* because these votes are odd$"):
        repeat_fits(fit, generators, None, None)

    def fit(_):
        warnings.warn("a stranger's", RuntimeWarning, stacklevel=2)

    with pytest.warns(RuntimeWarning, match="stranger") as caught:
        repeat_fits(fit, generators, None, None)
    assert len(caught) >= 1

    def fit(generator):
        if generator.random() < 0.5:
            raise VotesError("nobody voted on anything")
        return True

    failed = sum(g.random() < 0.5 for g in np.random.default_rng(0).spawn(20))
    assert failed > 0
    words = (
        f"^{failed} of 20 resamples could not be fitted and are omitted, the first because nobod"
    )
    with pytest.warns(UnelisaWarning, match=words):
        assert repeat_fits(fit, generators, None, None) == [True] * (20 - failed)

    def fit(_):
        raise KeyError("a mistake")

    with pytest.raises(KeyError, match="a mistake"):
        repeat_fits(fit, generators, 2, None)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_limits_are_stated_once_and_idle_voters_not_at_all(generators, n_jobs):
    def fit(_):
        warnings.warn("a limit was reached", ConvergenceWarning, stacklevel=2)
        warnings.warn("a voter never voted", UnelisaWarning, stacklevel=2)

    with pytest.warns(ConvergenceWarning) as caught:
        repeat_fits(fit, generators, n_jobs, None)
    assert [str(w.message) for w in caught] == [
        "some resamples did not converge; the first warning: a limit was reached"
    ]


def test_a_bar_is_shown_when_asked(generators, capfd):
    repeat_fits(bool, generators, None, None)
    repeat_fits(bool, generators, None, False)
    assert capfd.readouterr() == ("", "")
    repeat_fits(bool, generators, 2, True)
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "resamples" in shown.err
    assert "20 of 20" in shown.err


def test_weights_of_more_classes_are_resampled():
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 4, 200)
    said = np.where(rng.random((200, 6)) < 0.7, truth[:, None], rng.integers(1, 4, (200, 6)))
    gold = [*truth[:50].tolist(), *[None] * 150]
    stability = bootstrap(said, DawidSkene(), 5, y=gold, random_state=0, n_jobs=1)
    assert stability.turned == 0
    assert (stability.voters.low <= stability.voters.high).all()
    assert "stability" in stability.fitted.voters_
