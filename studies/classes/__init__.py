"""Votes of more than two classes with known truth: all methods and other programs, docs/classes.md."""
