"""The consensus: the truth is what the voters agree on, each of them counted once.

With a class k, an ease d, and weights a_s, biases b_sc and counts h_s (`repeats.py`) of the
voters::

    P(f_s = c | k, d) = softmax_c(b_sc + d a_s [c = k])
    P(k, d | f) ~ P(k) P(d) prod_s P(f_s | k, d)^h_s

P(k) is fixed, a power of the share of class k among the votes of voters who name more than one
class: along a free class rate, EM runs away from the truth on real votes.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from scipy.special import softmax

from unelisa.kernels.consensus import infer_states, normalize_voters, step_voters, sum_states
from unelisa.latent import prior
from unelisa.latent.crowd import Crowd
from unelisa.latent.reading import DECIDE, TWO_READINGS, Caution, Correction, Links, Reading
from unelisa.latent.repeats import MOSTLY, Compared, Repeaters, compare_voters, find_repeaters
from unelisa.latent.trust import LOSS
from unelisa.progress import each, until
from unelisa.schema import stored
from unelisa.votes.ballots import Ballots, Floats, Sums, count_answers, count_votes
from unelisa.votes.blocks import ItemBlocks

ROUNDS, TOLERANCE = 40, 1e-4  # of EM; nats per item
FIT_VOTES, WHOLE_ROUNDS = 300_000, 3  # on which EM runs; rounds on all votes after that
FEW = 1.0  # pseudo-votes for each class, and items of each ease, as Laplace's
# the readings in which voters who repeat each other count once each, and in which voters who
# perhaps repeat each other, on few common items, count as one
APART, TOGETHER = "repeaters apart", "suspects together"


@stored()
@dataclass(frozen=True, eq=False)
class Consensus:
    """A fitted model."""

    weights: Annotated[Floats, "finite[voters]"]  # a_s
    biases: Annotated[Floats, "finite[voters, classes]"]  # b_sc
    counts: Annotated[Floats, "share[voters]"]  # h_s
    log_classes: Annotated[Floats, "finite[classes]"]  # log P(k) of an item with votes
    log_unheard: Annotated[Floats, "finite[classes]"]  # and of one without
    ease: Annotated[Floats, "finite[eases]"]  # the levels of d
    ease_shares: Annotated[Floats, "chance[eases]"]  # P(d)
    center: Annotated[float, "finite"]  # mean weight
    standard_errors: Annotated[Floats, "float[voters]"]  # of a_s; NaN without votes

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.log_classes)

    @property
    def parameters(self) -> tuple[Floats, Floats]:
        """What a pass needs, besides the votes: the logs that an answer adds, and the states'."""
        norms = normalize_voters(self.weights, self.biases, self.ease)
        agree = np.eye(self.n_classes)[:, :, None] * self.ease
        raised = self.weights[:, None, None, None] * agree - norms[:, None]
        cells = (self.counts[:, None, None, None] * raised).reshape(-1, norms[0].size)
        return cells, self.log_classes[:, None] + np.log(self.ease_shares)

    @property
    def confusions(self) -> Floats:
        """P(says c | class k, d) per voter, class, ease and answer."""
        agree = np.eye(self.n_classes)[:, None, :] * self.ease[:, None]
        logits = self.biases[:, None, None, :] + self.weights[:, None, None, None] * agree
        return np.asarray(softmax(logits, axis=3))


def fit_consensus(crowd: Crowd, counts: Floats, *, ease: bool = True) -> Consensus:
    """Return the model of the votes; where they are many, EM runs on a part of the items first."""
    model, ballots, rounds = start(crowd, counts, ease=ease), crowd.ballots, ROUNDS
    part = crowd.draw_votes(FIT_VOTES)
    if part.ballots.n_items < ballots.n_items:
        cast, _ = count_votes(part.ballots, ballots.n_voters, crowd.n_classes)
        model = ballots.near(part.blocks).compute(run_rounds, model, cast, ROUNDS)
        rounds = WHOLE_ROUNDS
    fitted: Consensus = ballots.compute(run_rounds, model, crowd.cast, rounds)
    return fitted


def start(crowd: Crowd, counts: Floats, *, ease: bool) -> Consensus:
    """Return the model with equal weights and no bias: a weighted majority."""
    levels = prior.EASE if ease else np.ones(1)
    several = np.count_nonzero(crowd.cast, axis=1) > 1
    shares = np.stack([(counts * several) @ crowd.cast, counts @ crowd.cast]) + FEW
    known, unheard = prior.CLASS_WEIGHT * np.log(shares / shares.sum(axis=1, keepdims=True))
    n_voters = len(counts)
    return Consensus(
        np.full(n_voters, prior.MEAN_WEIGHT),
        np.zeros((n_voters, crowd.n_classes)),
        counts,
        known,
        unheard,
        levels,
        np.full(len(levels), 1 / len(levels)),
        prior.MEAN_WEIGHT,
        np.full(n_voters, np.nan),
    )


def run_rounds(ballots: ItemBlocks, model: Consensus, cast: Floats, rounds: int) -> Consensus:
    """Return the model after some rounds of EM, or when the likelihood has settled."""
    last = -np.inf
    for _ in each(range(rounds)):
        met, right, states, found = ballots.sum(sum_expected, model.parameters)
        # the biases of the votes that were cast are the same in all states
        likelihood = float(found) + float(model.counts @ (cast * model.biases).sum(axis=1))
        model = _maximize(model, cast, met, right, states)
        if abs(likelihood - last) < TOLERANCE * max(float(states.sum()), 1.0):
            break
        last = likelihood
    return model


def _maximize(
    model: Consensus, cast: Floats, met: Floats, right: Floats, states: Floats
) -> Consensus:
    """Return the model after an M-step: one Newton step per voter, new shares of ease."""
    spreads, heard = (prior.WEIGHT_SPREAD, prior.BIAS_SPREAD), cast.sum(axis=1) > 0
    weights, biases, curvature = step_voters(
        cast, met, right, model.weights, model.biases, model.ease, model.center, spreads
    )
    counts, shares = model.counts * heard, states.sum(axis=0) + FEW
    center = counts @ weights + prior.MEAN_WEIGHT  # of one pseudo-voter
    return replace(
        model,
        weights=weights,
        biases=biases,
        ease_shares=shares / shares.sum(),
        center=float(center / (counts.sum() + 1)),
        standard_errors=np.where(heard, 1 / np.sqrt(curvature), np.nan),
    )


def sum_expected(ballots: Ballots, parameters: tuple[Any, ...]) -> Sums:
    """Return the expected counts of the M-step, and the log-likelihood. A pass."""
    met, right, states, likelihood = sum_states(_list(ballots, parameters), parameters)
    return met, right, states, np.asarray(likelihood)


def average(ballots: Ballots, model: Consensus) -> Floats:
    """Return the logs of the average of model and share of the votes, without prior odds. A pass.

    P_k^MODEL_POWER share_k^SHARE_POWER, with share = (sum_s h_s [f_s = k] + 1) / (sum_s h_s + K).
    """
    chances, votes = believe(ballots, model), count_shares(ballots, model)
    shares = (votes + 1) / (votes.sum(axis=1, keepdims=True) + model.n_classes)
    logs = prior.MODEL_POWER * np.log(np.maximum(chances, prior.LEAST_CHANCE))
    return np.asarray(logs + prior.SHARE_POWER * np.log(shares))


def believe(ballots: Ballots, model: Consensus) -> Floats:
    """Return P(class) per item under the model alone, closer to 1 / K where it is hard. A pass."""
    posterior, n_classes = infer(ballots, model), model.n_classes
    chances = posterior[:, :, 0]
    if len(model.ease) > 1:
        right = np.tanh(model.ease)
        unsure = posterior.sum(axis=1) @ (1 - right) / n_classes
        chances = posterior @ right + unsure[:, None]
    chances[ballots.counts == 0] = softmax(model.log_unheard)
    if n_classes > 2:
        votes = count_shares(ballots, model)
        chances = np.where(votes == 0, prior.UNHEARD * chances, chances)
        chances /= chances.sum(axis=1, keepdims=True)
    return np.asarray(chances)


def infer(ballots: Ballots, model: Consensus) -> Floats:
    """Return the posterior of class and ease per item, without prior odds. A pass."""
    unknown = ballots._replace(prior_odds=np.zeros(ballots.n_items))
    return infer_states(_list(unknown, model.parameters), model.parameters)


def count_shares(ballots: Ballots, model: Consensus) -> Floats:
    """Return per item and class how much the voters who said it count. A pass."""
    return count_answers(ballots, model.counts, model.n_classes)


def expect_ease(ballots: Ballots, model: Consensus) -> Floats:
    """Return E d per item; NaN without votes. A pass."""
    ease = infer(ballots, model).sum(axis=1) @ model.ease
    return np.where(ballots.counts > 0, ease, np.nan)


def _list(ballots: Ballots, parameters: tuple[Any, ...]) -> tuple[Any, ...]:
    n_classes = len(parameters[-1])
    listed = ballots.starts, ballots.voters, ballots.answer(n_classes)
    return *listed, ballots.log_priors(n_classes)


@stored(model="Consensus", ties="Links", swapped="flag")
@dataclass(frozen=True, eq=False, kw_only=True)
class ConsensusReading(Reading):
    """The truth is what the voters agree on."""

    name: str = "consensus"
    model: Consensus
    ties: Links  # who repeats whom, with the excess of each pair
    swapped: bool = False  # whether the two sides of the truth are swapped

    @property
    def links(self) -> Links:
        """Who repeats whom."""
        return self.ties

    @property
    def field(self) -> float:
        """theta_0: half the log-odds of an item without votes; of more classes, of the last."""
        logs = self.model.log_unheard
        return float(logs[-1] - logs[0]) / 2 * (-1 if self.swapped else 1)

    @property
    def _unit(self) -> int:
        return 2 if self.n_classes == 2 else 1

    @property
    def weights(self) -> Floats:
        """a_s; of two classes half of it, as in logit P = 2 (b + a f0)."""
        weights = self.model.weights / self._unit
        return -weights if self.swapped else weights

    @property
    def fields(self) -> Floats:
        """b_s of two classes; of more, how far the last class is preferred to the first."""
        return np.asarray(self.model.biases[:, -1] - self.model.biases[:, 0]) / 2

    @property
    def standard_errors(self) -> Floats:
        """Standard error of each weight."""
        return self.model.standard_errors / self._unit

    @property
    def confusions(self) -> Floats:
        """P(says c | class k) per voter, averaged over the items' ease."""
        chances, shares = self.model.confusions, self.model.ease_shares
        found = np.asarray(np.einsum("skgc,g->skc", chances, shares))
        return found[:, ::-1] if self.swapped else found

    def think(self, ballots: Ballots) -> Floats:
        """Return the average of model and share of the votes, as log-probabilities."""
        logs = average(ballots, self.model)
        return logs[:, ::-1] if self.swapped else logs

    def measure_ease(self, ballots: ItemBlocks) -> Floats:
        """Return E d per item: 1 is ordinary, 0 is a coin flip for everybody."""
        if len(self.model.ease) == 1:
            return super().measure_ease(ballots)
        return ballots.concatenate(expect_ease, self.model)

    def turned(self) -> "ConsensusReading":
        """Return the same reading with the two sides of the truth swapped."""
        others = tuple(other.turned() for other in self.others)
        correction = self.correction.turned()
        return replace(self, swapped=not self.swapped, correction=correction, others=others)


def read_consensus(
    crowd: Crowd, structure: str = "auto", compared: Compared | None = None
) -> ConsensusReading:
    """Return the consensus; where voters repeat each other, compared with each counted once."""
    ease = structure in ("auto", "ease")
    if structure in ("auto", "families") and compared is None:
        compared = compare_voters(crowd)
    repeaters = find_repeaters(crowd, compared)
    with until(0.5):
        reading = _read(crowd, repeaters, structure, ease=ease)
    if compared is None:
        return reading
    rivals = {}
    if len(repeaters.excess) > repeaters.n_copies:
        rivals[APART] = repeaters.only_copies(crowd)
    suspected = find_repeaters(crowd, compared, surely=False)
    if np.abs(suspected.counts - repeaters.counts).max(initial=0) > MOSTLY / 2:
        rivals[TOGETHER] = suspected
    for name, other in rivals.items():
        with until(1.0):
            reading = _compare(crowd.ballots, reading, _read(crowd, other, name, ease=ease))
    return reading


def _read(crowd: Crowd, repeaters: Repeaters, structure: str, *, ease: bool) -> ConsensusReading:
    n_voters = crowd.ballots.n_voters
    return ConsensusReading(
        structure=structure,
        model=fit_consensus(crowd, repeaters.counts, ease=ease),
        ties=Links(repeaters.first, repeaters.second, repeaters.excess),
        experts=np.zeros(n_voters, dtype=np.bool_),
        heads=crowd.heads,
        family=repeaters.family,
        correction=Correction.none(crowd.n_classes, n_voters),
    )


def _compare(
    ballots: ItemBlocks, reading: ConsensusReading, other: ConsensusReading
) -> ConsensusReading:
    """Return the reading, with the other one as a rival where their labels differ."""
    first, second = (one.weigh(ballots).argmax(axis=1) for one in (reading, other))
    agreement = float(np.mean(first == second))
    if agreement >= 1 - LOSS:
        return reading
    how, ties = "if each counted once", reading.ties
    if other.structure == TOGETHER:
        how, ties = "if they counted as one", other.ties
    text = (
        f"{TWO_READINGS}: {{voters}} repeat each other more than they should, and labels would be "
        f"others on {1 - agreement:.0%} of the items {how}; {DECIDE}"
    )
    doubt = Caution(text, tuple(np.union1d(ties.first, ties.second).tolist()))
    others = (*reading.others, replace(other, agreement=agreement))
    return replace(reading, others=others, reasons=(*reading.reasons, doubt))
