"""Votes with known truth, kind by kind: every method on them, and docs/worlds.md."""
