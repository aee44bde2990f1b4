"""Gold labels: what they decide and correct, on the items with gold labels and votes.

Of two classes, labels that clearly contradict a reading swap its sides. Ten or more choose between
readings, and correct them by a conditional logit with normal priors, whose sizes are weighed by the
likelihood of left-out labels: slope log P_reading(k) + offset_k + sum_s w_s [f_s = k].
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from unelisa.latent import prior
from unelisa.latent.reading import Correction, Reading
from unelisa.latent.trust import LEAST_LABELS, Checked
from unelisa.votes.ballots import Ballots, Floats, count_heard, take_ballots
from unelisa.votes.blocks import ItemBlocks

CLEAR = np.log(20)  # nats: strong evidence for another reading or the other side
WRONG = 0.1  # share of gold labels that are allowed for, so that one alone decides nothing
VOTES = (0.0, 0.1, 0.3, 1.0)  # spreads of the prior of w_s
FOLDS = 5
MOST_LABELS = 20_000  # of more, evenly spaced ones are used
SETTLED = 1e-6  # difference of shares
TURNED = "gold labels contradict the voters' majority: the sides were swapped"


class Labeled(NamedTuple):
    """The items with gold labels and votes."""

    logs: Floats  # log P of the reading, items x classes
    classes: NDArray[np.intp]  # the labels, as classes from 0
    known: Floats  # log P known besides the votes; 0 where nothing is
    votes: list[sp.csr_array]  # per class: who said so, items x voters

    def take(self, rows: NDArray[np.bool_]) -> "Labeled":
        """Return some of them."""
        parts = self.logs[rows], self.classes[rows], self.known[rows]
        return Labeled(*parts, [table[rows] for table in self.votes])

    def predict(self, correction: Correction) -> Floats:
        """Return the corrected log-probabilities."""
        said = np.stack([table @ correction.votes for table in self.votes], axis=1)
        logs = correction.slope * self.logs + correction.offsets + said + self.known
        return np.asarray(log_softmax(logs, axis=1))


def follow_gold(
    ballots: ItemBlocks, gold: NDArray[np.integer], reading: Reading
) -> tuple[Reading, Checked]:
    """Return the reading as gold labels correct it, and how right it was without each of them."""
    heard = ballots.concatenate(count_heard)
    items = np.flatnonzero((gold >= 0) & (heard > 0))
    if len(items) > MOST_LABELS:
        items = items[np.linspace(0, len(items) - 1, MOST_LABELS).astype(np.intp)]
    if not len(items):
        return reading, Checked()
    run = take_ballots(ballots, items)
    reading = _choose(run, gold[items], reading)
    labeled = _list_labeled(run, gold[items], reading)
    if len(items) < LEAST_LABELS:
        return reading, _check(labeled.logs + labeled.known, labeled.classes)
    correction, left_out = _fit(labeled, ballots.n_voters)
    correction = correction._replace(slope=correction.slope * reading.correction.slope)
    return replace(reading, correction=correction), _check(left_out, labeled.classes)


def _check(logs: Floats, classes: NDArray[np.intp]) -> Checked:
    chances = softmax(logs, axis=1)
    right = int(np.count_nonzero(logs.argmax(axis=1) == classes))
    return Checked(len(classes), right, float((chances * (1 - chances)).mean(axis=1).sum()))


def _choose(run: Ballots, classes: NDArray[np.integer], reading: Reading) -> Reading:
    """Return the reading that the labels follow, on their side."""
    turn, many = reading.n_classes == 2, len(classes) >= LEAST_LABELS
    sides = [(one, one.turned()) if turn else (one,) for one in reading.readings]
    fits = [[_weigh_labels(run, classes, side) for side in pair] for pair in sides]
    toll = 0.0 if reading.sign_is_open else CLEAR
    gains = {
        (k, side): fit - fits[0][0] - (CLEAR if k else 0.0) - (toll if side else 0.0)
        for k, pair in enumerate(fits if many else fits[:1])
        for side, fit in enumerate(pair)
    }
    kept, side = max(gains, key=gains.__getitem__)
    chosen, best = sides[kept][side], fits[kept][side]
    if kept:
        others = tuple(pair[side] for k, pair in enumerate(sides) if k != kept)
        chosen = replace(chosen, others=others, coherence=reading.coherence)
    if side and not reading.sign_is_open:
        chosen = chosen.noting(TURNED)
    rest = [max(pair) for k, pair in enumerate(fits) if k != kept]
    clear = many and all(best - other > CLEAR for other in rest)
    return chosen.settled() if clear else chosen


def _weigh_labels(run: Ballots, classes: NDArray[np.integer], reading: Reading) -> float:
    """Return the log-likelihood of the labels, of which some may be wrong."""
    chances = (1 - WRONG) * np.exp(reading.weigh_run(run)) + WRONG / reading.n_classes
    return float(np.log(chances[np.arange(len(classes)), classes]).sum())


def _list_labeled(run: Ballots, classes: NDArray[np.integer], reading: Reading) -> Labeled:
    n_classes, shape = reading.n_classes, (run.n_items, len(reading.family))
    logs = np.maximum(reading.correction.apply(run, reading.think(run)), np.log(prior.LEAST_CHANCE))
    known, answers = run.log_priors(n_classes), run.answer(n_classes)
    votes = [
        sp.csr_array(((answers == k).astype(np.float64), run.voters, run.starts), shape=shape)
        for k in range(n_classes)
    ]
    known = known if len(known) else np.zeros_like(logs)
    return Labeled(logs, classes.astype(np.intp), known, votes)


def _fit(labeled: Labeled, n_voters: int) -> tuple[Correction, Floats]:
    """Return the mean of the corrections by their weights, and predictions of left-out labels."""
    rows = np.arange(len(labeled.classes))
    held = np.empty((len(VOTES), *labeled.logs.shape))
    for logs, spread in zip(held, VOTES, strict=True):
        for fold in range(FOLDS):
            out = rows % FOLDS == fold
            found = fit_correction(labeled.take(~out), n_voters, spread)
            logs[out] = labeled.take(out).predict(found)
    weights = softmax([logs[rows, labeled.classes].sum() for logs in held])
    parts = [fit_correction(labeled, n_voters, spread) for spread in VOTES]
    slope, offsets, votes = (
        sum(w * part for w, part in zip(weights, column, strict=True))
        for column in zip(*parts, strict=True)
    )
    mean = Correction(float(slope), np.asarray(offsets), np.asarray(votes))
    return mean, np.log(np.einsum("m,mik->ik", weights, np.exp(held)))


def fit_correction(labeled: Labeled, n_voters: int, spread: float) -> Correction:
    """Return the most probable slope, offsets and weights of votes; without `spread` no weights."""
    n_classes = labeled.logs.shape[1]
    one_hot = np.eye(n_classes)[labeled.classes]
    scale = np.append(np.full(1 + n_classes, prior.GOLD_SPREAD), np.full(n_voters, spread))
    n_free = len(scale) if spread else 1 + n_classes

    def unpack(x: Floats) -> Correction:
        full = np.zeros(len(scale))
        full[:n_free] = x * scale[:n_free]
        return Correction(1 + full[0], full[1 : 1 + n_classes], full[1 + n_classes :])

    def cost(x: Floats) -> tuple[float, Floats]:
        logs = labeled.predict(unpack(x))
        missing = np.exp(logs) - one_hot
        gradient = [[(missing * labeled.logs).sum()], missing.sum(axis=0)]
        if spread:
            gradient.append(sum(t.T @ missing[:, k] for k, t in enumerate(labeled.votes)))
        slope = np.concatenate(gradient) * scale[:n_free]
        return float(x @ x / 2 - (one_hot * logs).sum()), x + slope

    from scipy.optimize import minimize  # noqa: PLC0415 - takes a tenth of a second

    found = minimize(cost, np.zeros(n_free), jac=True, method="L-BFGS-B")
    return unpack(found.x)


def match_prevalence(
    ballots: ItemBlocks, reading: Reading, bounds: Floats, rounds: int = 100
) -> Correction:
    """Return the offsets of log-probabilities with which every class's share lies in its bounds."""
    correction = reading.correction
    for _ in range(rounds):
        sums, heard = ballots.sum(_sum_chances, replace(reading, correction=correction))
        shares = np.clip(sums / max(float(heard), 1.0), 1e-12, 1.0)
        wanted = np.clip(shares, *bounds)
        moved = wanted != shares
        if np.abs(wanted - shares).max() < SETTLED:
            break
        # the other classes share what is left
        wanted[~moved] *= (1 - wanted[moved].sum()) / max(shares[~moved].sum(), 1e-12)
        step = np.log(np.clip(wanted, 1e-9, 1.0) / shares)
        correction = correction._replace(offsets=correction.offsets + step)
    return correction


def _sum_chances(ballots: Ballots, reading: Reading) -> tuple[Floats, ...]:
    """Return the sum of P over the items with votes, and their number. A pass."""
    heard = ballots.counts > 0
    chances = np.exp(reading.weigh_run(ballots)[heard]).sum(axis=0)
    return chances, np.asarray(np.count_nonzero(heard))
