"""How often every pair of voters agrees, by counting bits.

For votes -1 / +1 / 0 the sum over items of f_is f_it is (both voted) - 2 (both voted, differently).
On bit-packed votes that takes two AND / XOR and two population counts per 64 items: 15 to 20 times
faster than a float32 matrix product, and exact.
"""

import numpy as np
from numpy.typing import NDArray

from unelisa.kernels import kernel

Bits = NDArray[np.uint64]
Counts = NDArray[np.int64]


@kernel
def count_ones(bits: np.uint64) -> np.uint64:
    """Return the number of ones in 64 bits; the compiler knows this form, one instruction."""
    bits = bits - ((bits >> np.uint64(1)) & np.uint64(0x5555555555555555))
    quarters = np.uint64(0x3333333333333333)
    bits = (bits & quarters) + ((bits >> np.uint64(2)) & quarters)
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (bits * np.uint64(0x0101010101010101)) >> np.uint64(56)


@kernel
def _pack_word(votes: NDArray[np.int8], length: int) -> tuple[np.uint64, np.uint64]:
    """Return up to 64 votes as two words of bits."""
    ones = np.uint64(0)
    cast = np.uint64(0)
    for k in range(length):
        ones |= np.uint64(votes[k] > 0) << np.uint64(k)
        cast |= np.uint64(votes[k] != 0) << np.uint64(k)
    return ones, cast


@kernel
def pack_votes(votes: NDArray[np.int8], low: int, high: int, above: Bits, voted: Bits) -> None:
    """Write items low:high as bits, voters x words: above = (vote > 0), voted = (vote != 0)."""
    n_full = (high - low) // 64
    for s in range(votes.shape[0]):
        own = votes[s, low:high]
        for word in range(n_full):
            # a constant length, so that the loop over the bits vectorizes
            above[s, word], voted[s, word] = _pack_word(own[64 * word : 64 * word + 64], 64)
        if n_full < above.shape[1]:
            rest = own[64 * n_full :]
            above[s, n_full], voted[s, n_full] = _pack_word(rest, rest.size)


@kernel
def count_votes(above: Bits, voted: Bits, counts: Counts) -> None:
    """Add per voter the votes cast (column 0) and the votes +1 (column 1)."""
    for s in range(above.shape[0]):
        cast = np.uint64(0)
        ones = np.uint64(0)
        for word in range(above.shape[1]):
            cast += count_ones(voted[s, word])
            ones += count_ones(above[s, word])
        counts[s, 0] += np.int64(cast)
        counts[s, 1] += np.int64(ones)


@kernel
def add_complete(above: Bits, n_items: int, first: int, last: int, sums: Counts) -> None:
    """Add sum_i f_is f_it for s in first:last and t >= s, where nobody abstained.

    Four voters at a time, so that each word of voter t is read once for four counts.
    """
    n_voters, n_words = above.shape
    for s in range(first, last, 4):
        s1, s2, s3 = min(s + 1, last - 1), min(s + 2, last - 1), min(s + 3, last - 1)
        for t in range(s, n_voters):
            d0 = d1 = d2 = d3 = np.uint64(0)
            for word in range(n_words):
                x = above[t, word]
                d0 += count_ones(x ^ above[s, word])
                d1 += count_ones(x ^ above[s1, word])
                d2 += count_ones(x ^ above[s2, word])
                d3 += count_ones(x ^ above[s3, word])
            sums[s, t] += n_items - 2 * np.int64(d0)
            if s + 1 < last:
                sums[s1, t] += n_items - 2 * np.int64(d1)
            if s + 2 < last:
                sums[s2, t] += n_items - 2 * np.int64(d2)
            if s + 3 < last:
                sums[s3, t] += n_items - 2 * np.int64(d3)


@kernel
def add_incomplete(above: Bits, voted: Bits, first: int, last: int, sums: Counts) -> None:
    """Add sum_i f_is f_it for s in first:last and t >= s, over the items on which both voted."""
    n_voters, n_words = above.shape
    for s in range(first, last):
        for t in range(s, n_voters):
            both = np.uint64(0)
            differ = np.uint64(0)
            for word in range(n_words):
                shared = voted[s, word] & voted[t, word]
                both += count_ones(shared)
                differ += count_ones(shared & (above[s, word] ^ above[t, word]))
            sums[s, t] += np.int64(both) - 2 * np.int64(differ)


@kernel
def widen_votes(votes: NDArray[np.int8], low: int, high: int, out: NDArray[np.float32]) -> None:
    """Write items low:high as float32, voters x items, for a matrix product."""
    for s in range(votes.shape[0]):
        # slices, not votes[s, low + i]: index arithmetic prevents vectorizing (8 times slower)
        own, wide = votes[s, low:high], out[s, : high - low]
        for i in range(wide.size):
            wide[i] = own[i]
