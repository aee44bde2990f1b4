"""Probability of a disease from counts of codes and concepts; anchors define the truth."""
