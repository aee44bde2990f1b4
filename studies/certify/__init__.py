"""Certified labels: how often the promise is broken, and how many answers it takes."""
