"""The prior: every number of the default that votes cannot tell, learned from real votes.

`unelisa reproduce prior` fits or checks each on sets of votes with known truth, leaving one source
out at a time, and writes docs/prior.md: what each is for, its value, and what leaving it out costs
on sources that had no part in choosing it.
"""

import numpy as np

# The voters: a_s ~ N(mu, WEIGHT_SPREAD^2) with mu learned, as if PRIOR_VOTERS had mu = MEAN_WEIGHT;
# b_sc ~ N(0, BIAS_SPREAD^2).
MEAN_WEIGHT, PRIOR_VOTERS = 1.5, 3.0
WEIGHT_SPREAD, BIAS_SPREAD = 0.6, 1.0

# The items: their ease is one of three levels; 1 is about ordinary.
EASE = np.array([0.3, 0.9, 1.6])
LINK = 2.0  # the truth follows the voters at ease d with 1/K + (1 - 1/K) (2 sigmoid(LINK d) - 1)
CLASS_WEIGHT = 0.5  # of the log of the votes' shares, as log P(class): EM does not move it

# Two voters repeat each other where their partial correlation, less what chance adds, exceeds
# REPEATS; from REPEATS + RAMP on they are one.
REPEATS, RAMP = 0.68, 0.12

# The average: exponents of the model's probabilities and of the share of the votes.
MODEL_POWER, SHARE_POWER = 0.52, 0.57
LEAST_CHANCE = 1e-3  # in the average: nothing is surer than experience allows
UNHEARD = 0.1  # factor of the odds of a class that nobody named on an item, of more than two

# Trust: log-odds of the accuracy, its margins below and above (90 %) and downward at 10 %
ACCURACY = (-1.24, 1.61, 3.03)
BELOW, ABOVE, TAIL = 0.84, 1.24, 0.45
# A common error of all log-odds: SHIFT (1 + FEW / votes per item)
SHIFT, FEW = 0.75, 3.0
GATE = 0.125  # labels that differ from a plain majority's on more items: beyond experience

# A stated prevalence is matched by probabilities that are so many times as sure: those of the model
# are calibrated over sets, where the sure ones are too sure; most sets are surer than that
STATED_POWER = 2.0
