"""How often the intervals of `voters_` hold, and how wide they are; docs/worth.md."""
