"""What speaks against a consensus over K classes."""

from collections.abc import Iterator

import numpy as np
from scipy.special import gammaln

from unelisa.latent.ballots import Sums
from unelisa.latent.consensus.checks import (
    LEAST_COVERAGE,
    SAME_LABELS,
    VANISHING,
    tell_doubt,
    tell_few,
    tell_unclear,
    tell_vanishing,
)
from unelisa.latent.consensus.doubt import Doubt
from unelisa.latent.consensus.model import Floats
from unelisa.latent.crowd import Sample
from unelisa.latent.potts.contest import ClassChoice, count_branches
from unelisa.latent.reading import (
    DECIDE,
    LEAST_CLEAR,
    NOTHING_FOUND,
    TWO_READINGS,
    Caution,
)

SHARED = ", so the labels are the share of the votes"
COMMON_CLASS = 0.05  # share of the majority's labels of a class that must not vanish


def find_class_reasons(
    sample: Sample, choice: ClassChoice, sums: Sums, majority: Floats, doubt: Doubt
) -> Iterator[Caution]:
    """Yield why the labels may be wrong.

    `sums` are those of `reading.sum_classes`, `majority` the majority's share of each class on the
    items that were compared.
    """
    (n_items, n_heard, _), labels, (same, votes) = sums[0], sums[2], sums[5]
    often = (votes > LEAST_COVERAGE * n_items) & (same > SAME_LABELS * votes)
    if np.count_nonzero(often & choice.best.model.lone) == 1:
        text = "the labels are those of one voter, {voters}: nothing shows whether it is right"
        yield Caution(text, (int(np.argmax(often & choice.best.model.lone)),))
    if choice.few is not None:
        yield tell_few(choice.few, count_branches(choice.few), SHARED)
    elif choice.best.clear < LEAST_CLEAR:
        yield tell_unclear(choice.best.clear)
    heard = sample.ballots.counts > 0
    said = np.bincount(majority[heard].argmax(axis=1), minlength=len(labels)) / heard.sum()
    left = labels / n_items
    lost = (said > COMMON_CLASS) & (left < VANISHING * said)
    if lost.any():
        most = int(np.argmax(np.where(lost, said - left, 0)))
        yield tell_vanishing(float(left[most]), float(said[most]))
    yield from tell_doubt(doubt)
    if choice.best.evidence - _find_nothing(sample) < np.log(max(n_heard, 2)):
        yield Caution(NOTHING_FOUND)
    if choice.rival is not None:
        share = choice.best.agreement(choice.rival)
        yield Caution(
            f"{TWO_READINGS}: the other one, '{choice.rival.kind}', agrees with the labels on "
            f"{share:.0%} of the items (see `readings_`); {DECIDE}"
        )


def _find_nothing(sample: Sample) -> float:
    """Return the log evidence of voters who answer independently of any truth.

    Each voter's shares of answers with a uniform prior: a Dirichlet-multinomial.
    """
    answers = sample.ballots.answers
    n_answers = int(answers.max(initial=0)) + 1
    cells = sample.ballots.voters.astype(np.int64) * n_answers + answers
    counts = np.bincount(cells, minlength=sample.n_voters * n_answers).reshape(-1, n_answers)
    alone = gammaln(n_answers) - gammaln(counts.sum(axis=1) + n_answers)
    return float(alone.sum() + gammaln(counts + 1.0).sum())
