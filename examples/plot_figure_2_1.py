"""
Figure 2.1: a graph and its experts
===================================

The example of the paper: 18 voters, five of whom have an edge to the truth. Theorem 3.3 finds these
five from the graph that remains when the truth is hidden.
"""

import matplotlib.pyplot as plt
import pandas as pd

import unelisa as ue
from unelisa.report import plots
from unelisa.simulation.designs import figure_2_1, sample_ising

# %%
# The true graph, including the truth.

model = figure_2_1(weight=0.8, edge=0.5)
plots.graph(model, ax=plt.subplots(figsize=(6, 5.4), layout="constrained")[1])

# %%
# Ten thousand items are drawn from it, the truth is hidden, and the graph is learned from the votes
# alone. Now the experts have edges to each other: what they have in common is the truth.
#
# An edge must be selected by both of its voters. With the truth summed out, an expert's regression
# has small coefficients on voters that are not its neighbors, such as that of f1 on f8, whereas a
# non-expert's regression has none. With many items `edge_rule="either"` would keep such edges.

states = sample_ising(model, 10_000, random_state=0).states
names = [f"f{s}" for s in range(1, 19)]
votes = ue.Votes.of(pd.DataFrame(states[:, 1:], columns=names), coding="pm1")
fitted = ue.UnElisa(edge_rule="both", random_state=0).fit(votes)
print("experts:", ", ".join(names[s] for s in fitted.experts_))
axes = plots.graph(fitted, ax=plt.subplots(figsize=(6, 5.4), layout="constrained")[1])
