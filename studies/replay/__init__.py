"""Votes bought one batch after another from what was recorded, and docs/replay.md."""
