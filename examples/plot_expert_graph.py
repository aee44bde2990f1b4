"""
Who is an expert
================

Twenty-five voters, seven of them experts, two of these contrarians: the graph that `LatentIsing`
learns from their votes alone. Truth in the middle, experts around it, pruned voters outside; blue
agrees, red contradicts, dashed lines are dependences between voters.

``python examples/plot_expert_graph.py docs/images/experts.png`` makes the picture of the README.
"""

import sys

import matplotlib.pyplot as plt

import unelisa as ue
from unelisa import plots

simulated = ue.simulate_votes(n_voters=25, n_experts="quarter", snr="high", random_state=2)
model = ue.LatentIsing(random_state=0).fit(simulated.votes)

figure, axes = plt.subplots(figsize=(6.4, 5.6), layout="constrained")
plots.graph(model, ax=axes)
found = f"{len(model.experts_)} experts of {simulated.votes.n_voters} voters"
axes.set_title(f"{found}, found without ground truth (diamonds: contrarians)", fontsize=10)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=130)

# %%
# The same links as the penalty falls: those between experts (strong lines) come first, and the
# theory's penalty (dashed) keeps nearly nothing else.

axes = plots.lambda_path(simulated.votes, experts=model.experts_)
