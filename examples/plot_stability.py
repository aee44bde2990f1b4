"""
Which experts and links to believe
==================================

Had other items been voted on, would the same voters be experts, and the same pairs be linked?
`bootstrap` draws the items anew, fits again, and counts.
"""

import matplotlib.pyplot as plt

import unelisa as ue
from unelisa import plots

simulated = ue.simulate_votes(n_voters=16, n_experts=5, snr="medium", random_state=4)
stability = ue.bootstrap(simulated.votes, ue.UnElisa(), n_resamples=200, random_state=0)
print(stability)

# %%
# Blue bars are the experts of the fit to all items. A voter that is an expert in half of the draws
# is one by chance, whatever the fit says.

plots.stable_voters(stability)

# %%
# The same for the links: the weight of each in the fit, and the interval that holds it in 95% of
# the draws. Red contradicts; grey links are in some draws, but not in the fit.

figure, axes = plt.subplots(figsize=(6.4, 6), layout="constrained")
plots.stable_edges(stability, most=25, ax=axes)

# %%
# The voters' table of the fitted model has gained a column: in how many of the draws the verdict is
# the same.

columns = ["voter", "verdict", "weight", "stability"]
print(stability.fitted.voters_[columns].to_string(index=False))

# %%
# Psychologists who have only a network in mind bootstrap the regressions alone.

links = ue.bootstrap(simulated.votes, ue.select_neighborhoods, n_resamples=200, random_state=0)
print(links.edges.head(10).round(2).to_string(index=False))
