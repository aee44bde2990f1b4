"""What speaks against a consensus over K classes."""

from collections.abc import Iterator

import numpy as np
from scipy.special import gammaln

from unelisa.latent.ballots import Sums
from unelisa.latent.consensus.checks import (
    DOUBTED,
    LEAST_CLEAR,
    LEAST_COVERAGE,
    SAME_LABELS,
    VANISHING,
)
from unelisa.latent.consensus.contest import LEAST_BRANCHES
from unelisa.latent.consensus.doubt import Doubt
from unelisa.latent.consensus.model import Floats
from unelisa.latent.crowd import Sample
from unelisa.latent.potts.contest import ClassChoice
from unelisa.latent.potts.model import list_answers
from unelisa.latent.reading import DECIDE, NOTHING_FOUND, TWO_READINGS, Caution

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
    yield from _are_few(choice)
    heard = sample.ballots.counts > 0
    said = np.bincount(majority[heard].argmax(axis=1), minlength=len(labels)) / heard.sum()
    lost = (said > COMMON_CLASS) & (labels / n_items < VANISHING * said)
    if lost.any():
        yield Caution(
            f"{np.count_nonzero(lost)} of {len(lost)} classes all but vanish: the votes' majority "
            f"names them on {said[lost].sum():.1%} of the items, the labels on "
            f"{labels[lost].sum() / n_items:.1%}; {DECIDE}"
        )
    if doubt.size > DOUBTED:
        yield Caution(
            f"the model leaves {doubt.at_most:.0%} of the voters' agreement unexplained and "
            f"contradicts their majority on {doubt.apart:.0%} of the items"
        )
    if choice.best.evidence - _find_nothing(sample) < np.log(max(n_heard, 2)):
        yield Caution(NOTHING_FOUND)
    if choice.rival is not None:
        share = choice.best.agreement(choice.rival)
        yield Caution(
            f"{TWO_READINGS}: the other one, '{choice.rival.kind}', agrees with the labels on "
            f"{share:.0%} of the items (see `readings_`); {DECIDE}"
        )


def _are_few(choice: ClassChoice) -> Iterator[Caution]:
    branches = choice.best.branches
    if choice.few is not None:
        lone = np.count_nonzero(choice.few < 0)
        branches = int(lone + choice.few.max() + 1)
    if branches < (LEAST_BRANCHES if choice.few is not None else LEAST_CLEAR):
        yield Caution(
            f"the voters are only {branches} independent branches, of which at least "
            f"{LEAST_CLEAR} are needed to tell how good each is"
        )


def _find_nothing(sample: Sample) -> float:
    """Return the log evidence of voters who answer independently of any truth.

    Each voter's shares of answers with a uniform prior: a Dirichlet-multinomial.
    """
    answers = list_answers(sample.ballots)[2]
    n_answers = int(answers.max(initial=0)) + 1
    cells = sample.ballots.voters.astype(np.int64) * n_answers + answers
    counts = np.bincount(cells, minlength=sample.n_voters * n_answers).reshape(-1, n_answers)
    alone = gammaln(n_answers) - gammaln(counts.sum(axis=1) + n_answers)
    return float(alone.sum() + gammaln(counts + 1.0).sum())
