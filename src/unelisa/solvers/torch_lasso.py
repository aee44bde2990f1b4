"""Many small l1-penalised quadratic problems at once, on working sets padded to one size.

Minimise x'Hx/2 - c'x + sum_k limit_k |x_k| for every voter. An infinite limit keeps a coordinate at
0 (that is also how shorter working sets are padded), a limit of 0 leaves it free.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

RELAXATION = 1.6  # over-relaxation of Douglas-Rachford; between 1 and 2
STIFFNESS = 0.6  # its step, in units of the mean curvature
CHECK = 10  # iterations between two looks at the convergence, each of which waits for the device


@dataclass(frozen=True)
class Quadratics:
    """Hessians ready for `minimise`."""

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


def minimise(
    quadratics: Quadratics, x: Tensor, slopes: Tensor, limits: Tensor, goals: Tensor, n_steps: int
) -> Tensor:
    """Return the minimisers for c = slopes + H x, so that `slopes` are those at `x`.

    Douglas-Rachford: with u = clip(w, -limit, limit) / stiffness, the minimiser is w - u at the
    fixed point of w <- w + relaxation (R (c / stiffness + w - 2 u) + u - w). It ends when no slope
    is off by more than the voter's goal, or after `n_steps`.
    """
    stiffness = quadratics.stiffness
    bounds = limits / stiffness
    product = torch.bmm(quadratics.hessians, x.unsqueeze(2)).squeeze(2)
    fixed = torch.bmm(quadratics.resolvents, ((slopes + product) / stiffness).unsqueeze(2))
    fixed = fixed.squeeze(2)
    w = x + torch.minimum(torch.maximum(slopes, -limits), limits) / stiffness
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


def choose_members(slopes: Tensor, point: Tensor, limits: Tensor, size: int) -> Tensor:
    """Return the `size` parameters of each voter that most need to be in its working set.

    Those in use and those without penalty come first, then the largest slope per limit.
    """
    scores = torch.where(limits > 0, slopes.abs() / limits, torch.inf)
    scores = torch.where(point != 0, torch.inf, scores)
    # among equals the order must not depend on the device: forbidden ones are last in any case
    scores = torch.where(torch.isfinite(limits), scores, -1.0)
    return torch.topk(scores, size, dim=1).indices


def count_members(slopes: Tensor, point: Tensor, limits: Tensor, share: float) -> Tensor:
    """Return per voter how many parameters are in use, free, or near their limit."""
    near = (point != 0) | (slopes.abs() > share * limits) | (limits == 0)
    return (near & torch.isfinite(limits)).sum(dim=1)


def gather_squares(matrix: Tensor, members: Tensor) -> Tensor:
    """Return matrix[members, members] for every row of members."""
    return matrix[members.unsqueeze(2), members.unsqueeze(1)]
