"""How many answers `unelisa review` needs, in its order and in a random one; docs/review.md."""
