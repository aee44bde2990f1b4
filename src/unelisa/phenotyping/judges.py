"""Judges of other definitions of a disease: P(case), and how much lower or higher it may be.

Anchors w_i = P(case | anchors) and the other features' log ratio g_i bear on the truth apart. Of
the patients whom the anchors show, at most a share e are not cases: at every value of g, these
must be no more than there are,

    e = min over g of f_+(g) / f_-(g),

f_+ and f_- being the distributions of g weighted by w and by 1 - w (the mixture proportion of
Blanchard, Lee and Scott 2010). The judges are

- P(case) itself;
- the strict one, w_i (1 - e f_-(g_i) / f_+(g_i)): as few cases as the other features allow;
- the generous one, P_i + 2 (1 - P_i) B_i, B_i being P(case) without any anchor: as many as the
  anchors may miss;
- the strict one at half the odds, in case that P(case) is not well calibrated;
- P(case) without one of the anchors.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from unelisa.em import Z95
from unelisa.phenotyping.counts import CountTable, Floats
from unelisa.phenotyping.phenotype import FittedPhenotype
from unelisa.phenotyping.posterior import MISSED

# a minimum over few patients would follow chance
FEWEST_OTHERS = 20  # patients whom the anchors do not show, at a value of g
_QUANTILES = (*np.linspace(0.05, 0.95, 19), 0.975, 0.99, 0.995)


class Judges(NamedTuple):
    """P(case) of patients by several judges, and the largest share e of false ones."""

    patients: NDArray[np.generic]
    # judges x patients: P(case), strict, generous, strict at half the odds, without each anchor
    chances: Floats
    doubtful: float

    @classmethod
    def of(cls, phenotype: FittedPhenotype, table: CountTable) -> "Judges":
        """Return the judges of some patients."""
        scores, parts = phenotype.score(table), phenotype.anchor_parts(table)
        counts = table.values[:, phenotype.anchors]
        anchored = phenotype.anchor_model.log_odds(counts, table.log_use)
        total = parts.sum(axis=1)
        one_less = scores - np.column_stack([total, *parts.T]).T
        chances, blind, *without = expit(
            phenotype.calibration.log_odds(np.vstack([scores, one_less]))
        )
        strict, doubtful = _judge_strictly(expit(anchored), scores - anchored)
        generous = np.minimum(chances + MISSED * (1 - chances) * blind, 1)
        halved = strict / (2 - strict)
        judged = np.vstack([chances, strict, generous, halved, *without])
        return cls(table.patients, judged, doubtful)


def _judge_strictly(shown: Floats, others: Floats) -> tuple[Floats, float]:
    """Return the strict judge's P(case), and e, from w and g.

    Examples
    --------
    Half of the patients whom the anchors show look like those whom they do not:

    >>> shown = np.repeat([0.0, 1.0, 1.0], 1000)
    >>> others = np.r_[np.zeros(2000), np.ones(1000)]
    >>> strict, doubtful = _judge_strictly(shown, others)
    >>> round(doubtful, 1), strict[[1000, 2000]].round(1)
    (0.5, array([0., 1.]))
    """
    cuts = np.unique(np.quantile(others, _QUANTILES))
    bins = np.searchsorted(cuts, others, side="right")
    ours = np.bincount(bins, shown, len(cuts) + 1)
    theirs = np.bincount(bins, 1 - shown, len(cuts) + 1)
    scale = theirs.sum() / max(ours.sum(), 1e-12)
    enough = theirs >= FEWEST_OTHERS
    if not enough.any():
        return np.zeros_like(shown), 1.0
    highest = (ours + Z95 * (np.sqrt(ours) + 1))[enough] / theirs[enough] * scale
    doubtful = min(1.0, float(highest.min()))
    false = np.minimum(doubtful * theirs / np.maximum(ours, 1e-12) / scale, 1)
    return np.asarray(shown * (1 - false[bins])), doubtful
