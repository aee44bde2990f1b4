"""What a branch does, given the class: class fields, a weight, shared and own confusions.

The log-odds of answer c in class k on an item of ease d are, up to what all answers share::

    x_kc = b_c + d (a A_kc + D_kc + e_kc)

The form A is the unit matrix, or falls with the distance of ordered classes. b, a and e are
Gaussian around centers with spreads that are learned from all branches (e around 0, so that it is
small unless many votes ask for it); D is what all branches confuse alike. Every coefficient has a
Gaussian posterior of its own, N(m, v), and the E-step takes the second order of the expectation::

    E log P(c | k, d) = log softmax_c(x_k) - 1/2 sum_c p_c (1 - p_c) var(x_kc)
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.latent.consensus.coefficients import SPREAD_VOTERS
from unelisa.schema import stored

Floats = NDArray[np.float64]

LONGEST_STEP = 1.0
LEAST_CHANCE = 1e-30  # of an answer: its logarithm is finite
# rows x classes x answers above which there are no confusions, nor ease: their probabilities fill
# the memory, and so few votes are behind each that they say nothing
MOST_CELLS = 2_000_000


class ClassPrior(NamedTuple):
    """Hyper-priors of the coefficients, and where EM begins: the binary model's, in Potts units.

    With two classes a = 2 a' and b = (-b', b'), a' and b' as in `consensus.coefficients`; so an
    entry of b has the binary spread times the square root of 2, and a has it twice.
    """

    weight: float  # mean of a's center
    first_weight: float  # where EM begins
    weight_spread: float  # a guess of a's spread, worth two voters
    confused: bool  # whether there are D and e
    # the same for all: sd of a's center and of b's; guesses of the spreads of b and e; sd of D
    center_spread: float = 1.2
    field_center_spread: float = 0.71
    field_spread: float = 0.42
    own_spread: float = 0.22
    shared_spread: float = 0.5
    first_spreads: tuple[float, float, float] = (0.71, 1.0, 0.32)  # of b, a and e
    # least spreads of b, a and e
    least: tuple[float, float, float] = (0.14, 0.3, 0.03)


BRANCHES = ClassPrior(1.2, 1.4, 0.8, confused=True)
MEMBERS = ClassPrior(2.4, 2.4, 1.0, confused=False)


@stored(
    fields="finite[rows, answers]",
    weights="finite[rows]",
    own="finite[rows, classes, answers]",
    field_variances="finite[rows, answers]",
    weight_variances="finite[rows]",
    own_variances="finite[rows, classes, answers]",
    shared="finite[classes, answers]",
    center="finite[answers]",
    weight_center="finite",
    spreads="positive[3]",
)
@dataclass(frozen=True, eq=False)
class ClassCoefficients:
    """Gaussian posteriors of b, a and e for every row, and what they come from."""

    # fields, weights, own: means of b (rows x answers), a (rows), e (rows x classes x answers)
    fields: Floats
    weights: Floats
    own: Floats
    # their variances
    field_variances: Floats
    weight_variances: Floats
    own_variances: Floats
    shared: Floats  # D: classes x answers
    # center, weight_center: means of b and a; spreads: sd of b, a and e
    center: Floats
    weight_center: float
    spreads: Floats

    @classmethod
    def first(cls, n_rows: int, form: Floats, prior: ClassPrior) -> "ClassCoefficients":
        """Return where EM begins: all rows alike."""
        n_classes, n_answers = form.shape
        spreads = np.array(prior.first_spreads)
        own = np.zeros((n_rows, n_classes, n_answers))
        confused = prior.confused and own.size <= MOST_CELLS
        return cls(
            np.zeros((n_rows, n_answers)),
            np.full(n_rows, prior.first_weight),
            own,
            np.full((n_rows, n_answers), spreads[0] ** 2),
            np.full(n_rows, spreads[1] ** 2),
            np.full_like(own, spreads[2] ** 2 if confused else 0.0),
            np.zeros((n_classes, n_answers)),
            np.zeros(n_answers),
            prior.first_weight,
            spreads,
        )

    @property
    def confused(self) -> bool:
        """Whether there are shared and own confusions."""
        return bool(self.own_variances.any())

    def find_chances(self, form: Floats, ease: float) -> Floats:
        """Return P(answer | class) at the means: rows x classes x answers."""
        found = self.weights[:, None, None] * form
        if self.confused:
            found += self.shared + self.own
        found *= ease
        found += self.fields[:, None, :]
        found -= found.max(axis=2, keepdims=True)
        np.exp(found, out=found)
        found /= found.sum(axis=2, keepdims=True)
        return found

    def tabulate(self, form: Floats, grid: Floats) -> Floats:
        """Return E log P(answer | state): rows x answers x states, states by class and ease."""
        tables = np.stack([self._expect(form, ease) for ease in grid], axis=2)
        n_rows, n_classes, n_ease, n_answers = tables.shape
        flat = tables.reshape(n_rows, n_classes * n_ease, n_answers)
        return np.ascontiguousarray(flat.transpose(0, 2, 1))

    def _expect(self, form: Floats, ease: float) -> Floats:
        chances = self.find_chances(form, ease)
        variances = self.weight_variances[:, None, None] * form**2 + self.own_variances
        variances = self.field_variances[:, None, :] + ease**2 * variances
        spread = (chances * (1 - chances) * variances).sum(axis=2, keepdims=True)
        return np.asarray(np.log(np.maximum(chances, LEAST_CHANCE)) - spread / 2)

    def moved(
        self, said: Floats, model: "Setting", steps: int, least: float = -np.inf
    ) -> "ClassCoefficients":
        """Return Newton steps toward the expected counts `said` (rows x answers x states)."""
        n_rows, n_answers, _ = said.shape
        shape = n_rows, n_answers, len(model.form), len(model.grid)
        counts = [np.ascontiguousarray(part) for part in said.reshape(shape).transpose(3, 0, 2, 1)]
        found = self
        for _ in range(steps):
            found = found._move_fields(counts, model)
            found = found._move_weights(counts, model, least)
            if self.confused:
                found = found._move_shared(counts, model)._move_own(counts, model)
        return found

    def _residuals(
        self, counts: list[Floats], model: "Setting"
    ) -> Iterator[tuple[float, Floats, Floats, Floats]]:
        """Yield for every ease: d, counts - n p, n p and p (rows x classes x answers)."""
        for ease, part in zip(model.grid, counts, strict=True):
            chances = self.find_chances(model.form, ease)
            expected = part.sum(axis=2, keepdims=True) * chances
            yield float(ease), part - expected, expected, chances

    def _move_fields(self, counts: list[Floats], model: "Setting") -> "ClassCoefficients":
        precision = 1 / self.spreads[0] ** 2
        gradient = -precision * (self.fields - self.center)
        # sum n p bounds the curvature of all answers together; sum n p (1 - p) is that of each
        bound, curvature = np.full_like(gradient, precision), np.full_like(gradient, precision)
        for _, residual, expected, chances in self._residuals(counts, model):
            gradient += residual.sum(axis=1)
            bound += expected.sum(axis=1)
            curvature += (expected * (1 - chances)).sum(axis=1)
        step = np.clip(gradient / bound, -LONGEST_STEP, LONGEST_STEP)
        return replace(self, fields=self.fields + step, field_variances=1 / curvature)

    def _move_weights(
        self, counts: list[Floats], model: "Setting", least: float
    ) -> "ClassCoefficients":
        precision = 1 / self.spreads[1] ** 2
        gradient = -precision * (self.weights - self.weight_center)
        curvature = np.full_like(gradient, precision)
        for ease, residual, expected, chances in self._residuals(counts, model):
            gradient += ease * (residual * model.form).sum(axis=(1, 2))
            totals = expected.sum(axis=2)
            mean, square = ((chances * model.form**power).sum(axis=2) for power in (1, 2))
            curvature += ease**2 * (totals * (square - mean**2)).sum(axis=1)
        step = np.clip(gradient / curvature, -LONGEST_STEP, LONGEST_STEP)
        weights = np.maximum(self.weights + step, least)
        return replace(self, weights=weights, weight_variances=1 / curvature)

    def _move_shared(self, counts: list[Floats], model: "Setting") -> "ClassCoefficients":
        precision = 1 / model.prior.shared_spread**2
        gradient = -precision * self.shared
        bound = np.full_like(gradient, precision)
        for ease, residual, expected, _ in self._residuals(counts, model):
            gradient += ease * residual.sum(axis=0)
            bound += ease**2 * expected.sum(axis=0)
        step = np.clip(gradient / bound, -LONGEST_STEP / 2, LONGEST_STEP / 2)
        return replace(self, shared=self.shared + step)

    def _move_own(self, counts: list[Floats], model: "Setting") -> "ClassCoefficients":
        precision = 1 / self.spreads[2] ** 2
        gradient = -precision * self.own
        bound, curvature = np.full_like(gradient, precision), np.full_like(gradient, precision)
        for ease, residual, expected, chances in self._residuals(counts, model):
            gradient += ease * residual
            bound += ease**2 * expected
            curvature += ease**2 * expected * (1 - chances)
        step = np.clip(gradient / bound, -LONGEST_STEP, LONGEST_STEP)
        return replace(self, own=self.own + step, own_variances=1 / curvature)

    def learned(self, on: NDArray[np.bool_], prior: ClassPrior) -> "ClassCoefficients":
        """Return the same rows with centers and spreads of those that were heard."""
        n_heard = np.count_nonzero(on)
        fields, weights = self.fields[on], self.weights[on]
        precision, hyper = 1 / self.spreads[0] ** 2, 1 / prior.field_center_spread**2
        center = fields.sum(axis=0) * precision / (n_heard * precision + hyper)
        center -= center.mean()
        precision, hyper = 1 / self.spreads[1] ** 2, 1 / prior.center_spread**2
        weight = (weights.sum() * precision + prior.weight * hyper) / (n_heard * precision + hyper)
        squares = [
            ((fields - center) ** 2 + self.field_variances[on]).mean(axis=1).sum(),
            ((weights - weight) ** 2 + self.weight_variances[on]).sum(),
            (self.own[on] ** 2 + self.own_variances[on]).mean(axis=(1, 2)).sum(),
        ]
        guesses = np.array([prior.field_spread, prior.weight_spread, prior.own_spread])
        variances = (np.array(squares) + SPREAD_VOTERS * guesses**2) / (n_heard + SPREAD_VOTERS)
        spreads = np.maximum(np.sqrt(variances), prior.least)
        return replace(self, center=center, weight_center=float(weight), spreads=spreads)

    def divergence(self, on: NDArray[np.bool_], prior: ClassPrior) -> float:
        """Return the sum over these rows of KL(posterior || prior), and what D costs."""
        total = _diverge(self.fields[on] - self.center, self.field_variances[on], self.spreads[0])
        away = self.weights[on] - self.weight_center
        total += _diverge(away, self.weight_variances[on], self.spreads[1])
        if self.confused:
            total += _diverge(self.own[on], self.own_variances[on], self.spreads[2])
            total += float((self.shared**2).sum()) / (2 * prior.shared_spread**2)
        return total

    def grown(self, place: int, n_rows: int) -> "ClassCoefficients":
        """Return the same coefficients with rows at the centers inserted at a place."""
        rows = [place] * n_rows
        fields, weights, own = self.spreads**2
        return replace(
            self,
            fields=np.insert(self.fields, rows, self.center, axis=0),
            weights=np.insert(self.weights, rows, self.weight_center),
            own=np.insert(self.own, rows, 0.0, axis=0),
            field_variances=np.insert(self.field_variances, rows, fields, axis=0),
            weight_variances=np.insert(self.weight_variances, rows, weights),
            own_variances=np.insert(
                self.own_variances, rows, own if self.confused else 0.0, axis=0
            ),
        )

    def without(self, rows: NDArray[np.bool_]) -> "ClassCoefficients":
        """Return the same coefficients with some rows, of voters who never voted, at 0."""
        column, square = rows[:, None], rows[:, None, None]
        return replace(
            self,
            weights=np.where(rows, 0.0, self.weights),
            fields=np.where(column, 0.0, self.fields),
            own=np.where(square, 0.0, self.own),
        )


class Setting(NamedTuple):
    """What the coefficients' steps need of a model."""

    form: Floats
    grid: Floats
    prior: ClassPrior


def _diverge(away: Floats, variances: Floats, spread: float) -> float:
    """Return the sum of KL(N(m, v) || N(0, sd^2)) with m = `away`."""
    scaled = variances / spread**2
    return float(((away / spread) ** 2 + scaled - 1 - np.log(scaled)).sum()) / 2
