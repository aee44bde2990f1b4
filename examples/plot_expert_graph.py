"""
Who is an expert
================

Twenty-five voters, seven of them experts, two of these contrarians: the graph that `UnElisa` learns
from their votes alone. Truth in the middle, experts around it, pruned voters outside; blue agrees,
red contradicts, grey lines are dependences between voters.

``python examples/plot_expert_graph.py docs/images/experts.png`` makes the picture of the README.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

import unelisa as ue

BLUE, RED, GREY = "#0072B2", "#D55E00", "#9aa0a6"

simulated = ue.simulate_votes(n_voters=25, n_experts="quarter", snr="high", random_state=2)
model = ue.UnElisa(random_state=0).fit(simulated.votes)

# %%
# Experts on an inner circle, everybody else on an outer one.


def circle(n, radius):
    angles = np.pi / 2 + 2 * np.pi * np.arange(n) / n
    return radius * np.column_stack([np.cos(angles), np.sin(angles)])


places = np.empty((25, 2))
places[model.experts_] = circle(len(model.experts_), 1.0)
pruned = np.setdiff1d(np.arange(25), model.experts_)
places[pruned] = circle(len(pruned), 1.9)

figure, axes = plt.subplots(figsize=(6.4, 5.6), layout="constrained")
for s, t, weight in model.graph_.edges:
    axes.plot(*places[[s, t]].T, color=GREY, linewidth=3 * abs(weight), alpha=0.45, zorder=1)
for s in model.experts_:
    color = BLUE if model.weights_[s] > 0 else RED
    axes.plot([0, places[s, 0]], [0, places[s, 1]], color=color, linewidth=2.5, zorder=2)
colors = np.select([model.polarity_ > 0, model.polarity_ < 0], [BLUE, RED], "#d5d8dc")
axes.scatter(*places.T, s=np.where(model.polarity_ != 0, 420, 260), c=colors, zorder=3)
axes.scatter(0, 0, s=900, c="white", edgecolors="black", linewidths=1.5, zorder=3)
axes.text(0, 0, "truth", ha="center", va="center", fontsize=9, zorder=4)
for s, (x, y) in enumerate(places):
    color = "white" if model.polarity_[s] else "#3c4043"
    axes.text(x, y, f"v{s}", ha="center", va="center", fontsize=7, color=color, zorder=4)
axes.set_aspect("equal")
axes.set_axis_off()
axes.set_title("7 experts of 25 voters, found without ground truth (red: contrarians)", fontsize=10)

if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=130)
