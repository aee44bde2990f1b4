"""
Weak supervision: rules that abstain
====================================

Labelling rules vote where they apply and are silent elsewhere. Here ten keyword rules look for spam
in short messages that are made up on the spot; every message has a known truth, which is kept back.
"""

import matplotlib.pyplot as plt
import numpy as np

import unelisa as ue
from unelisa import plots

rng = np.random.default_rng(3)
SPAM = ["win", "free", "click", "prize", "cash", "offer"]
HAM = ["lunch", "meeting", "thanks", "home", "call", "report"]
truth = rng.choice(np.array([-1, 1], dtype=np.int8), 1500, p=[0.7, 0.3])


def write_message(spam):
    """A message of six words, most of them fitting."""
    own, other = (SPAM, HAM) if spam else (HAM, SPAM)
    return [str(rng.choice(own if rng.random() < 0.75 else other)) for _ in range(6)]


messages = [write_message(sign > 0) for sign in truth]
rules = {f"says {word}": (word, 1) for word in SPAM[:5]}
rules |= {f"says {word}": (word, -1) for word in HAM[:5]}

# %%
# A rule votes on the messages that hold its word: a table with many silent cells.

values = np.array(
    [[sign if word in message else 0 for word, sign in rules.values()] for message in messages],
    dtype=np.int8,
)
votes = ue.Votes(
    np.asfortranarray(values), np.arange(1500), np.array(list(rules), dtype=object), ("ham", "spam")
)
print(votes)

# %%
# A rule that never says anything but "spam" tells nothing by its votes alone, only by when it
# speaks; so a word's absence is made a vote as well, and each rule becomes a yes-or-no question.

asked = ue.Votes(
    np.where(values != 0, values, -np.sign(values.sum(axis=0))).astype(np.int8, order="F"),
    votes.items,
    votes.voters,
    votes.classes,
)
model = ue.DawidSkene(random_state=0).fit(asked)
print(f"{(model.predict(asked) == np.where(truth > 0, 'spam', 'ham')).mean():.1%} right")

# %%
# How sure the labels are, and whether their probabilities can be believed.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
plots.posterior(model, asked, ax=left)
axes = plots.calibration(model, asked, np.where(truth > 0, "spam", "ham"), ax=right)
