"""Gold labels: which side is yes, which reading is meant, and what a regression on them adds.

A reading fits the labels as well as sigmoid(b + slope * its log-odds) does, b and the slope
averaged over their priors; twenty times better and the other side, or another reading, is taken.
From ten labels on, their log-odds are regressed on the reading's log-odds, on those of its rivals
and on every vote, with Gaussian priors around "as the reading says"::

    log-odds_i = z_i + intercept + sum_r slope_r bound(odds_ir) + sum_s w_s f_is

Five candidates differ in which coefficients may leave their prior mean, and how far. They are
averaged, not chosen, with weights by how well each predicts labels that were left out.
"""

from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit, logsumexp, softmax

from unelisa.blocks import ItemBlocks
from unelisa.latent.ballots import (
    Ballots,
    Floats,
    count_votes,
    fill_silence,
    set_prior_odds,
    take_ballots,
)
from unelisa.latent.reading import Links, Reading
from unelisa.schema import stored

LEAST_LABELS = 10  # fewer only decide which side is yes
MOST_LABELS = 2000  # evenly spaced among more: enough for the coefficients of a regression
LIKELIER = float(np.log(20))  # nats by which labels must favor another side or reading
FOLDS = 10
MOST_ODDS = 6.0  # bound of the log-odds that enter the regression
SLOPES = np.linspace(0.1, 3.0, 30)
SHIFTS = np.linspace(-3.0, 3.0, 13)
SLOPE_WIDTH = 0.5  # of the prior N(1, .) of a reading's slope; a rival's is N(0, .)
SHIFT_WIDTH = 0.5  # of the prior of the intercept
VOTE_WIDTHS = (0.25, 0.5, 1.0)  # of the prior of a vote's weight, one candidate each
TEMPER = 2.0  # divides the candidates' log scores on labels left out
MOVED_SHARE = 0.1  # of the items with another label: the reading is called "gold"
SURE_ERRORS = 2.0  # standard errors by which an expert's weight exceeds the crowd's

TURNED = "the gold labels swapped the sides"
CHOSEN = "the gold labels follow the other of the two readings that the votes allow"
OVERRULED = (
    "the gold labels contradict what the voters agree on, but too weakly to swap the sides: the "
    "voters' side is kept"
)
MOVED = "the gold labels do not follow what the voters agree on: they changed the labels of"


@stored(weights="finite[voters]", biases="finite[voters]", standard_errors="finite[voters]")
@dataclass(frozen=True, eq=False)
class JudgedVoters:
    """The voters as the truth according to gold labels has them: a, b and the error of a."""

    weights: Floats
    biases: Floats
    standard_errors: Floats
    converged: ClassVar[bool] = True

    @classmethod
    def of(cls, coins: Floats, votes: Floats, prevalence: float) -> "JudgedVoters":
        """Return the voters whose votes have these chances, two rows as in `Answers.coins`.

        logit P(yes | side) = 2 (b + a side), and the error that both shares' counts leave.
        """
        no, yes = logit(coins)
        counts = np.outer([1 - prevalence, prevalence], votes)
        spread = 1 / np.maximum(counts * coins * (1 - coins), 1e-9)
        return cls((yes - no) / 4, (yes + no) / 4, np.sqrt(spread.sum(axis=0)) / 4)


@stored(
    lambda reading: len(reading.slopes) == 1 + len(reading.rivals),
    model="JudgedVoters | Consensus | Hub",
    base="Reading",
    rivals="many Reading",
    intercept="finite",
    slopes="finite[readings]",
    vote_weights="finite[voters]",
)
@dataclass(frozen=True, eq=False, kw_only=True)
class GoldReading(Reading):
    """A reading, with a regression of gold labels on top of it."""

    base: Reading
    rivals: tuple[Reading, ...]
    intercept: float
    slopes: Floats  # of the log-odds of the base and of every rival
    vote_weights: Floats  # w_s

    @property
    def field(self) -> float:
        """theta_0: half the log-odds of an item without votes."""
        return self.base.field

    @property
    def links(self) -> Links:
        """The base's ties between voters."""
        return self.base.links

    @property
    def effective_voters(self) -> float:
        """How many equally good independent voters the votes are worth to the base."""
        return self.base.effective_voters

    def score(self, ballots: ItemBlocks) -> Floats:
        """Return the log-odds of every item's truth: the base's where nobody voted."""
        odds = collect_odds(ballots, (self.base, *self.rivals))
        said = ballots.view(fill_silence, self.silence).concatenate(_add_votes, self.vote_weights)
        heard = ballots.concatenate(attrgetter("counts")) > 0
        regressed = self.intercept + bound_odds(odds) @ self.slopes
        return np.where(heard, regressed, odds[:, 0]) + said

    def measure_ease(self, ballots: ItemBlocks) -> Floats:
        """Return how easy every item is for the voters."""
        return self.base.measure_ease(ballots)

    def is_upside_down(self, ballots: ItemBlocks, prior_odds: Floats) -> bool:  # noqa: ARG002
        """Return False: the gold labels have decided."""
        return False

    def turned(self) -> "GoldReading":
        """Return the same reading with the two sides of the truth swapped."""
        base, model = self.base.turned(), self.model
        if isinstance(model, JudgedVoters):
            model = replace(model, weights=-model.weights)
        return replace(
            self,
            base=base,
            model=model if isinstance(model, JudgedVoters) else base.model,
            rivals=tuple(one.turned() for one in self.rivals),
            others=tuple(one.turned() for one in self.others),
            answers=None if self.answers is None else self.answers.turned(),
            intercept=-self.intercept,
            vote_weights=-self.vote_weights,
        )


def follow_gold(
    ballots: ItemBlocks, prior_odds: Floats, gold: NDArray[np.int8], reading: Reading
) -> Reading:
    """Return the reading that the gold labels follow, regressed on them if there are ten or more.

    `gold` is -1 or +1 per item, 0 where unknown. Labels of items without votes say nothing of how
    labels follow from votes and are not used.
    """
    heard = ballots.concatenate(attrgetter("counts")) > 0
    gold = np.where(heard, gold, 0).astype(np.int8)
    if not gold.any():
        return reading
    reading, rivals = _choose_axis(set_prior_odds(ballots, prior_odds), gold, reading)
    if np.count_nonzero(gold) < LEAST_LABELS:
        return reading
    return _regress(ballots, prior_odds, gold, (reading, *rivals))


def _choose_axis(
    ballots: ItemBlocks, gold: NDArray[np.int8], reading: Reading
) -> tuple[Reading, tuple[Reading, ...]]:
    """Return the reading that the labels follow, on their side, and its rivals.

    Only ten labels or more choose between readings. They settle it where they are much less likely
    under all others, and by chance.
    """
    signs = gold[gold != 0].astype(np.float64)
    many, closed = len(signs) >= LEAST_LABELS, not reading.sign_is_open
    readings = (reading, *(reading.others if many else ()))
    evidence = _weigh_readings(ballots, gold, readings)
    toll = np.full(evidence.shape, LIKELIER)
    toll[0] = 0.0, LIKELIER if closed else 0.0
    kept, turn = np.unravel_index(np.argmax(evidence - toll), toll.shape)
    if turn:
        readings = tuple(one.turned() for one in readings)
    chosen, rivals = readings[kept], tuple(one for k, one in enumerate(readings) if k != kept)
    if kept:
        chosen = replace(chosen, others=rivals, coherence=reading.coherence).noting(CHOSEN)
    if turn and closed:
        chosen = chosen.noting(TURNED)
    elif closed and not many and evidence[0, 1] > evidence[0, 0]:
        chosen = chosen.noting(OVERRULED)
    chance = weigh_axis(np.zeros_like(signs), signs)
    next_best = np.delete(evidence, kept, axis=0).max(initial=chance)
    clear = many and evidence[kept, turn] - next_best > LIKELIER
    return (chosen.settled() if clear else chosen), rivals


def _weigh_readings(
    ballots: ItemBlocks, gold: NDArray[np.int8], readings: tuple[Reading, ...]
) -> Floats:
    """Return the log evidence of the labels under every reading, and under its opposite."""
    items = np.flatnonzero(gold)
    evidence = np.empty((len(readings), 2))
    for k, one in enumerate(readings):
        odds = bound_odds(one.score(ballots))
        units = odds[items] / max(float(odds.std()), 1e-9)
        evidence[k] = [weigh_axis(side * units, gold[items]) for side in (1, -1)]
    return evidence


def weigh_axis(odds: Floats, signs: NDArray[Any]) -> float:
    """Return the log evidence of labels under sigmoid(b + slope * odds): both averaged.

    b ~ N(0, 1) and slope ~ N(1, 1), slope > 0, for log-odds in units of their spread.
    """
    prior = -(np.subtract.outer(SLOPES, np.ones_like(SHIFTS)) ** 2 + SHIFTS**2) / 2
    fit = log_expit(signs * (SHIFTS[:, None] + SLOPES[:, None, None] * odds)).sum(axis=2)
    return float(logsumexp(prior + fit) - logsumexp(prior))


class Labeled(NamedTuple):
    """The labeled items, as a regression sees them."""

    columns: Any  # sparse: 1, log-odds of the reading and of each rival, votes
    signs: Floats  # the labels, -1 or +1
    prior_odds: Floats

    def take(self, rows: NDArray[np.bool_]) -> "Labeled":
        """Return some of the items."""
        return Labeled(self.columns[rows], self.signs[rows], self.prior_odds[rows])


class Candidate(NamedTuple):
    """Which coefficients may leave their prior mean, and how far."""

    name: str
    widths: Floats  # sd of each coefficient's prior; 0: it stays at its mean
    # log-odds that stay when the slope changes: of the share of yes, or 0 without an intercept
    pivot: float

    def fit(self, labeled: Labeled) -> Floats:
        """Return the most probable coefficients."""
        center = np.zeros(len(self.widths))
        center[1] = _fit_slope(labeled, self.pivot, float(self.widths[0]))
        center[0] = self.pivot * (1 - center[1])
        return center + solve_ridge(labeled, center, self.widths)

    def predict(self, labeled: Labeled) -> Floats:
        """Return the log-odds of every label, each fold's without its own labels."""
        folds, odds = np.arange(len(labeled.signs)) % FOLDS, labeled.prior_odds.copy()
        for fold in range(FOLDS):
            out = folds == fold
            odds[out] += labeled.columns[out] @ self.fit(labeled.take(~out))
        return odds


def list_candidates(n_odds: int, n_votes: int, pivot: float) -> list[Candidate]:
    """Return the candidates for so many readings and voters, the simplest first."""

    def spread(shift: float, slope: float, vote: float) -> Floats:
        return np.repeat([shift, slope, vote], [1, n_odds, n_votes])

    moving = SHIFT_WIDTH, SLOPE_WIDTH
    return [
        Candidate("slope", spread(0, 0, 0), 0.0),
        Candidate("intercept" if n_odds == 1 else "rivals", spread(*moving, 0), pivot),
        *(
            Candidate(f"votes, sd {width:g}", spread(*moving, width), pivot)
            for width in VOTE_WIDTHS
        ),
    ]


def weigh_candidates(labeled: Labeled, candidates: list[Candidate]) -> tuple[Floats, Floats]:
    """Return the candidates' weights, and their log scores on labels that were left out.

    A weight grows with the score. A candidate that is wrong on more of these labels than the first
    one, which keeps the reading's side of every item, has none.
    """
    margins = np.array([labeled.signs * one.predict(labeled) for one in candidates])
    errors = np.where(margins == 0, 0.5, margins < 0).sum(axis=1)
    scores = log_expit(margins).sum(axis=1)
    weights = softmax(np.where(errors <= errors[0], scores, -np.inf) / TEMPER)
    return weights, scores


def _fit_slope(labeled: Labeled, pivot: float, width: float) -> float:
    """Return the most probable slope at which log-odds turn about a pivot, on a grid.

    With the most probable intercept of those within two widths.
    """
    shifts = np.linspace(-2, 2, 5)[:, None, None] if width else np.zeros((1, 1, 1))
    odds = labeled.columns[:, [1]].toarray()[:, 0] - pivot
    known = pivot + labeled.prior_odds + width * shifts
    fit = log_expit(labeled.signs * (known + SLOPES[:, None] * odds)).sum(axis=2)
    prior = (SLOPES - 1) ** 2 / SLOPE_WIDTH**2 + shifts[:, :, 0] ** 2
    return float(SLOPES[np.argmax((fit - prior / 2).max(axis=0))])


def solve_ridge(labeled: Labeled, center: Floats, widths: Floats) -> Floats:
    """Return the most probable distance of the coefficients from their prior mean.

    Maximize sum_i log sigmoid(y_i odds_i) - sum_j (distance_j / width_j)^2 / 2.
    """
    distance, used = np.zeros(len(center)), np.flatnonzero(widths)
    if not len(used):
        return distance
    scaled = (labeled.columns[:, used] @ sp.diags_array(widths[used])).tocsr()
    turned, known = scaled.T.tocsr(), labeled.prior_odds + labeled.columns @ center

    def cost(x: Floats) -> tuple[float, Floats]:
        margins = labeled.signs * (known + scaled @ x)
        slope = turned @ (labeled.signs * expit(-margins))
        return float(x @ x / 2 - log_expit(margins).sum()), x - slope

    found = minimize(cost, np.zeros(len(used)), jac=True, method="L-BFGS-B")
    distance[used] = found.x * widths[used]
    return distance


def _regress(
    ballots: ItemBlocks,
    prior_odds: Floats,
    gold: NDArray[np.int8],
    readings: tuple[Reading, ...],
) -> Reading:
    """Return the first reading with the regression of the labels on top."""
    base, *rivals = readings
    odds = bound_odds(collect_odds(ballots, readings))
    labeled = _list_labeled(ballots.view(fill_silence, base.silence), prior_odds, gold, odds)
    pivot = float(logit(np.clip(expit(odds[:, 0]).mean(), 1e-3, 1 - 1e-3)))
    candidates = list_candidates(len(readings), ballots.n_voters, pivot)
    weights, scores = weigh_candidates(labeled, candidates)
    taken = [(w, one) for w, one in zip(weights, candidates, strict=True) if w > 0]
    coefficients = sum(w * one.fit(labeled) for w, one in taken)
    intercept, slopes, vote_weights = np.split(coefficients, [1, 1 + len(readings)])
    rows = [
        {"structure": f"gold labels: {one.name}", "gold_log_score": score, "weight": weight}
        for one, score, weight in zip(candidates, scores.tolist(), weights.tolist(), strict=True)
    ]
    inherited = {field.name: getattr(base, field.name) for field in fields(Reading)}
    inherited |= {"answers": None, "worth": None, "table": (*base.table, *rows)}
    reading = GoldReading(
        **inherited,
        base=_bare(base),
        rivals=tuple(_bare(one) for one in rivals),
        intercept=float(intercept[0]),
        slopes=slopes,
        vote_weights=vote_weights,
    )
    return _name_gold(set_prior_odds(ballots, prior_odds), reading)


def _name_gold(ballots: ItemBlocks, reading: GoldReading) -> GoldReading:
    """Return the reading, called gold and with its voters judged anew if many labels changed."""
    moved = np.mean((reading.score(ballots) > 0) != (reading.base.score(ballots) > 0))
    if moved <= MOVED_SHARE:
        return reading
    reading = reading.answering(ballots)
    filled = ballots.view(fill_silence, reading.silence)
    votes = filled.sum(count_votes, ballots.n_voters)[0]
    voters = JudgedVoters.of(reading.answers.coins, votes, reading.answers.prevalence)
    lead = voters.weights - votes @ voters.weights / max(votes.sum(), 1)
    experts = (votes > 0) & (lead > SURE_ERRORS * voters.standard_errors)
    reading = replace(reading, name="gold", model=voters, experts=experts)
    return reading.noting(f"{MOVED} {moved:.0%} of the items")


def collect_odds(ballots: ItemBlocks, readings: tuple[Reading, ...]) -> Floats:
    """Return every item's log-odds under every reading, without prior odds: items x readings."""
    bare = set_prior_odds(ballots, np.zeros(ballots.n_items))
    return np.stack([one.score(bare) for one in readings], axis=1)


def bound_odds(odds: Floats) -> Floats:
    """Return log-odds in the same order within bounds, so that no overconfident one rules a fit."""
    return np.asarray(MOST_ODDS * np.tanh(odds / MOST_ODDS))


def _list_labeled(
    ballots: ItemBlocks, prior_odds: Floats, gold: NDArray[np.int8], odds: Floats
) -> Labeled:
    """Return the labeled items; of very many, evenly spaced ones."""
    items = np.flatnonzero(gold)
    if len(items) > MOST_LABELS:
        items = items[np.linspace(0, len(items) - 1, MOST_LABELS).astype(np.intp)]
    run = take_ballots(ballots, items)
    said = run.votes.astype(np.float64), run.voters, run.starts
    votes = sp.csr_array(said, shape=(len(items), ballots.n_voters))
    columns = sp.hstack([np.ones((len(items), 1)), odds[items], votes], format="csr")
    return Labeled(columns, gold[items].astype(np.float64), prior_odds[items])


def _bare(reading: Reading) -> Reading:
    """Return a reading without what a regression on top of it says itself."""
    return replace(reading, others=(), table=(), notes=(), reasons=(), answers=None)


def _add_votes(ballots: Ballots, weights: Floats) -> Floats:
    """Return z_i + sum_s w_s f_is per item. A pass."""
    said = weights[ballots.voters] * ballots.votes
    return np.bincount(ballots.items, said, ballots.n_items) + ballots.prior_odds
