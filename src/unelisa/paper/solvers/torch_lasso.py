"""Many small l1-penalized quadratic problems at once, on working sets padded to one size.

Minimize x'Hx/2 - c'x + sum_k limit_k |x_k| for every voter. An infinite limit keeps a coordinate at
0 (which also pads shorter working sets), a limit of 0 leaves it unpenalized.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

RELAXATION = 1.6  # over-relaxation of Douglas-Rachford; between 1 and 2
STIFFNESS = 0.6  # its step, in units of the mean curvature
CHECK = 10  # iterations between two convergence checks, each of which waits for the device


@dataclass(frozen=True)
class Quadratics:
    """Hessians ready for `minimize`."""

    hessians: Tensor  # voters x members x members
    stiffness: Tensor  # voters x 1
    resolvents: Tensor  # (I + H / stiffness)^-1

    @classmethod
    def of(cls, hessians: Tensor) -> "Quadratics":
        """Return the Hessians with their resolvents."""
        curvature = torch.diagonal(hessians, dim1=1, dim2=2).mean(dim=1)
        stiffness = STIFFNESS * curvature.clamp_min(1e-6)[:, None]
        ones = torch.eye(hessians.shape[1], dtype=hessians.dtype, device=hessians.device)
        resolvents, _ = torch.linalg.inv_ex(ones + hessians / stiffness[:, :, None])
        return cls(hessians, stiffness, resolvents)

    def keep(self, chosen: Tensor) -> "Quadratics":
        """Return those of the chosen voters."""
        return Quadratics(self.hessians[chosen], self.stiffness[chosen], self.resolvents[chosen])

    def replace(self, places: Tensor, new: "Quadratics") -> None:
        """Write the new ones at the places, in place."""
        self.hessians[places] = new.hessians
        self.stiffness[places] = new.stiffness
        self.resolvents[places] = new.resolvents


def minimize(
    quadratics: Quadratics, x: Tensor, scores: Tensor, limits: Tensor, goals: Tensor, n_steps: int
) -> Tensor:
    """Return the minimizers for c = scores + H x: `scores` are minus the gradients at `x`.

    Douglas-Rachford: with u = clip(w, -limit, limit) / stiffness, the minimizer is w - u at the
    fixed point of w <- w + relaxation (R (c / stiffness + w - 2 u) + u - w). It ends when no score
    is off by more than the voter's goal, or after `n_steps`.
    """
    stiffness = quadratics.stiffness
    bounds = limits / stiffness
    product = torch.bmm(quadratics.hessians, x.unsqueeze(2)).squeeze(2)
    fixed = torch.bmm(quadratics.resolvents, ((scores + product) / stiffness).unsqueeze(2))
    fixed = fixed.squeeze(2)
    w = x + torch.minimum(torch.maximum(scores, -limits), limits) / stiffness
    lower, goals = -bounds, goals * (RELAXATION - 1.0)
    u, turned, new = torch.empty_like(w), torch.empty_like(w), torch.empty_like(w)
    for step in range(1, n_steps + 1):
        torch.clamp(w, lower, bounds, out=u)
        torch.sub(w, u, alpha=2.0, out=turned)
        torch.add(fixed, u, out=new)
        new.unsqueeze(2).baddbmm_(quadratics.resolvents, turned.unsqueeze(2))
        w.lerp_(new, RELAXATION)
        if step % CHECK == 0:
            off = ((new - w).abs() * stiffness).amax(dim=1)
            if not bool((off > goals).any()):
                break
    return w - torch.clamp(w, lower, bounds)


def choose_members(scores: Tensor, point: Tensor, limits: Tensor, size: int) -> Tensor:
    """Return the `size` parameters of each voter that most need to be in its working set.

    Nonzero and unpenalized ones come first, then those with the largest score per limit.
    """
    needs = torch.where(limits > 0, scores.abs() / limits, torch.inf)
    needs = torch.where(point != 0, torch.inf, needs)
    # excluded ones come last, whatever the device does with ties
    needs = torch.where(torch.isfinite(limits), needs, -1.0)
    return torch.topk(needs, size, dim=1).indices


def count_members(scores: Tensor, point: Tensor, limits: Tensor, share: float) -> Tensor:
    """Return per voter how many parameters are nonzero, unpenalized, or near their limit."""
    near = (point != 0) | (scores.abs() > share * limits) | (limits == 0)
    return (near & torch.isfinite(limits)).sum(dim=1)


def gather_squares(matrix: Tensor, members: Tensor) -> Tensor:
    """Return matrix[members, members] for every row of members."""
    return matrix[members.unsqueeze(2), members.unsqueeze(1)]
