"""The numeric cores: arrays in, arrays out, NumPy and Numba only."""
