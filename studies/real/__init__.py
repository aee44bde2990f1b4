"""All methods on sets of real votes with known truth, and docs/comparison.md."""
