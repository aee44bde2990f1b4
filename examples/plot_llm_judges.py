"""
LLM judges, some of them the same model
=======================================

Twelve judges say whether an answer is good. Five are of different families and err independently.
Four are one model under different prompts: they repeat each other, right or wrong. One is contrary,
as a prompt that asks for "any problem" is, and two guess. Counting votes counts the one model four
times; and what is the truth here, what the five agree on or what the four do?
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import unelisa as ue
from unelisa import plots

rng = np.random.default_rng(1)
n = 2000
truth = rng.choice(np.array([-1, 1], dtype=np.int8), n)


def judge(leader, accuracy):
    """Votes that agree with the leader as often as stated."""
    return np.where(rng.random(n) < accuracy, leader, -leader)


model_a = judge(truth, 0.55)  # what the four prompts have in common knows next to nothing
judges = {f"family {k}": judge(truth, 0.8) for k in range(1, 6)}
judges |= {f"model A, prompt {k}": judge(model_a, 0.95) for k in range(1, 5)}
judges |= {"any problem?": judge(truth, 0.2), "guess 1": judge(truth, 0.5)}
judges |= {"guess 2": judge(truth, 0.5)}
said = pd.DataFrame(judges).replace({-1: "bad", 1: "good"})
votes = ue.Votes.of(said, coding=("bad", "good"))

# %%
# The votes alone allow both readings, and the fit says so.


def fit(gold=None):
    """Fit, and print what the model warns of."""
    with warnings.catch_warnings(record=True, action="always") as told:
        model = ue.LatentIsing(random_state=0).fit(votes, gold)
    print(*(warning.message for warning in told))
    print(f"{(model.predict(votes) == np.where(truth > 0, 'good', 'bad')).mean():.1%} right")
    return model


alone = fit()

# %%
# Twenty answers that a person has read decide between them.

gold = {item: "good" if truth[item] > 0 else "bad" for item in range(20)}
model = fit(gold)

# %%
# Verdicts with their reasons, as a table, and who repeats whom.

print(model.voters_[["voter", "verdict", "weight", "reason"]].to_string(index=False))
plots.graph(model, ax=plt.subplots(figsize=(6, 5.2), layout="constrained")[1])

# %%
# Without such labels, methods that weigh judges by how far they agree follow the four. `UnElisa`,
# which takes the hub of the judges' graph for the truth, does not: where judges may be copies of
# one another, its reading is worth a look too.

methods = ["latent-ising", "majority-vote", "dawid-skene", "unelisa"]
axes = plots.comparison(list(ue.compare_methods(votes, truth, methods)))
