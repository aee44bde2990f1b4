"""All methods on votes of more than two classes with known truth, and docs/classes.md."""
