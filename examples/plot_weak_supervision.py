"""
Weak supervision: labeling functions that abstain
=================================================

Labeling functions vote where they apply and abstain elsewhere. Here ten keyword rules look for spam
in short simulated messages, whose truth is known but not used.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import unelisa as ue
from unelisa.errors import VotesWarning
from unelisa.report import plots

rng = np.random.default_rng(3)
SPAM = ["win", "free", "click", "prize", "cash", "offer"]
HAM = ["lunch", "meeting", "thanks", "home", "call", "report"]
truth = rng.choice(np.array([-1, 1], dtype=np.int8), 1500, p=[0.7, 0.3])


def write_message(spam):
    """Return a message of six words, most of them typical of its class."""
    own, other = (SPAM, HAM) if spam else (HAM, SPAM)
    return [str(rng.choice(own if rng.random() < 0.75 else other)) for _ in range(6)]


messages = [write_message(sign > 0) for sign in truth]
rules = {f"says {word}": (word, "spam") for word in SPAM[:5]}
rules |= {f"says {word}": (word, "ham") for word in HAM[:5]}

# %%
# A rule votes on the messages that contain its word: a table with many missing votes.

said = {
    rule: [label if word in message else None for message in messages]
    for rule, (word, label) in rules.items()
}
votes = ue.Votes.of(pd.DataFrame(said), coding=("ham", "spam"))
print(votes)

# %%
# A rule that can only say "spam" is informative by *when* it votes. `LatentIsing` reads what rules
# say and ignores where they abstain.

warnings.simplefilter("ignore", VotesWarning)  # each rule gives one label only, by design
labels = np.where(truth > 0, "spam", "ham")
model = ue.LatentIsing().fit(votes)
print(f"{(model.predict(votes) == labels).mean():.1%} right")
print(model.voters_[["voter", "weight", "reason"]].to_string(index=False))

# %%
# If every rule was applied to every message, fill in the other label: then the absence of a word
# is a vote like any other, and the share of spam can be estimated too.

asked = pd.DataFrame(said)
for rule, (_, label) in rules.items():
    asked[rule] = asked[rule].fillna("ham" if label == "spam" else "spam")
asked = ue.Votes.of(asked, coding=("ham", "spam"))
model = ue.LatentIsing().fit(asked)
print(f"{(model.predict(asked) == labels).mean():.1%} right")

# %%
# The distribution of the probabilities, and their calibration.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
plots.posterior(model, asked, ax=left)
axes = plots.calibration(model, asked, labels, ax=right)
