"""
Who is an expert
================

Twenty-five voters, seven of them experts, two of these contrarians: the graph that `LatentIsing`
learns from their votes alone. The truth is in the center, experts around it, pruned voters outside.
Blue agrees, red contradicts, dashed lines are dependences between voters.

``python examples/plot_expert_graph.py docs/images/experts.png`` makes the picture in the README.
"""

import sys

import matplotlib.pyplot as plt

import unelisa as ue
from unelisa.report import plots

simulated = ue.simulate_votes(n_voters=25, n_experts="quarter", snr="high", random_state=2)
model = ue.LatentIsing().fit(simulated.votes)

figure, axes = plt.subplots(figsize=(6.4, 5.6), layout="constrained")
plots.graph(model, ax=axes)
found = f"{len(model.experts_)} experts of {simulated.votes.n_voters} voters"
axes.set_title(f"{found}, found without ground truth (diamonds: contrarians)", fontsize=10)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=130)

# %%
# The edges of the paper's graph as the penalty decreases. Those between experts (strong lines)
# enter first, and the theoretical penalty (dashed) keeps almost nothing else.

axes = plots.lambda_path(simulated.votes, experts=model.experts_)
