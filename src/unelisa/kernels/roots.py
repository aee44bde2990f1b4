"""Where a function of one number is zero."""

from collections.abc import Callable
from math import copysign, inf

CLOSE = 8.881784197001252e-16  # four times the spacing of floats near 1
MOST_STEPS = 100


def find_root(
    function: Callable[[float], float], low: float, high: float, tol: float = 2e-12
) -> float:
    """Return a root between two places where the signs differ, by Brent's method.

    Every step interpolates between the last places, or halves the interval where that is too slow.
    The bits are those of `scipy.optimize.brentq`, whose import takes a tenth of a second.
    """
    last, now = float(low), float(high)
    last_value, value = function(last), function(now)
    if last_value == 0:
        return last
    other, other_value, before, step = last, last_value, 0.0, 0.0
    for _ in range(MOST_STEPS):
        if last_value != 0 and value != 0 and copysign(1, last_value) != copysign(1, value):
            other, other_value = last, last_value
            before = step = now - last
        if abs(other_value) < abs(value):
            last, now, other = now, other, now
            last_value, value, other_value = value, other_value, value
        least, half = (tol + CLOSE * abs(now)) / 2, (other - now) / 2
        if value == 0 or abs(half) < least:
            break
        tried = inf
        if abs(before) > least and abs(value) < abs(last_value):
            tried = _interpolate((last, last_value), (now, value), (other, other_value))
        if 2 * abs(tried) < min(abs(before), 3 * abs(half) - least):
            before, step = step, tried
        else:
            before = step = half
        last, last_value = now, value
        now += step if abs(step) > least else copysign(least, half)
        value = function(now)
    return now


def _interpolate(
    last: tuple[float, float], now: tuple[float, float], other: tuple[float, float]
) -> float:
    """Return the step from the second place to where a curve through all three is zero."""
    (x, fx), (y, fy), (z, fz) = last, now, other
    if x == z:
        return -fy * (y - x) / (fy - fx)
    dx, dz = (fx - fy) / (x - y), (fz - fy) / (z - y)
    below = dz * dx * (fz - fx)
    return -fy * (fz * dz - fx * dx) / below if below else inf
