"""
Which experts and edges to believe
==================================

With other items, would the same voters be experts, and would the same pairs have an edge?
`bootstrap` resamples the items, refits, and counts.
"""

import matplotlib.pyplot as plt

import unelisa as ue
from unelisa.report import plots

simulated = ue.simulate_votes(n_voters=16, n_experts=5, snr="medium", random_state=4)
stability = ue.bootstrap(simulated.votes, ue.UnElisa(), n_resamples=200, random_state=0)
print(stability)

# %%
# Blue bars are the experts of the fit to all items. A voter that is an expert in only half of the
# resamples is one by chance, whatever the fit says.

plots.stable_voters(stability)

# %%
# The same for the edges: the weight of each in the fit, and its 95% interval over the resamples.
# Red contradicts; gray edges appear in some resamples but not in the fit.

figure, axes = plt.subplots(figsize=(6.4, 6), layout="constrained")
plots.stable_edges(stability, most=25, ax=axes)

# %%
# The table of voters has a new column: the share of the resamples in which the verdict is the same.

columns = ["voter", "verdict", "weight", "stability"]
print(stability.fitted.voters_[columns].to_string(index=False))

# %%
# For a network without experts, as in psychometrics, bootstrap the regressions alone.

edges = ue.bootstrap(simulated.votes, ue.select_neighborhoods, n_resamples=200, random_state=0)
print(edges.edges.head(10).round(2).to_string(index=False))
