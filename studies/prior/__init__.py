"""The prior of `LatentIsing`, learned from real votes, leaving one source out at a time."""
