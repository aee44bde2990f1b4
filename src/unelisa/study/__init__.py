"""Studies: everything that compares methods or re-runs the paper."""
