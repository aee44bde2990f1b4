"""How often the intervals of `estimate_rate` hold, and how wide they are; docs/rate.md."""
