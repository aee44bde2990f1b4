"""Simulated votes with known truth: section 5.1's designs, and crowds on more than two classes."""

from unelisa.simulation.designs import simulate_classes, simulate_votes

__all__ = ["simulate_classes", "simulate_votes"]
