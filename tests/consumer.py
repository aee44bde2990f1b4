"""A program that uses the package, for `make check`: its types are seen as a consumer sees them."""

from typing import assert_type

import numpy as np

import unelisa as ue
from unelisa.aggregators import Aggregator

votes = ue.Votes.of(np.array([[1, -1], [-1, -1]]))
model: ue.MajorityVote = ue.MajorityVote()
model.fit(votes)
labels = model.predict(votes)
ue.save(model, "model.npz")
assert_type(ue.load("model.npz"), Aggregator)
assert_type(votes.n_items, int)
