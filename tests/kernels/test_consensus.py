"""The sums of the consensus equal enumeration, vote by vote; a step of a voter is Newton's."""

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp

import naive
from unelisa.kernels.consensus import infer_states, normalize_voters, step_voters, sum_states

N_ITEMS, N_VOTERS = 30, 5
EASE = np.array([0.3, 0.9, 1.6])
SPREADS = 0.6, 1.0
CASES = [(2, 1), (2, 3), (3, 3), (4, 2)]


def draw_case(n_classes, n_eases, *, known=True):
    """A table of answers (-1: none), of which some items have none, and the kernels' arguments."""
    rng = np.random.default_rng(10 * n_classes + n_eases)
    table = rng.integers(0, n_classes, (N_ITEMS, N_VOTERS))
    table[rng.random(table.shape) < 0.4] = -1
    table[[0, 7]] = -1
    there = table >= 0
    starts = np.append(0, there.sum(axis=1).cumsum())
    votes = starts, np.nonzero(there)[1].astype(np.int32), table[there].astype(np.uint8)
    priors = rng.normal(size=(N_ITEMS if known else 0, n_classes))
    counts = np.array([1.0, 0.5, 1 / 3, 1.0, 0.0])
    weights, biases = rng.normal(1, 1, N_VOTERS), rng.normal(0, 1, (N_VOTERS, n_classes))
    ease = EASE[:n_eases]
    log_states = log_softmax(rng.normal(size=(n_classes, n_eases)).ravel())
    log_states = log_states.reshape(n_classes, n_eases)
    model = counts, weights, biases, ease, log_states
    cells = list_cells(counts, weights, biases, ease)
    return table, priors, model, ((*votes, priors), (cells, log_states))


def list_cells(counts, weights, biases, ease):
    """What an answer c of voter s adds to the log of class k at an ease."""
    norms, n_classes = normalize_voters(weights, biases, ease), biases.shape[1]
    cells = np.zeros((len(weights), n_classes, n_classes, len(ease))) - norms[:, None]
    for c in range(n_classes):
        cells[:, c, c] += weights[:, None] * ease
    return (counts[:, None, None, None] * cells).reshape(-1, n_classes * len(ease))


@pytest.mark.parametrize(("n_classes", "n_eases"), CASES)
@pytest.mark.parametrize("known", [True, False])
def test_posteriors_are_those_of_enumeration(n_classes, n_eases, known):
    table, priors, model, arguments = draw_case(n_classes, n_eases, known=known)
    found = infer_states(*arguments)
    assert found.shape == (N_ITEMS, n_classes, n_eases)
    for i in range(N_ITEMS):
        joint = naive.weigh_states(table[i], priors[i] if known else None, *model)
        assert found[i] == pytest.approx(np.exp(joint - logsumexp(joint)), abs=1e-12)


@pytest.mark.parametrize(("n_classes", "n_eases"), CASES)
def test_expected_counts_are_those_of_enumeration(n_classes, n_eases):
    table, priors, model, arguments = draw_case(n_classes, n_eases)
    met, right = np.zeros((N_VOTERS, n_classes, n_eases)), np.zeros((N_VOTERS, n_eases))
    states, likelihood = np.zeros((n_classes, n_eases)), 0.0
    biases = model[2]
    for row, prior in zip(table, priors, strict=True):
        if not (row >= 0).any():
            continue
        joint = naive.weigh_states(row, prior, *model)
        posterior = np.exp(joint - logsumexp(joint))
        # the votes' own biases, which do not depend on the state, are left out
        own = sum(model[0][s] * biases[s, c] for s, c in enumerate(row) if c >= 0)
        states, likelihood = states + posterior, likelihood + logsumexp(joint) - own
        for s, c in enumerate(row):
            if c >= 0:
                met[s] += posterior
                right[s] += posterior[c]
    found = sum_states(*arguments)
    for one, other in zip(found, (met, right, states, likelihood), strict=True):
        assert one == pytest.approx(other, abs=1e-9)


def test_normalizers_do_not_overflow():
    weights, biases = np.array([800.0, -800.0, 1.0]), np.array([[0.0, 700.0], [0, 0], [1, 2]])
    found = normalize_voters(weights, biases, EASE)
    for s in range(3):
        for k in range(2):
            lean = biases[s] + EASE[:, None] * weights[s] * (np.arange(2) == k)
            assert found[s, k] == pytest.approx(logsumexp(lean, axis=1))


def draw_counts(n_classes, share=0.4, n_votes=60):
    """Counts of voters who are mostly right, on items of which a share is of the first class."""
    rng = np.random.default_rng(n_classes)
    counts = np.zeros((N_VOTERS, n_classes, len(EASE), n_classes))
    for s, accuracy in enumerate(np.linspace(0.5, 0.95, N_VOTERS)):
        truth = rng.integers(1, n_classes, n_votes) * (rng.random(n_votes) >= share)
        other = (truth + rng.integers(1, n_classes, n_votes)) % n_classes
        said = np.where(rng.random(n_votes) < accuracy, truth, other)
        np.add.at(counts[s], (truth, rng.integers(0, len(EASE), n_votes), said), 1.0)
    return counts.sum(axis=(1, 2)), counts.sum(axis=3), np.einsum("skgk->sg", counts)


def objective(counts, s, weight, bias, center):
    """A voter's expected log-likelihood, less what the priors cost."""
    cast, met, right = counts
    total = cast[s] @ bias + weight * (right[s] @ EASE)
    total -= (met[s] * normalize_voters(np.array([weight]), bias[None], EASE)[0]).sum()
    cost = ((weight - center) / SPREADS[0]) ** 2 + ((bias / SPREADS[1]) ** 2).sum()
    return total - cost / 2


def slopes(counts, s, weight, bias, center, h=1e-4):
    """The gradient and the diagonal of the Hessian, by differences."""
    x, steps = np.append(weight, bias), h * np.eye(1 + len(bias))

    def value(point):
        return objective(counts, s, point[0], point[1:], center)

    ends = np.array([[value(x + step), value(x - step)] for step in steps])
    return (ends[:, 0] - ends[:, 1]) / (2 * h), (ends.sum(axis=1) - 2 * value(x)) / h**2


def clip_step(slope, curve, part):
    return np.clip(-part * slope / curve, -1, 1)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_a_step_is_newtons_with_a_diagonal_hessian(n_classes):
    rng = np.random.default_rng(0)
    counts, center = draw_counts(n_classes), 1.2
    start, biases = rng.normal(1, 0.3, N_VOTERS), rng.normal(0, 0.3, (N_VOTERS, n_classes))
    found, _, curvature = step_voters(*counts, start, biases, EASE, center, SPREADS)
    weights = found
    for _ in range(50):  # at the best weight only the biases move
        weights = step_voters(*counts, weights, biases, EASE, center, SPREADS)[0]
    own = step_voters(*counts, weights, biases, EASE, center, SPREADS)[1]
    for s in range(N_VOTERS):
        slope, curve = slopes(counts, s, start[s], biases[s], center)
        assert found[s] - start[s] == pytest.approx(clip_step(slope, curve, 1.0)[0], abs=1e-4)
        assert curvature[s] == pytest.approx(-curve[0], rel=1e-4)
        slope, curve = slopes(counts, s, weights[s], biases[s], center)
        steps = clip_step(slope, curve, 0.7)
        assert own[s] - biases[s] == pytest.approx(steps[1:], abs=1e-4)


@pytest.mark.parametrize(("n_classes", "share"), [(2, 0.4), (3, 0.4), (4, 0.4), (2, 0.95)])
def test_steps_end_where_the_gradient_vanishes(n_classes, share):
    counts = draw_counts(n_classes, share, n_votes=400)
    weights, biases = np.ones(N_VOTERS), np.zeros((N_VOTERS, n_classes))
    for _ in range(1000):
        weights, biases, _ = step_voters(*counts, weights, biases, EASE, 1.2, SPREADS)
    for s in range(N_VOTERS):
        slope, _ = slopes(counts, s, weights[s], biases[s], 1.2)
        assert slope == pytest.approx(0, abs=1e-4)


def test_a_voter_without_votes_moves_to_the_priors_center():
    nothing = np.zeros((1, 3)), np.zeros((1, 3, 3)), np.zeros((1, 3))
    weights, biases = np.array([0.4]), np.array([[0.5, 0.0, -0.5]])
    for _ in range(30):
        weights, biases, curvature = step_voters(*nothing, weights, biases, EASE, 1.2, SPREADS)
    assert weights == pytest.approx([1.2])
    assert biases == pytest.approx(0)
    assert curvature == pytest.approx([1 / SPREADS[0] ** 2])
