"""
A crowd looks at bluebirds
==========================

Thirty-nine people say whether 108 photographs show an Indigo Bunting or a Blue Grosbeak. Most find
this hard: a few know birds, many guess, and some have the two names the wrong way round. The votes
here are simulated to resemble the bluebirds data, with *more* contrarians; the tutorial uses the
real ones.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import unelisa as ue
from unelisa.report import plots

rng = np.random.default_rng(5)
truth = rng.choice(np.array([-1, 1], dtype=np.int8), 108)
accuracy = np.concatenate([rng.uniform(0.7, 0.85, 10), rng.uniform(0.45, 0.6, 20), [0.28] * 9])
right = rng.random((108, 39)) < accuracy
votes = ue.Votes.of(np.where(right, truth[:, None], -truth[:, None]), coding="pm1")

# %%
# The graph of 39 voters cannot be learned from 108 items, and nearly as many people have the names
# the wrong way round as know them. The model warns that such votes alone do not show which side is
# which.

with warnings.catch_warnings(record=True, action="always") as caught:
    model = ue.LatentIsing().fit(votes)
print(*(warning.message for warning in caught))

# %%
# The weight of each voter. People who have the names the wrong way round are reversed, not dropped.

plots.voters(model, most=39, ax=plt.subplots(figsize=(6, 7), layout="constrained")[1])

# %%
# Accuracy against the truth, which no method has seen.

methods = ["latent-ising", "majority-vote", "dawid-skene", "spectral-meta-learner"]
axes = plots.comparison(list(ue.compare_methods(votes, truth, methods)))
