"""Panels of LLM judges: labels, pass rates and panels with a judge twice; docs/jury.md."""
