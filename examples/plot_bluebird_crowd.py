"""
A crowd looks at bluebirds
==========================

Thirty-nine people say of 108 photographs whether they show an indigo bunting or a blue grosbeak, a
task that most find hard: a few know birds, many guess, and some have the two names the wrong way
round. The votes here are drawn to be like the well-known bluebirds data, so that the truth is
known.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import unelisa as ue
from unelisa import plots

rng = np.random.default_rng(5)
truth = rng.choice(np.array([-1, 1], dtype=np.int8), 108)
accuracy = np.concatenate([rng.uniform(0.7, 0.85, 10), rng.uniform(0.45, 0.6, 20), [0.28] * 9])
right = rng.random((108, 39)) < accuracy
votes = ue.Votes.of(np.where(right, truth[:, None], -truth[:, None]), coding="pm1")

# %%
# With 108 items the graph of 39 voters cannot be learned, and nearly as many people have the names
# the wrong way round as know them. The model says so: nobody can tell from such votes alone which
# side is which.

with warnings.catch_warnings(record=True, action="always") as told:
    model = ue.LatentIsing(random_state=0).fit(votes)
print(*(warning.message for warning in told))

# %%
# Who counts, and for how much: people who have the names the wrong way round are turned around
# instead of thrown away.

plots.voters(model, most=39, ax=plt.subplots(figsize=(6, 7), layout="constrained")[1])

# %%
# Against the truth, which no method has seen.

methods = ["latent-ising", "majority-vote", "dawid-skene", "spectral-meta-learner"]
axes = plots.comparison(list(ue.compare_methods(votes, truth, methods)))
