"""The GPU solver: all voters' regressions as a few large matrix products.

As `working_set`, but every pass is dense and checks all pairs, and working sets are solved in one
batch. Regressions that do not converge are left to `working_set`.
"""

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from unelisa.kernels.threads import one_blas_thread
from unelisa.paper.solvers.base import L1Problem, L1Solution, warn_missed
from unelisa.paper.solvers.torch_sums import (
    COARSE,
    DOUBLE,
    FINE,
    DeviceItems,
    multiply,
    round_to_grid,
)
from unelisa.paper.solvers.working_set import Estimate, Frame, refine

SCREEN = 0.85  # a parameter this near its limit gets room in the working sets
QUICK = 1 << 12  # items, at least, whose curvature makes a quick Hessian
THOROUGH = 3  # Hessians from which on a voter gets thorough ones
CONTRACTION = 0.1  # a step that leaves more of the violation than this asks for a new Hessian
INNER = 0.02  # accuracy of a Newton step, as a share of the violation
MAX_MEMBERS = 512
MAX_PASSES = 20
MAX_STRIKES = 6  # steps that made it worse before a voter is left to the processor
NEAR = 0.05  # violation, in units of lambda, below which float64 continues where halves ended
HESSIANS = 1 << 28  # numbers gathered at once for Hessians: .5 GB in float16
RIDGE = 1e-4  # a sampled Hessian need not be convex
LARGEST = 50.0  # coefficients beyond it are left to the processor: tanh is saturated at 10
RELAXATION = 1.6  # over-relaxation of Douglas-Rachford; between 1 and 2
STIFFNESS = 0.6  # its step, in units of the mean curvature
CHECK = 10  # iterations between two convergence checks, each of which waits for the device


@dataclass(frozen=True)
class TorchBatched:
    """Solve every voter's regression on a GPU; exact to `tol` on all pairs."""

    # A torch device; None for the GPU if there is one, else the processor
    device: str | None = None

    def solve(self, problem: L1Problem) -> L1Solution:
        """Return the minimizer for every voter, with its certificate."""
        found = "cuda" if torch.cuda.is_available() else "cpu"
        items = DeviceItems.of(problem, torch.device(self.device or found))
        solution = finish(problem, fetch(solve_items(problem, items)))
        warn_missed(problem, solution)
        return solution


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
        return Quadratics(*(part[chosen] for part in vars(self).values()))

    def replace(self, places: Tensor, new: "Quadratics") -> None:
        """Write the new ones at the places, in place."""
        for own, part in zip(vars(self).values(), vars(new).values(), strict=True):
            own[places] = part


def minimize(
    quadratics: Quadratics, x: Tensor, scores: Tensor, limits: Tensor, goals: Tensor, n_steps: int
) -> Tensor:
    """Return the minimizers for c = scores + H x: `scores` are minus the gradients at `x`.

    Douglas-Rachford: with u = clip(w, -limit, limit) / stiffness, the minimizer is w - u at the
    fixed point of w <- w + relaxation (R (c / stiffness + w - 2 u) + u - w).
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
    """Return the parameters that each voter most needs: nonzero and unpenalized ones first."""
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


@dataclass(frozen=True)
class Outcome:
    """The state of all regressions, on the device; rows are voters."""

    point: Tensor  # coefficients, parameters as in `torch_sums`
    kkt: Tensor  # certificate, in units of lambda
    passes: Tensor


@dataclass(frozen=True)
class Task:
    """What stays the same while a problem is solved."""

    items: DeviceItems
    moments: Tensor  # parameters x parameters
    totals: Tensor  # n_s
    limits: Tensor  # voters x parameters: lambda_s, 0 for intercepts, infinite for excluded ones
    penalties: Tensor
    inside: Tensor  # voters in the design
    complete: bool  # nobody abstained
    tol: float
    samples: dict[int, Tensor]  # designs of sampled items: thorough at 1, quick at `thin`

    @property
    def thin(self) -> int:
        """Return the share of the sampled items that a quick Hessian takes: one in so many."""
        return int(max(self.samples))

    @classmethod
    def of(cls, problem: L1Problem, items: DeviceItems) -> "Task":
        """Count the moments and set the limits."""
        n_voters, device = items.n_voters, items.device
        moments = items.moments()
        totals = torch.diagonal(moments)[:n_voters].clone()
        inside = moments[:n_voters, n_voters].abs() < totals
        complete = bool((totals == items.n_items).all())
        penalties = torch.tensor(problem.penalties, device=device).double()
        shape = (n_voters, items.n_parameters)
        limits = torch.full(shape, torch.inf, dtype=torch.float64, device=device)
        limits[:, :n_voters] = penalties[:, None]
        limits[:, :n_voters].fill_diagonal_(torch.inf)
        limits[:, :n_voters][:, ~inside] = torch.inf
        if problem.fit_intercept:
            limits[:, n_voters] = 0.0
        totals[totals == 0] = 1.0
        sample, tol = items.sample(), problem.tol
        thin = 1 << (max(sample.shape[1] // QUICK, 1).bit_length() - 1)
        samples = {1: sample, thin: sample[:, ::thin].contiguous()}
        return cls(items, moments, totals, limits, penalties, inside, complete, tol, samples)

    def scores(self, voters: Tensor, point: Tensor, bits: int) -> tuple[Tensor, Tensor]:
        """Return minus the loss's gradient, voters x parameters, and the sampled tanh z."""
        sums, sampled = self.items.scores(voters, point, self.complete, bits)
        return (self.moments[voters] - sums) / self.totals[voters, None], sampled

    def violations(self, voters: Tensor, point: Tensor, scores: Tensor) -> Tensor:
        """Return the largest violation of each voter's optimality conditions, in score units."""
        limits = self.limits[voters]
        moved = (scores - limits * torch.sign(point)).abs()
        excess = torch.where(point != 0, moved, (scores.abs() - limits).clamp_min(0.0))
        return excess.amax(dim=1)

    def hessians(self, voters: Tensor, members: Tensor, t: Tensor, thin: int) -> Tensor:
        """Return the Hessians of the working sets, from t = tanh z of the sampled items."""
        items, sample, sampled = self.items, self.samples[thin], t[:, ::thin]
        squares = gather_squares(self.moments, members) / self.totals[voters, None, None]
        if self.complete:
            roots, mass = sampled, torch.full((voters.numel(), 1), float(sampled.shape[1]))
            mass = mass.to(squares)
        else:
            counted = items.votes[voters][:, :: items.stride * thin].abs().double()
            roots = (counted * (1.0 - sampled.double() ** 2)).sqrt()
            mass = counted.sum(dim=1, keepdim=True)
        step = max(1, HESSIANS // max(1, members.shape[1] * sampled.shape[1]))
        for low in range(0, voters.numel(), step):
            rows = slice(low, low + step)
            design = sample[members[rows]] * roots[rows, None, :].to(sample.dtype)
            products = multiply(design, design.mT).double()
            products /= mass[rows, :, None].clamp_min(1e-300)
            if self.complete:
                squares[rows] -= products
            else:
                squares[rows] = torch.where(mass[rows, :, None] > 0, products, squares[rows])
        torch.diagonal(squares, dim1=1, dim2=2).add_(RIDGE)
        return squares


@dataclass
class Walk:
    """The voters under way: the best point of each, and its working set."""

    voters: Tensor
    point: Tensor
    scores: Tensor
    violation: Tensor
    noise: Tensor  # bound on the violation's error
    strikes: Tensor  # steps that made it worse
    members: Tensor = field(default_factory=lambda: torch.empty(0))
    quadratics: Quadratics | None = None
    builds: Tensor = field(default_factory=lambda: torch.empty(0))  # Hessians so far
    predicted: Tensor | None = None  # scores that choose the first working sets

    @classmethod
    def begin(cls, voters: Tensor, point: Tensor, predicted: Tensor | None = None) -> "Walk":
        """Return a walk before its first pass; predicted scores choose the first working sets."""
        violation = torch.full_like(point[:, 0], torch.inf)
        noise, strikes = torch.zeros_like(violation), torch.zeros_like(voters)
        predicted = None if predicted is None else predicted[voters]
        scores = torch.zeros_like(point)
        return cls(voters, point, scores, violation, noise, strikes, predicted=predicted)

    def accept(self, point: Tensor, scores: Tensor, violation: Tensor, noise: Tensor) -> Tensor:
        """Take the trial point where it is better up to noise; return where it is."""
        better = violation < self.violation + self.noise
        found = {"point": point, "scores": scores, "violation": violation, "noise": noise}
        for name, new in found.items():
            taken = better if new.ndim == 1 else better[:, None]
            setattr(self, name, torch.where(taken, new, getattr(self, name)))
        self.strikes = self.strikes + ~better
        return better

    def keep(self, chosen: Tensor) -> None:
        """Continue with the chosen voters only."""
        for name, part in vars(self).items():
            if isinstance(part, Quadratics):
                setattr(self, name, part.keep(chosen))
            elif part is not None and part.numel():
                setattr(self, name, part[chosen])

    def renew(
        self, task: Task, sampled: Tensor, better: Tensor, slow: Tensor, real: torch.dtype
    ) -> Quadratics:
        """Return the Hessians, building those and the working sets that are missing or stale."""
        limits = task.limits[self.voters]
        if self.quadratics is None:
            scores = self.scores if self.predicted is None else self.predicted
            counts = count_members(scores, self.point, limits, SCREEN)
            size = min(-(-(int(counts.max()) + 8) // 16) * 16, MAX_MEMBERS, limits.shape[1])
            self.members = choose_members(scores, self.point, limits, size)
            hessians = task.hessians(self.voters, self.members, sampled, task.thin)
            self.quadratics = Quadratics.of(hessians.to(real))
            self.builds = torch.ones_like(self.voters)
            return self.quadratics
        within = torch.zeros_like(limits, dtype=torch.bool).scatter_(1, self.members, True)
        goal = task.tol * task.penalties[self.voters, None]
        outside = ((self.scores.abs() > limits + goal) & ~within).any(dim=1)
        stale = better & (outside | slow)
        self.builds = self.builds + stale
        hard = (self.builds > THOROUGH) | (self.strikes > 0)
        for thin, wanted in ((task.thin, stale & ~hard), (1, stale & hard)):
            some = torch.nonzero(wanted)[:, 0]
            if some.numel() == 0:
                continue
            size = self.members.shape[1]
            chosen = choose_members(self.scores[some], self.point[some], limits[some], size)
            self.members[some] = torch.where(outside[some, None], chosen, self.members[some])
            hessians = task.hessians(self.voters[some], self.members[some], sampled[some], thin)
            self.quadratics.replace(some, Quadratics.of(hessians.to(real)))
        worse = torch.nonzero(~better)[:, 0]
        if worse.numel():
            # a shorter step from the best point
            steeper = 3.0 * self.quadratics.hessians[worse]
            self.quadratics.replace(worse, Quadratics.of(steeper))
        return self.quadratics

    def step(self, task: Task, quadratics: Quadratics, n_steps: int = 300) -> Tensor:
        """Return the next trial point."""
        members, real = self.members, quadratics.stiffness
        scores, x = self.scores.gather(1, members), self.point.gather(1, members)
        limits = task.limits[self.voters].gather(1, members)
        goals = (INNER * self.violation).to(real)
        new = minimize(quadratics, x.to(real), scores.to(real), limits.to(real), goals, n_steps)
        new = torch.nan_to_num(new, nan=0.0).clamp(-LARGEST, LARGEST)
        return self.point.scatter(1, members, new.to(self.point))


def start_point(task: Task, fit_intercept: bool) -> tuple[Tensor, Tensor]:
    """Return the starting point, and the scores that its model predicts there."""
    items, n_voters = task.items, task.items.n_voters
    point = torch.zeros_like(task.limits)
    means = (task.moments[:n_voters, n_voters] / task.totals) * float(fit_intercept)
    point[:, n_voters] = torch.atanh(means.clamp(-0.999, 0.999))
    gains = 1.0 / task.totals[:, None]
    null = (task.moments[:n_voters] - means[:, None] * task.moments[n_voters]) * gains
    curvature = (1.0 - means**2).clamp_min(1e-2)[:, None]
    scaled = task.moments / task.moments[n_voters, n_voters].clamp_min(1e-300)
    size = min(64, items.n_parameters)
    first, scores = point.clone(), null
    for _ in range(3):
        members = choose_members(scores, point, task.limits, size)
        squares = gather_squares(scaled, members) * curvature[:, :, None]
        torch.diagonal(squares, dim1=1, dim2=2).add_(RIDGE)
        walk = Walk.begin(torch.arange(n_voters, device=items.device), point)
        walk.scores, walk.violation = scores, 0.2 * task.penalties
        walk.members = members
        point = walk.step(task, Quadratics.of(squares.float()), 100).clamp(-3.0, 3.0)
        scores = null - curvature * ((point - first).float() @ scaled.float()).double()
    return point, scores


def solve_items(problem: L1Problem, items: DeviceItems) -> Outcome:
    """Return the regressions as far as the device solves them."""
    task = Task.of(problem, items)
    point, predicted = start_point(task, problem.fit_intercept)
    point[~task.inside] = 0.0
    kkt = torch.where(task.inside, torch.inf, 0.0).double()
    outcome = Outcome(point, kkt, torch.zeros_like(kkt, dtype=torch.int64))
    pending = torch.nonzero(task.inside)[:, 0]
    if pending.numel():
        _descend(task, outcome, Walk.begin(pending, point[pending], predicted), COARSE)
    pending = torch.nonzero((outcome.kkt > problem.tol) & (outcome.kkt <= NEAR))[:, 0]
    if pending.numel():
        _descend(task, outcome, Walk.begin(pending, outcome.point[pending]), DOUBLE)
    return outcome


def _descend(task: Task, outcome: Outcome, walk: Walk, bits: int) -> None:
    """Bring the voters to their optimum, updating the outcome: in halves or in float64."""
    real = torch.float64 if bits == DOUBLE else torch.float32
    trial = walk.point
    for _ in range(MAX_PASSES):
        trial = round_to_grid(trial, bits)
        scores, sampled = task.scores(walk.voters, trial, bits)
        totals, penalties = task.totals[walk.voters], task.penalties[walk.voters]
        noise, before = task.items.noise(totals, bits), walk.violation
        violation = task.violations(walk.voters, trial, scores)
        better = walk.accept(trial, scores, violation, noise)
        outcome.point[walk.voters] = walk.point
        outcome.kkt[walk.voters] = (walk.violation + walk.noise) / penalties
        outcome.passes[walk.voters] += 1
        goal = task.tol * penalties - walk.noise
        if bits == FINE:
            # below the noise of halves float64 takes over
            goal = torch.maximum(goal, 2.0 * noise)
        chosen = torch.nonzero((walk.violation > goal) & (walk.strikes < MAX_STRIKES))[:, 0]
        if chosen.numel() == 0:
            return
        if bits == COARSE:
            near = CONTRACTION * walk.violation < 2.0 * noise
            bits = FINE if bool(near.double().mean() > 0.5) else COARSE
        slow = walk.violation > CONTRACTION * before
        if chosen.numel() < walk.voters.numel():
            walk.keep(chosen)
            sampled, better, slow = sampled[chosen], better[chosen], slow[chosen]
        trial = walk.step(task, walk.renew(task, sampled, better, slow, real))
        # the first strike: back to the best point, for a thorough Hessian from its tanh z
        again = ~better & (walk.strikes == 1)
        trial = torch.where(again[:, None], walk.point, trial)


def fetch(outcome: Outcome) -> L1Solution:
    """Return the outcome as a solution in the processor's memory."""
    point, kkt, passes = (part.cpu().numpy() for part in vars(outcome).values())
    n_voters = len(point)
    weights = np.ascontiguousarray(point[:, :n_voters])
    return L1Solution(weights, point[:, n_voters].copy(), kkt, passes)


def finish(problem: L1Problem, solution: L1Solution) -> L1Solution:
    """Return the solution with the voters that missed the tolerance solved by working sets."""
    voters = solution.missed(problem.tol)
    if voters.size == 0:
        return solution
    found = solution.copy()
    estimate = Estimate.at(found.weights, found.intercepts, found.weights != 0)
    estimate.kkt, estimate.passes = found.kkt, found.n_iter
    with one_blas_thread():
        refine(Frame.of(problem), estimate, voters)
    return found
