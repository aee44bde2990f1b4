"""
LLM judges, some of them the same model
=======================================

Nine judges say whether an answer is good. Five come from different families and err
independently. Three are the same model with different prompts: they repeat each other, right or
wrong. One is a contrarian, like a prompt that asks for "any problem". Counting votes counts the one
model three times. And what is the truth here: what the five agree on, or what the three agree on?
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import unelisa as ue
from unelisa.report import plots

rng = np.random.default_rng(1)
n = 2000
truth = rng.choice(np.array([-1, 1], dtype=np.int8), n)


def judge(leader, accuracy):
    """Return votes that agree with the leader as often as stated."""
    return np.where(rng.random(n) < accuracy, leader, -leader)


model_a = judge(truth, 0.55)  # what the three prompts share is close to a guess
judges = {f"family {k}": judge(truth, 0.8) for k in range(1, 6)}
judges |= {f"model A, prompt {k}": judge(model_a, 0.95) for k in range(1, 4)}
judges |= {"any problem?": judge(truth, 0.2)}
said = pd.DataFrame(judges).replace({-1: "bad", 1: "good"})
votes = ue.Votes.of(said, coding=("bad", "good"))

# %%
# The three prompts form a family, and each of them counts for less. If each counted once, many
# labels would be others: the votes allow two readings, and the fit warns about it.


def fit(gold=None):
    """Fit, and print the warnings and the accuracy."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        model = ue.LatentIsing().fit(votes, gold)
    print(*(warning.message for warning in caught))
    print(f"{model.score(votes, labels):.1%} right")
    return model


labels = np.where(truth > 0, "good", "bad")
alone = fit()
print(alone.families_)
print(alone.readings_.drop(columns="voters").round(2).to_string(index=False))

# %%
# The other reading counts each of the three once.

print(f"{alone.read(1).score(votes, labels):.1%} right")

# %%
# Twenty answers that a person has read decide between the readings.

gold = {item: labels[item] for item in range(20)}
model = fit(gold)
print("reliable:", model.reliable_)

# %%
# Verdicts with their reasons, and the families of the judges.

print(model.voters_[["voter", "verdict", "weight", "reason"]].to_string(index=False))
plots.graph(model, ax=plt.subplots(figsize=(6, 5.2), layout="constrained")[1])

# %%
# Methods that count judges, or weigh them by their agreement, follow the three.

methods = ["latent-ising", "majority-vote", "dawid-skene", "unelisa"]
axes = plots.comparison(list(ue.compare_methods(votes, truth, methods)))
