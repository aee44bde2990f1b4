"""Every sum over the items that the GPU solver needs, exact to a stated bound.

A GPU's matrix units multiply halves and add in float32, which drifts. So coefficients and tanh z
are rounded to a grid of 22 bits and split into two halves of 11 bits: partial sums over at most
2^13 items are whole numbers of steps below 2^24, exact in float32, and are added up in float64. The
only error is the rounding of tanh z, see `DeviceItems.noise`.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from unelisa.paper.solvers.base import L1Problem

RUN = 1 << 13  # items whose sum of 11-bit numbers is exact in float32
CHUNK = 1 << 27  # numbers in one chunk of items x voters: .5 GB in float32
COARSE, FINE, DOUBLE = 11, 22, 53  # bits of a pass: high halves, both halves, float64
SAMPLE = 1 << 14  # items, at least, whose curvature makes a thorough Hessian
ROUNDING = 2.0**-24  # relative error of one float32 operation
HIGH, LOW = 1.5 * 2.0**12, 1.5 * 2.0**1  # adding these rounds to multiples of 2^-11, of 2^-22


@dataclass(frozen=True)
class DeviceItems:
    """The items on a device."""

    votes: Tensor  # voters x items, int8
    halves: dict[int, Tensor] = field(default_factory=dict)  # chunks kept between passes

    @classmethod
    def of(cls, problem: L1Problem, device: torch.device) -> "DeviceItems":
        """Send the problem's items to the device."""
        with warnings.catch_warnings():
            # torch has no read-only tensors and warns; nothing here writes to the votes
            warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
            table = problem.blocks.table("solver torch")
            votes = torch.from_numpy(np.ascontiguousarray(table.T, dtype=np.int8))
        return cls(votes.to(device))

    @property
    def device(self) -> torch.device:
        """Return where the items are."""
        return self.votes.device

    @property
    def half(self) -> torch.dtype:
        """Return the type of votes and halves: float16 where matrix units take it."""
        return torch.float16 if self.device.type == "cuda" else torch.float32

    @property
    def n_items(self) -> int:
        """Return the number of items."""
        return int(self.votes.shape[1])

    @property
    def n_voters(self) -> int:
        """Return the number of voters."""
        return int(self.votes.shape[0])

    @property
    def n_parameters(self) -> int:
        """Return the number of parameters of a regression, padded."""
        return -(-(self.n_voters + 1) // 8) * 8

    def chunks(self) -> Iterator[tuple[int, int, Tensor]]:
        """Yield first item, last item and design (parameters x items), kept if memory allows."""
        run = min(RUN, -(-max(self.n_items, 1) // 8) * 8)
        length = max(1, CHUNK // self.n_parameters // run) * run
        for low in range(0, self.n_items, length):
            high = min(low + length, self.n_items)
            design = self.halves.get(low)
            if design is None:
                design = self._design(self.votes[:, low:high], -(-(high - low) // run) * run)
                n_bytes = 2 * self.n_items * self.n_parameters  # of all votes in halves
                if self.device.type == "cuda" and torch.cuda.mem_get_info()[0] > 2 * n_bytes:
                    self.halves[low] = design
            yield low, high, design

    def _design(self, votes: Tensor, length: int) -> Tensor:
        """Return the design of these votes, parameters x length; items beyond them are zeros."""
        n_items = votes.shape[1]
        design = torch.zeros((self.n_parameters, length), dtype=self.half, device=self.device)
        design[: self.n_voters, :n_items] = votes
        design[self.n_voters, :n_items] = 1
        return design

    def moments(self) -> Tensor:
        """Return sum_i d_ij d_ik over all parameters, exact in float64."""
        sums = torch.zeros((self.n_parameters,) * 2, dtype=torch.float64, device=self.device)
        for _, _, design in self.chunks():
            sums += add_products(design, design)
        return sums

    @property
    def stride(self) -> int:
        """Return how far apart the sampled items are: a power of 2 that divides every chunk."""
        share = max(self.n_items // SAMPLE, 1)
        return int(min(1 << (share.bit_length() - 1), RUN))

    def sample(self) -> Tensor:
        """Return the sampled items' design, parameters x items."""
        votes = self.votes[:, :: self.stride]
        return self._design(votes, votes.shape[1])

    def scores(
        self, voters: Tensor, point: Tensor, complete: bool, bits: int
    ) -> tuple[Tensor, Tensor]:
        """Return sum_i |f_is| tanh(z_is) d_ij, voters x parameters, and the sampled tanh z."""
        sums = torch.zeros_like(point)
        sampled = []
        parts = [part.to(self.half) for part in split_coefficients(point, bits)]
        for low, high, votes in self.chunks():
            design = votes.double() if bits == DOUBLE else votes
            t = point @ design if bits == DOUBLE else multiply(parts[0], design)
            if bits == FINE:
                t.add_(multiply(parts[1], design), alpha=2.0**-COARSE)
            t.tanh_()
            sampled.append(t[:, : high - low : self.stride].clone())
            if not complete:
                t[:, : high - low] *= self.votes[voters, low:high].abs()
            sums += t @ design.T if bits == DOUBLE else add_split_products(t, design, bits)
        return sums, torch.cat(sampled, dim=1)

    def noise(self, totals: Tensor, bits: int) -> Tensor:
        """Return a bound per voter on the error of a mean score from such a pass.

        With u = 2^-24: rounding z moves tanh z by .45 u, tanh errs by 2 u, its grid by 2 u with
        both halves.
        """
        if bits == DOUBLE:
            return torch.zeros_like(totals)
        return ROUNDING * (2.5 + 2.0 ** (23 - bits) * self.n_items / totals)


def round_to_grid(point: Tensor, bits: int) -> Tensor:
    """Return the coefficients rounded to the grid of `bits` bits, where their halves are exact."""
    if bits == DOUBLE:
        return point
    largest = point.abs().amax(dim=1, keepdim=True).clamp_min(2.0**-3)
    steps = torch.exp2(torch.ceil(torch.log2(largest)) - bits)
    return torch.round(point / steps) * steps


def split_coefficients(point: Tensor, bits: int) -> list[Tensor]:
    """Return the high halves of coefficients on their grid, and 2^11 times the low halves."""
    if bits == DOUBLE:
        return []
    high = round_to_grid(point, COARSE)
    return [high, (point - high) * 2.0**COARSE]


def multiply(left: Tensor, right: Tensor) -> Tensor:
    """Return the product of two matrices, or of two stacks of them; float32 for halves."""
    if left.dtype == torch.float16:
        product = torch.mm if left.ndim == 2 else torch.bmm
        return product(left, right, out_dtype=torch.float32)
    return left @ right


def add_products(left: Tensor, right: Tensor) -> Tensor:
    """Return left right', in float64 across the runs of items, in float32 within."""
    n_runs = max(1, left.shape[1] // RUN)
    lefts = left.unflatten(1, (n_runs, -1)).transpose(0, 1)
    rights = right.unflatten(1, (n_runs, -1)).permute(1, 2, 0)
    return multiply(lefts, rights).sum(dim=0, dtype=torch.float64)


def add_split_products(t: Tensor, design: Tensor, bits: int) -> Tensor:
    """Return t design' for |t| <= 1, rounded to multiples of 2^-bits; overwrites t."""
    rounded, high = t + HIGH, torch.empty_like(t, dtype=design.dtype)
    torch.sub(rounded, HIGH, out=high)
    if bits == COARSE:
        return add_products(high, design)
    t -= high
    torch.add(t, LOW, out=rounded)
    low = torch.empty_like(high)
    torch.sub(rounded, LOW, out=low)
    return add_products(high, design) + add_products(low, design)
