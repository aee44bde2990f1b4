"""Gold labels: which reading of the votes they follow, and the reading fitted with them.

`comparison.py` asks whether the labels follow the votes' own reading, its opposite or neither;
`following.py` takes that reading, and fits it again with the labels as certain where that helps.
"""

from unelisa.latent.gold.following import follow_gold

__all__ = ["follow_gold"]
