"""How far the figures of `evaluate_rules` are from the truth; docs/rules.md."""
