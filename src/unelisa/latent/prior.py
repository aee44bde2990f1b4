"""The prior: every number of the default that votes do not determine, learned from real votes.

`unelisa reproduce prior` fits or checks each, leaving one source out at a time: docs/prior.md. The
numbers of edges/ were chosen on designed votes.
"""

import numpy as np

# The voters: a_s ~ N(mu, WEIGHT_SPREAD^2) with mu learned, as if one voter more had MEAN_WEIGHT;
# b_sc ~ N(0, BIAS_SPREAD^2).
MEAN_WEIGHT = 1.5
WEIGHT_SPREAD, BIAS_SPREAD = 0.6, 1.0

# The items: their ease is one of three levels; 1 is about ordinary. P(class) is a power of the
# votes' shares: EM does not move it.
EASE = np.array([0.3, 0.9, 1.6])
CLASS_WEIGHT = 0.5

# Two voters repeat each other where their partial correlation, less what chance adds, exceeds
# REPEATS; from REPEATS + RAMP on they are one.
REPEATS, RAMP = 0.68, 0.12

# The average: exponents of the model's probabilities and of the share of the votes.
MODEL_POWER, SHARE_POWER = 0.51, 0.59
LEAST_CHANCE = 1e-3  # nothing is surer than experience allows
UNHEARD = 0.1  # factor of the odds of a class that nobody named on an item, of more than two

# Trust: log-odds of the accuracy, its margins below and above (90 %) and downward at 10 %
ACCURACY = (-1.26, 1.59, 3.42)
BELOW, ABOVE, TAIL = 0.87, 1.27, 0.50
# A common error of all log-odds: SHIFT (1 + FEW / votes per item)
SHIFT, FEW = 0.75, 3.0
GATE = 0.125  # labels that differ from a plain majority's on more items: beyond experience

# The coherence kappa of the votes: below COHERENT the truth is the hub of the voters' graph, from
# SURELY_COHERENT on it is what they agree on.
COHERENT, SURELY_COHERENT = 0.2, 0.3

# Gold labels correct log P(k) to slope log P(k) + offset_k: spread of both priors, around 1 and 0
GOLD_SPREAD = 0.5
