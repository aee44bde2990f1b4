"""Section 5.1 of the paper: 27 simulated cells, and docs/reproduction.md."""
