"""Judges of other definitions of a disease: P(case), and how much lower or higher it may be.

With w_i = P(case | anchors), the other features' log ratio g_i, and e, f_+ and f_- of
`posterior.judge_strictly`, the judges are

- P(case), of the cases whom the anchors show;
- the strict one, w_i (1 - e f_-(g_i) / f_+(g_i)): as few cases as the other features allow;
- the generous one, P_i + 2 (1 - P_i) B_i, B_i being P(case) without any anchor: as many as the
  anchors may miss;
- the strict one at half the odds, in case that P(case) is not well calibrated;
- P(case) if a share s of the others has all anchors by an error that these share: all P smaller in
  proportion, by s (1 - p) / p with the mean p of P;
- P(case) without one of the anchors.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from unelisa.ehr.counts import CountTable, Floats
from unelisa.ehr.phenotype import FittedPhenotype
from unelisa.ehr.posterior import MISSED, judge_strictly, share_errors


class Judges(NamedTuple):
    """P(case) of patients by several judges, and the largest share e of false ones."""

    patients: NDArray[np.generic]
    # judges x patients: P(case), strict, generous, strict at half the odds, with a shared error,
    # without each anchor
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
        blind, *without = expit(phenotype.shown.log_odds(one_less))
        chances = expit(phenotype.calibrate(table, scores))
        strict, doubtful = judge_strictly(expit(anchored), scores - anchored)
        generous = np.minimum(chances + MISSED * (1 - chances) * blind, 1)
        halved = strict / (2 - strict)
        share = max(float(chances.mean()), 1e-9)
        wrong = min(1.0, share_errors(phenotype.anchor_model.correlation) * (1 - share) / share)
        judged = np.vstack([chances, strict, generous, halved, (1 - wrong) * chances, *without])
        return cls(table.patients, judged, doubtful)
