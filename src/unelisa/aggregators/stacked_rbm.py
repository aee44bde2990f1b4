"""Stacked restricted Boltzmann machines (Shaham et al. 2016); one hidden unit is Dawid-Skene."""

from collections.abc import Callable, Sequence
from operator import index
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from unelisa.aggregators.base import Floats
from unelisa.aggregators.confusions import COINS, LEAST_VARYING, find_fits, fit_coins, start_at
from unelisa.aggregators.orientation import Orient, PosteriorAggregator, pool_votes
from unelisa.errors import ModelError
from unelisa.schema import stored
from unelisa.votes import Votes, order_voters
from unelisa.votes.ballots import list_ballots
from unelisa.votes.blocks import WholeTable, tally_votes, weigh_votes

BLOCK = 4096  # items converted to floats at a time
SHARE = 0.95  # of the sum of the singular values: the paper's rule for the number of hidden units
MAX_HIDDEN = 64  # a first machine as wide as 956 voters would take minutes
RATE, DECAY, BATCH = 0.5, 0.01, 100  # on simulated groups, superfluous units vanish in 500 steps
SEED = 0
TWO_TRAININGS = "chance: two trainings with different random numbers"


def _in_blocks(function: Callable[[Any], Any], values: NDArray[np.int8]) -> NDArray[Any]:
    parts = [function(values[first : first + BLOCK]) for first in range(0, len(values), BLOCK)]
    return np.asfortranarray(np.concatenate(parts))


class Layer(NamedTuple):
    """One machine of a stack: P(h_j = 1 | v) = sigmoid(bias_j + sum_s weights_js v_s)."""

    weights: Floats
    bias: Floats


def expect_votes(votes: NDArray[np.int8], coins: Floats, prevalence: float) -> Floats:
    """Return items x voters: 1 for yes, 0 for no, expectations under Dawid and Skene if missing."""
    seen, yes = (votes != 0).astype(np.float64), (votes > 0).astype(np.float64)
    if seen.all():
        return yes
    evidence = yes @ (logit(coins[1]) - logit(coins[0]))
    evidence += seen @ (np.log1p(-coins[1]) - np.log1p(-coins[0]))
    posterior = expit(logit(prevalence) + evidence)
    expected = coins[0] + np.outer(posterior, coins[1] - coins[0])
    return np.asarray(np.where(votes == 0, expected, yes))


def draw_states(probabilities: Floats, rng: np.random.Generator) -> NDArray[np.int8]:
    """Return -1 / +1, drawn with these probabilities of +1."""
    return np.where(rng.random(probabilities.shape) < probabilities, 1, -1).astype(np.int8)


def train_machine(
    states: NDArray[np.int8],
    n_hidden: int,
    steps: int,
    rng: np.random.Generator,
    decay: float = 0.0,
) -> Layer:
    """Return scikit-learn's machine, trained by contrastive divergence with weight decay.

    Steps start at the data: persistent chains never cross over if many voters follow the truth.
    """
    from sklearn.neural_network import BernoulliRBM  # noqa: PLC0415 - takes two seconds

    signed = tally_votes(states, np.ones(len(states)))[0]
    machine = BernoulliRBM(n_hidden, learning_rate=RATE)
    machine.components_ = np.asfortranarray(rng.normal(0, 0.01, (n_hidden, states.shape[1])))
    machine.intercept_hidden_ = np.zeros(n_hidden)
    machine.intercept_visible_ = logit(np.clip(0.5 + signed / len(states) / 2, 0.01, 0.99))
    weights, bias = np.zeros_like(machine.components_), np.zeros(n_hidden)
    for step in range(steps):
        batch = (states[rng.integers(len(states), size=BATCH)] > 0).astype(np.float64)
        hidden = climb(batch, [Layer(machine.components_, machine.intercept_hidden_)])
        machine.h_samples_ = (rng.random(hidden.shape) < hidden).astype(np.float64)
        machine._fit(batch, rng)
        machine.components_ *= 1 - RATE * decay
        if step >= steps // 2:
            weights += machine.components_
            bias += machine.intercept_hidden_
    return Layer(weights / (steps - steps // 2), bias / (steps - steps // 2))


def count_units(weights: Floats) -> int:
    """Return the smallest number of singular values whose sum exceeds 95 % of the sum of all."""
    values = np.linalg.svd(weights, compute_uv=False)
    share = np.cumsum(values) / max(float(values.sum()), np.finfo(float).tiny)
    return int(np.searchsorted(share, SHARE, side="right")) + 1 if share[-1] > SHARE else 1


def climb(block: NDArray[Any], layers: Sequence[Layer]) -> Floats:
    """Return the top layer's activations, each layer seeing the probabilities of the one below."""
    for weights, bias in layers:
        block = expit(block @ weights.T + bias)
    return np.asarray(block, dtype=np.float64)


def stack_machines(
    states: NDArray[np.int8], hidden: Sequence[int] | None, steps: int, rng: np.random.Generator
) -> list[Layer]:
    """Return the layers from the votes to a single unit, sizes given or found by `count_units`."""
    layers: list[Layer] = []
    while not layers or len(layers[-1].bias) > 1:
        width = states.shape[1]
        if hidden is None:
            wide = train_machine(states, min(width, MAX_HIDDEN), steps, rng, DECAY)
            # each layer must be narrower than the one below, or the stack would never end
            n_hidden = min(count_units(wide.weights), max(width - 1, 1))
        else:
            n_hidden = hidden[len(layers)]
        layer = train_machine(states, n_hidden, steps, rng)
        layers.append(finish_top(states, layer) if n_hidden == 1 else layer)
        # few items are drawn repeatedly, to limit the effect of chance on the layers above
        repeated = np.tile(states, (-(-BLOCK // len(states)), 1))
        states = _in_blocks(lambda block: draw_states(climb(block > 0, layers[-1:]), rng), repeated)
    return layers


def finish_top(states: NDArray[np.int8], layer: Layer) -> Layer:
    """Return the one-unit machine at the optimum of its likelihood, which EM finds from `layer`.

    The start is scaled to separate the items: equal probabilities are a stationary point.
    """
    inputs = weigh_votes(states, layer.weights[0] / 2, np.zeros(states.shape[1]))
    spread = float(inputs.std())
    start = expit((inputs - np.median(inputs)) * (2 / spread if spread > 0 else 1.0))
    blocks = WholeTable(states)
    fit = find_fits(list_ballots(blocks), COINS, [start_at(blocks, start)], LEAST_VARYING)[0]
    return as_layer(fit.coins, float(fit.shares[1]))


def as_layer(coins: Floats, prevalence: float) -> Layer:
    """Return Dawid and Skene's model as a machine with one hidden unit."""
    weights = logit(coins[1]) - logit(coins[0])
    bias = logit(prevalence) + (np.log1p(-coins[1]) - np.log1p(-coins[0])).sum()
    return Layer(weights[None, :], np.array([bias]))


def find_sign(values: NDArray[np.int8]) -> int:
    """Return the sign of the votes' sum, then of their margins' cubes; 1 if both are 0."""
    margins = values.sum(axis=1, dtype=np.int64)
    return int(np.sign(margins.sum()) or np.sign((margins**3).sum()) or 1)


def _layers_fit(model: "StackedRBM") -> bool:
    """Return whether every layer takes what the one below gives, up to a single unit."""
    sizes = [len(model.active_), *(len(bias) for bias in model.layer_biases_)]
    shapes = [weights.shape for weights in model.layer_weights_]
    return sizes[-1] == 1 and shapes == list(zip(sizes[1:], sizes[:-1], strict=True))


@stored(
    _layers_fit,
    sign_="sign",
    active_="index(voters)[active]",
    coins_="share[2, active]",
    fill_prevalence_="share",
    layer_weights_="many(layers) finite[units, inputs]",
    layer_biases_="many(layers) finite[units]",
    hidden_sizes_="many(layers) count",
    n_iter_="count",
)
class StackedRBM(PosteriorAggregator):
    """Stacked restricted Boltzmann machines (Shaham et al. 2016), on scikit-learn's BernoulliRBM.

    A machine with hidden units h has P(v, h) proportional to exp(a'v + b'h + h'W v). With one unit
    this is Dawid and Skene's model, h being the truth. If voters err together, further units absorb
    what they share: their activations are the votes of the next machine, up to a single unit, whose
    log-odds are the score.

    Departures: the top machine is finished by EM. Missing votes are imputed by Dawid-Skene, so that
    probabilities are overconfident on sparse votes. If fewer than three voters vary, the result is
    the majority vote's.

    Parameters
    ----------
    hidden
        The sizes of the layers, starting at the votes; the last must be 1. "auto": as many units as
        singular values of the weights make up 95 % of their sum, until one is left.
    max_iter
        Steps of contrastive divergence per machine, of 100 items each.
    orient
        As in `DawidSkene`.
    random_state
        Not used: every fit draws the same random numbers. Machines are trained twice; if a label
        differs, `reliable_` is False, with a warning.

    Attributes
    ----------
    hidden_sizes_
        Units per layer.
    weights_
        P(says yes | yes) - P(says yes | no), by the model's own probabilities.
    prevalence_, n_iter_
        Mean probability over the items with votes; steps per machine.

    References
    ----------
    Shaham, Cheng, Dror, Jaffe, Nadler, Chang and Kluger (2016), A deep learning approach to
    unsupervised ensemble learning. ICML, PMLR 48.

    Examples
    --------
    >>> import unelisa as ue
    >>> simulated = ue.simulate_votes(25, 9, "high", n_items=500, random_state=0)
    >>> model = ue.StackedRBM(hidden=(1,), random_state=0).fit(simulated.votes)
    >>> model.hidden_sizes_
    [1]
    """

    def __init__(
        self,
        hidden: str | Sequence[int] = "auto",
        *,
        max_iter: int = 500,
        orient: Orient = "majority",
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.hidden = hidden
        self.max_iter = max_iter
        self.orient = orient
        self.random_state = random_state

    def _fit(self, votes: Votes) -> None:
        sizes, voters = read_sizes(self.hidden), order_voters(votes)
        varying = voters[~votes.constant()[voters]]
        few = len(varying) < LEAST_VARYING  # then all voters take part in the majority vote
        self.active_ = voters if few else varying
        self.sign_ = find_sign(votes.values[:, self.active_])
        values, rng = self._arrange(votes), np.random.default_rng(SEED)
        values = np.asfortranarray(values[np.lexsort(values.T)])
        fit = fit_coins(values, len(varying), 3, max_iter=100)
        self.coins_, self.fill_prevalence_ = coins = fit.coins, float(fit.shares[1])
        if few:
            self._adopt([as_layer(*coins)], votes)
            return
        trained = []
        for _ in "12":
            states = values
            if not values.all():  # drawn: trained on expectations, units vanish
                states = _in_blocks(lambda x: draw_states(expect_votes(x, *coins), rng), values)
            trained.append(stack_machines(states, sizes, self.max_iter, rng))
        self._adopt(trained[1], votes)
        self._note_rival(votes, TWO_TRAININGS, allowed=0.0)
        self._adopt(trained[0], votes)

    def _adopt(self, layers: list[Layer], votes: Votes) -> None:
        self.layer_weights_ = [layer.weights for layer in layers]
        self.layer_biases_ = [layer.bias for layer in layers]
        self.hidden_sizes_ = [len(layer.bias) for layer in layers]
        self.n_iter_ = self.max_iter
        posterior = self._average_chances(votes)
        signed, seen = tally_votes(votes.values, posterior)
        all_signed, all_seen = tally_votes(votes.values, np.ones(len(posterior)))
        tiny = np.finfo(float).tiny
        gap = signed / np.maximum(seen, tiny)
        gap -= (all_signed - signed) / np.maximum(all_seen - seen, tiny)
        self.weights_ = np.where(votes.constant(), 0.0, gap / 2)

    def _arrange(self, votes: Votes) -> NDArray[np.int8]:
        return np.asfortranarray(np.int8(self.sign_) * votes.values[:, self.active_])

    def _score(self, votes: Votes) -> Floats:
        *lower, top = map(Layer, self.layer_weights_, self.layer_biases_)
        coins = self.coins_, self.fill_prevalence_

        def score(block: NDArray[np.int8]) -> Floats:
            activations = climb(expect_votes(block, *coins), lower)
            return np.asarray(activations @ top.weights[0] + top.bias[0])

        return _in_blocks(score, self._arrange(votes))

    def _turn_around(self) -> None:
        super()._turn_around()
        self.layer_weights_[-1] = -self.layer_weights_[-1]
        self.layer_biases_[-1] = -self.layer_biases_[-1]

    def _side_votes(self) -> Floats:
        return pool_votes(self.weights_)


def read_sizes(hidden: Any) -> Sequence[int] | None:
    """Return the sizes of the layers, or None for "auto"."""
    if isinstance(hidden, str) and hidden == "auto":
        return None
    try:
        sizes = [index(size) for size in hidden]
    except TypeError:
        raise ModelError(
            f"hidden must be 'auto' or sizes such as (4, 1), found {str(hidden)[:60]!r}"
        ) from None
    if not sizes or sizes[-1] != 1 or min(sizes) < 1 or 1 in sizes[:-1]:
        raise ModelError("hidden sizes must be greater than 1, except the last, which must be 1")
    return sizes
