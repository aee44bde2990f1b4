"""Which side of the truth is yes: an anchor voter's, or else the prior's and the majority's."""

from typing import Any

import numpy as np

from unelisa.aggregators.orientation import is_upside_down
from unelisa.errors import ModelError
from unelisa.latent import interpret
from unelisa.latent.reading import Reading
from unelisa.progress import until
from unelisa.votes import Votes
from unelisa.votes.ballots import Floats, set_prior_odds
from unelisa.votes.blocks import ItemBlocks

CONTRADICTION = (
    "the prior and the anchor voter point to opposite sides: the anchor decides which side is yes, "
    "and the prior contradicts the votes"
)


def read_sides(votes: Votes, ballots: ItemBlocks, prior_odds: Floats, model: Any) -> Reading:
    """Return the reading of the votes, on the side of the anchor, or of prior and majority.

    `model` says which structure and which orientation are asked for.
    """
    if votes.n_classes > 2 and model.orient != "majority":
        raise ModelError("orient takes two classes; more than two have no sides to swap")
    with until(0.9):
        reading = interpret(ballots, model.structure, votes.n_classes)
    if votes.n_classes > 2:
        return reading
    bare = set_prior_odds(ballots, np.zeros(ballots.n_items))
    scores = reading.score(bare) if prior_odds.any() or model.orient != "majority" else np.empty(0)
    if model.orient != "majority":
        turned = is_upside_down(model.orient, votes, scores, np.empty(0))
    elif prior_odds.any():
        turned = bool(prior_odds @ scores < 0)
    else:
        turned = reading.leans_down()
    if not turned:
        return _note_contradiction(reading, prior_odds, scores)
    if prior_odds.any() and not reading.sign_is_open:
        # the majority's side was fitted, where the prior has the opposite sign
        reading = interpret(set_prior_odds(ballots, -prior_odds), model.structure)
    return _note_contradiction(reading.turned(), prior_odds, -scores)


def _note_contradiction(reading: Reading, prior_odds: Floats, scores: Floats) -> Reading:
    differ = prior_odds.any() and bool(prior_odds @ scores < 0)
    return reading.doubting(CONTRADICTION) if differ else reading
