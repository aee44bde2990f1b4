"""
LLM judges, some of them the same model
=======================================

Twelve judges say whether an answer is good. Five are of different families and err independently.
Four are one model under different prompts: they repeat each other, right or wrong. One is contrary,
as a prompt that asks for "any problem" is, and two guess. Counting votes counts the one model four
times.
"""

import matplotlib.pyplot as plt
import numpy as np

import unelisa as ue
from unelisa import plots
from unelisa.study.comparison import compare_methods

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
names = np.array(list(judges), dtype=object)
values = np.asfortranarray(np.column_stack(list(judges.values())).astype(np.int8))
votes = ue.Votes(values, np.arange(n), names, ("bad", "good"))

# %%
# The four prompts are linked to each other, and hardly to anybody else.

model = ue.UnElisa(random_state=0).fit(votes)
plots.graph(model, ax=plt.subplots(figsize=(6, 5.2), layout="constrained")[1])

# %%
# Verdicts with their reasons, as a table.

print(model.voters_[["voter", "verdict", "weight", "reason"]].to_string(index=False))

# %%
# What it is worth, beside the other methods.

methods = ["unelisa", "majority-vote", "dawid-skene", "latent-spectral-meta-learner"]
axes = plots.comparison(list(compare_methods(votes, truth, methods)))
