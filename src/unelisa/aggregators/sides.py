"""Which side of the truth is yes: an anchor voter's, or else the prior's and the majority's."""

import numpy as np

from unelisa.blocks import ItemBlocks
from unelisa.latent import Structure, interpret
from unelisa.latent.ballots import Floats, set_prior_odds
from unelisa.latent.reading import Reading
from unelisa.orientation import Orient, is_upside_down
from unelisa.progress import until
from unelisa.votes import Votes

CONTRADICTION = (
    "the prior and the anchor voter point to opposite sides: the anchor decides which side is yes, "
    "and the prior contradicts the votes"
)


def read_sides(
    votes: Votes, ballots: ItemBlocks, prior_odds: Floats, structure: Structure, orient: Orient
) -> Reading:
    """Return the reading of the votes, on the side of the anchor, or of prior and majority."""
    with until(0.9):
        reading = interpret(set_prior_odds(ballots, prior_odds), structure)
    if orient == "majority":
        turned = reading.is_upside_down(ballots, prior_odds)
        return reading.turned() if turned else reading
    scores = reading.score(ballots)
    turned = is_upside_down(orient, votes, scores, np.empty(0))
    if turned and prior_odds.any() and not reading.sign_is_open:
        # the majority's side was fitted, where the prior has the opposite sign
        reading = interpret(set_prior_odds(ballots, -prior_odds), structure)
    reading = reading.turned() if turned else reading
    differ = float(prior_odds @ scores) * (-1 if turned else 1) < 0
    return reading.noting(CONTRADICTION) if differ else reading
