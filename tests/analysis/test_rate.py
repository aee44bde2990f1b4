import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from scipy.stats import norm

import unelisa as ue
from unelisa.analysis.rate import correct_shares, estimate_rate
from unelisa.analysis.scoring import bound_frequency
from unelisa.errors import ModelError, ReliabilityWarning, UnelisaWarning, VotesError

LEVEL = 0.95


def draw_labels(truth, n, rng):
    """Gold labels of n random items: items x classes."""
    labels = np.zeros_like(truth)
    drawn = rng.choice(len(truth), n, replace=False)
    labels[drawn] = truth[drawn]
    return labels


def two_sides(own, chance):
    return np.stack([~own, own], axis=1), np.stack([1 - chance, chance], axis=1)


def count_covered(truth, chances, n, draws=400, seed=0):
    """How often the intervals hold the true shares, per class, and their mean widths."""
    rng, goal = np.random.default_rng(seed), truth.mean(axis=0)
    found = np.array(
        [correct_shares(draw_labels(truth, n, rng), chances, LEVEL) for _ in range(draws)]
    )
    held = (found[:, :, 1] <= goal) & (goal <= found[:, :, 2])
    return held.mean(axis=0), (found[:, :, 2] - found[:, :, 1]).mean(axis=0)


def gold_alone(truth, n, draws=400, seed=0):
    """The mean width of Wilson's interval of gold labels alone, for finitely many items."""
    rng, rest = np.random.default_rng(seed), (len(truth) - n) / (len(truth) - 1)
    widths = []
    for _ in range(draws):
        shares = truth[rng.choice(len(truth), n, replace=False)].mean(axis=0)
        bounds = [bound_frequency(share, n / rest, LEVEL) for share in shares]
        widths.append([high - low for low, high in bounds])
    return np.mean(widths, axis=0)


@pytest.fixture(scope="module")
def items():
    """4000 items of which 30 % are in the class, and a random number for each."""
    rng = np.random.default_rng(3)
    return rng.random(4000) < 0.3, rng.random(4000)


MODELS = {
    "good": lambda own, noise: np.where(noise < 0.9, own, ~own) * 1.0,
    "biased": lambda own, noise: np.where(own, 0.9, 0.4 + 0.4 * noise),
    "upside down": lambda own, noise: np.where(noise < 0.9, ~own, own) * 1.0,
    "misses": lambda own, noise: own * (noise < 0.5) * 1.0,
    "useless": lambda own, noise: noise,
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n", [10, 50])
def test_the_interval_holds_whatever_the_model(items, name, n):
    truth, chances = two_sides(items[0], MODELS[name](*items))
    covered, width = count_covered(truth, chances, n)
    # .95 less three standard errors of 400 draws
    assert covered.min() >= 0.917
    assert np.all(width <= 1.05 * gold_alone(truth, n))


def test_a_good_model_makes_the_interval_narrower_and_classes_mirror_each_other(items):
    truth, chances = two_sides(items[0], MODELS["good"](*items))
    _, width = count_covered(truth, chances, 50)
    assert width[1] < 0.85 * gold_alone(truth, 50)[1]
    truth, chances = two_sides(items[0], MODELS["biased"](*items))
    labels = draw_labels(truth, 30, np.random.default_rng(1))
    no, yes = correct_shares(labels, chances, LEVEL)
    assert (1 - no.share, 1 - no.high, 1 - no.low) == pytest.approx(yes)
    scaled = correct_shares(labels, 0.4 + 0.1 * chances, LEVEL)
    assert scaled[1] == pytest.approx(yes)


def test_with_many_labels_the_interval_is_that_of_ppi_python():
    reason = "ppi-python, the independent check, installs a package named tests: by hand only"
    ppi = pytest.importorskip("ppi_py", reason=reason)
    rng = np.random.default_rng(0)
    own = rng.random(100_000) < 0.3
    chance = MODELS["good"](own, rng.random(len(own)))  # ppi-python has no lambda above 1
    drawn = rng.choice(len(own), 800, replace=False)
    rest = np.setdiff1d(np.arange(len(own)), drawn)
    low, high = ppi.ppi_mean_ci(own[drawn] * 1.0, chance[drawn], chance[rest], alpha=1 - LEVEL)
    labels, chances = two_sides(own, chance)
    known = np.zeros_like(labels)
    known[drawn] = labels[drawn]
    found = correct_shares(known, chances, LEVEL)[1]
    assert found.share == pytest.approx((low[0] + high[0]) / 2, abs=0.001)
    assert (found.low, found.high) == pytest.approx((low[0], high[0]), abs=0.002)


def test_rare_classes_and_few_labels_are_covered():
    rng = np.random.default_rng(5)
    own = rng.random(4000) < 0.04
    truth, chances = two_sides(own, own * (rng.random(4000) < 0.6) * 1.0)
    for n in (20, 50):
        covered, _ = count_covered(truth, chances, n)
        assert covered.min() >= 0.917


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_a_model_that_knows_nothing_leaves_the_gold_labels_alone(level):
    own = np.arange(200) % 4 == 0
    truth, chances = two_sides(own, np.full(200, 0.7))
    labels = draw_labels(truth, 40, np.random.default_rng(0))
    share = float(labels[:, 1].sum() / 40)
    expected = (share, *bound_frequency(share, 40 * 199 / 160, level))
    assert correct_shares(labels, chances, level)[1] == pytest.approx(expected)


def test_labels_of_one_class_or_of_all_items(items):
    own, noise = items
    truth, chances = two_sides(own, MODELS["good"](own, noise))
    labels = np.zeros_like(truth)
    labels[np.flatnonzero(~own)[:12], 0] = True
    no, yes = correct_shares(labels, chances, LEVEL)
    assert (no.share, yes.share, yes.low) == (1, 0, 0)
    assert yes.high == pytest.approx(bound_frequency(0.0, 12 * 3999 / 3988)[1])
    truth, chances = two_sides(items[0], MODELS["useless"](*items))
    for rate, share in zip(correct_shares(truth, chances, LEVEL), truth.mean(axis=0), strict=True):
        assert rate == pytest.approx((share, share, share))


@pytest.fixture(scope="module")
def panel():
    """Seven voters on 600 items of which 30 % are positive, and the truth."""
    rng = np.random.default_rng(2)
    truth = np.where(rng.random(600) < 0.3, 1, -1)
    right = rng.random((600, 7)) < np.array([0.9, 0.85, 0.8, 0.8, 0.75, 0.7, 0.65])
    return ue.Votes.of(np.where(right, truth[:, None], -truth[:, None]).astype(np.int8)), truth


@pytest.fixture(scope="module")
def drawn():
    """Three classes, eleven voters, and a model of them."""
    found = ue.simulate_classes(3, 11, 600, random_state=1)
    return found.votes, found.truth, ue.DawidSkene().fit(found.votes)


def test_shares_of_more_classes_have_a_row_each_and_are_covered(drawn):
    votes, codes, model = drawn
    truth = codes[:, None] == np.arange(1, 4)
    chances = model.predict_proba(votes)
    rng = np.random.default_rng(0)
    for n in (5, 50):
        rates = correct_shares(draw_labels(truth, n, rng), chances, LEVEL)
        assert sum(rate.share for rate in rates) == pytest.approx(1)
        assert all(rate.low <= rate.share <= rate.high for rate in rates)
    covered, width = count_covered(truth, chances, 50)
    assert covered.min() >= 0.917
    assert np.all(width <= 1.05 * gold_alone(truth, 50))
    labels = votes.name_codes(codes)
    gold = {votes.items[i]: labels[i] for i in range(0, 600, 15)}
    found = estimate_rate(model, votes, gold)
    assert list(found.index) == list(model.classes_)
    assert list(found.columns) == ["share", "low", "high"]
    known = np.isin(np.arange(600), np.arange(0, 600, 15))[:, None] & truth
    expected = correct_shares(known, model.predict_proba(votes), LEVEL)
    assert found.to_numpy() == pytest.approx(np.array(expected))


def test_gold_labels_may_be_a_dict_a_series_or_one_per_item(crowd):
    votes, truth = crowd
    model = ue.DawidSkene().fit(votes)
    first = pd.Series(truth[:40])  # its index, 0 to 39, names items too
    every = np.where(np.arange(600) < 40, truth, None)
    by_dict = estimate_rate(model, votes, dict(enumerate(truth[:40].tolist())))
    assert by_dict.equals(estimate_rate(model, votes, first))
    assert by_dict.equals(estimate_rate(model, votes, every))


@pytest.mark.filterwarnings("ignore::unelisa.errors.ReliabilityWarning")
@pytest.mark.parametrize("fitted", [{}, {"prevalence": (0.1, 0.25)}, {"y": {0: 1, 7: -1}}], ids=str)
def test_without_gold_share_and_interval_are_those_of_the_fit(panel, fitted):
    values = panel[0].values.copy()
    values[20:40] = 0  # items without votes have no part in it
    votes = ue.Votes.of(values, coding="pm1")
    model = ue.LatentIsing().fit(votes, **fitted)
    found = estimate_rate(model, votes, level=0.9)
    expected = model.prevalence_, *model.prevalence_interval_
    assert found.loc[1].to_numpy() == pytest.approx(expected, abs=2e-6)
    assert found.loc[-1].to_numpy() == pytest.approx(1 - found.loc[1, ["share", "high", "low"]])
    wider = estimate_rate(model, votes, level=0.99)
    low, share, high = logit(found.loc[1, ["low", "share", "high"]].to_numpy())
    ratio = norm.ppf(0.995) / norm.ppf(0.95)
    ends = expit([share + ratio * (low - share), share + ratio * (high - share)])
    assert wider.loc[1, ["low", "high"]].to_numpy() == pytest.approx(ends, abs=2e-6)


@pytest.mark.filterwarnings("ignore::unelisa.errors.ReliabilityWarning")
def test_other_items_and_more_classes_have_the_shares_of_the_fit(panel, drawn):
    votes, truth = panel
    model = ue.LatentIsing().fit(votes)
    most = votes.take_items(np.argsort(-truth, kind="stable")[:250])
    found, before = (estimate_rate(model, some, level=0.9).loc[1] for some in (most, votes))
    assert found["share"] == pytest.approx(model.predict_proba(most)[:, 1].mean())
    reach = [logit(one["high"]) - logit(one["share"]) for one in (found, before)]
    assert reach[0] == pytest.approx(reach[1])
    votes = drawn[0]
    model = ue.LatentIsing().fit(votes)
    found = estimate_rate(model, votes, level=0.9)
    assert found["share"].sum() == pytest.approx(1)
    assert found["share"].to_numpy() == pytest.approx(model.prevalence_)
    assert pytest.approx(model.prevalence_interval_) == found[["low", "high"]].to_numpy().T


def two_voters(rng, truth):
    return np.where(rng.random((300, 2)) < 0.8, truth[:, None], -truth[:, None])


def copies(rng, truth):
    one = np.where(rng.random((300, 1)) < 0.8, truth[:, None], -truth[:, None])
    return np.repeat(one, 5, axis=1)


def noise(rng, truth):
    return rng.choice([-1, 1], (len(truth), 6))


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
@pytest.mark.parametrize("method", [ue.LatentIsing, ue.DawidSkene])
@pytest.mark.parametrize("draw", [two_voters, copies, noise])
def test_votes_that_cannot_tell_give_a_warning(method, draw):
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], 300)
    votes = ue.Votes.of(draw(rng, truth).astype(np.int8))
    model = method().fit(votes)
    with pytest.warns(ReliabilityWarning, match="the votes do not show the share of each class"):
        found = estimate_rate(model, votes)
    if method is ue.DawidSkene:
        assert found[["low", "high"]].isna().all(axis=None)
    assert found["share"].sum() == pytest.approx(1)
    with_gold = estimate_rate(model, votes, dict(enumerate(truth[:50].tolist())))
    assert with_gold.loc[1, "low"] < np.mean(truth > 0) < with_gold.loc[1, "high"]


@pytest.mark.parametrize(
    ("gold", "sentence"),
    [
        ({"x": 1, 3: 1}, "1 of the 2 items with gold labels are not among the votes"),
        ({3: 1, 4: 7}, "in row 2 of gold"),
        ({}, "gold has no label"),
        ([1, None], "gold must hold one label or a missing value for each of the 600 items"),
    ],
)
def test_bad_gold_labels_are_refused(crowd, gold, sentence):
    votes, _ = crowd
    model = ue.DawidSkene().fit(votes)
    with pytest.raises(VotesError, match=sentence):
        estimate_rate(model, votes, gold)


def test_bad_models_levels_and_labels_are_refused_without_names(crowd, drawn):
    votes, _ = crowd
    for model in (ue.MajorityVote().fit(votes), "model"):
        with pytest.raises(ModelError, match="rates need a method with probabilities"):
            estimate_rate(model, votes)
    for level in (95, 1.0, "high"):
        with pytest.raises(ModelError, match="level must lie between 0 and 1"):
            estimate_rate(ue.DawidSkene().fit(votes), votes, level=level)
    votes, _, model = drawn
    with pytest.raises(VotesError, match="gold cannot be used: it holds a label that nobody"):
        estimate_rate(model, votes, {votes.items[0]: "none of these"})
    votes, _ = crowd
    model = ue.DawidSkene().fit(votes)
    model.reliable_, model.reliability_reason_ = False, "so it is"
    with pytest.warns(UnelisaWarning) as caught:
        estimate_rate(model, votes)
    assert str(caught[0].message) == (
        "the votes do not show the share of each class: so it is; pass gold labels of a random "
        "sample of the items"
    )


@pytest.mark.filterwarnings("ignore::unelisa.errors.VotesWarning")
@pytest.mark.parametrize("estimator", [ue.LatentIsing(), ue.DawidSkene()])
def test_gold_labels_of_the_fit_are_refused(estimator, crowd, tmp_path):
    votes, truth = crowd
    gold = {int(i): int(truth[i]) for i in range(40)}
    other = {int(i): int(truth[i]) for i in range(40, 90)}
    model = estimator.fit(votes, gold)
    with pytest.raises(ModelError, match="fitted to 40 of the 40 gold labels"):
        estimate_rate(model, votes, gold)
    with pytest.raises(ModelError, match="fitted to 1 of the 51 gold labels"):
        estimate_rate(model, votes, {**other, 3: 1})
    assert (estimate_rate(model, votes, other)["low"] > 0).all()
    ue.save(model, tmp_path / "model.npz")  # a file does not name the items
    with pytest.warns(ReliabilityWarning, match="was fitted to 40 gold labels"):
        estimate_rate(ue.load(tmp_path / "model.npz"), votes, other)
