"""Newton steps on the expected pseudo-likelihood: edges, fields and weights move together.

Each voter's regression has its own Hessian over its partners; an edge gets the information of both
of its regressions. A step is shortened until the objective does not rise: given the posterior, it
falls from step to step.
"""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from unelisa.kernels.pairs import Layout, Prior, descend_pairs
from unelisa.latent.joint import Floats, Joint, Mask, Network, Singles, Slopes

LARGEST_WEIGHT = 3.0  # |a|: an expert that errs once in 400 votes
RIDGE = 1e-4  # on every coefficient of the quadratic model, per item
LEAST_ITEMS, ITEMS_PER_PARTNER = 1000, 12  # that a Hessian of many partners is taken from
REBUILD = (0, 2, 5)  # rounds that begin with new Hessians
MAX_SWEEPS, SWEEP_TOL = 20, 3e-4


class Penalty(NamedTuple):
    """l1 |W| + precision (W - centre)^2 / 2 in nats, and the same without l1 for the weights."""

    l1: Floats
    precision: Floats
    centre: Floats
    weight_precision: Floats
    weight_centre: Floats


def no_penalty(n_voters: int) -> Penalty:
    """Return the penalty that leaves edges and weights free."""
    square, row = np.zeros((n_voters, n_voters)), np.zeros(n_voters)
    return Penalty(square, square, square, row, row)


class Point(NamedTuple):
    """A network and its predictors, which a step updates instead of computing them anew."""

    network: Network
    predictors: Singles


def lay_out(pairs: Mask) -> Layout:
    """Return where the coefficients of these pairs lie; see `kernels.pairs`."""
    first, second = np.nonzero(np.triu(pairs, 1))
    sides = pairs.sum(axis=1) + 2
    places = np.cumsum(pairs, axis=1) - 1
    return Layout(
        np.append(0, np.cumsum(sides)),
        np.append(0, np.cumsum(sides**2)),
        first,
        second,
        places[first, second],
        places[second, first],
    )


class Newton:
    """Newton steps over a fixed set of pairs; keeps its Hessians from call to call.

    A run ends when no edge and no weight moved by `tol`.
    """

    def __init__(self, joint: Joint, pairs: Mask, tol: float = 2e-3) -> None:
        self.joint, self.tol = joint, tol
        self.partners = [np.flatnonzero(row) for row in pairs]
        self.layout = lay_out(pairs)
        self.hessians = np.zeros(int(self.layout.squares[-1]), np.float32)
        most = max(len(partners) for partners in self.partners)
        self.stride = max(1, joint.n_items // max(LEAST_ITEMS, ITEMS_PER_PARTNER * most))

    def run(
        self,
        network: Network,
        penalty: Penalty,
        rounds: int,
        *,
        posterior: Singles | None = None,
        rebuild: Collection[int] = REBUILD,
        fit_weights: bool = True,
    ) -> Network:
        """Return the network after some steps, at a given posterior or, round by round, its own."""
        joint, prior = self.joint, self._per_pair(penalty)
        point = Point(network, joint.predictors(network.edges, network.fields))
        for count in range(rounds):
            before = point.network
            tau = joint.posterior(before) if posterior is None else posterior
            slopes = joint.evaluate(point.predictors, tau, before.weights)
            if count in rebuild:
                self._build()
            target = self._minimise(before, slopes, prior, fit_weights=fit_weights)
            point = self._walk(point, target, tau, slopes.loss, prior)
            if joint.fit_fields and fit_weights and posterior is None:
                field = joint.improve_field(point.network, point.predictors)
                point = point._replace(network=point.network._replace(field=field))
            if _distance(before, point.network) < self.tol:
                break
        return point.network

    def refresh(self, network: Network, posterior: Singles) -> Slopes:
        """Evaluate at the network, and take the Hessians there."""
        predictors = self.joint.predictors(network.edges, network.fields)
        slopes = self.joint.evaluate(predictors, posterior, network.weights)
        self._build()
        return slopes

    def standard_errors(self) -> Floats:
        """Return the standard error of every weight given the truth, from the last Hessians."""
        errors = np.empty(self.joint.n_voters)
        for s in range(self.joint.n_voters):
            square = self._square(s)
            if not self.joint.fit_fields:
                square = np.delete(np.delete(square, -2, axis=0), -2, axis=1)
            errors[s] = np.sqrt(max(np.linalg.inv(square)[-1, -1], 1e-12))
        return errors

    def _square(self, s: int) -> Singles:
        """Return the Hessian of voter s: its partners, its field, its weight."""
        low, high = self.layout.squares[s], self.layout.squares[s + 1]
        side = len(self.partners[s]) + 2
        return self.hessians[low:high].reshape(side, side)

    def _build(self) -> None:
        """Take every voter's Hessian at the point last evaluated, from every stride-th item."""
        joint, stride = self.joint, self.stride
        design = np.ascontiguousarray(joint.design[:, ::stride])
        roots = np.sqrt(joint.curvatures[:, ::stride])
        for s, partners in enumerate(self.partners):
            rows = design[np.append(partners, joint.n_voters)]
            square = self._square(s)
            scaled = rows * roots[s]
            square[:-1, :-1] = scaled @ scaled.T  # one factor, its own transpose: half the work
            square[:-1, -1] = square[-1, :-1] = rows @ joint.tilts[s, ::stride]
            square[-1, -1] = square[-2, -2]
        self.hessians *= joint.n_items / design.shape[1]
        for s in range(joint.n_voters):
            np.einsum("ii->i", self._square(s))[:] += RIDGE * joint.n_items

    def _minimise(
        self, network: Network, slopes: Slopes, prior: Prior, *, fit_weights: bool
    ) -> Network:
        """Return the minimum of the quadratic model with its prior."""
        layout = self.layout
        downhill = [
            np.append(slopes.edges[s, partners], (slopes.fields[s], slopes.weights[s]))
            for s, partners in enumerate(self.partners)
        ]
        chosen = network.edges[layout.first, layout.second]
        fields, weights = network.fields.copy(), network.weights.copy()
        moves = (self.joint.fit_fields, fit_weights)
        descend_pairs(
            layout,
            self.hessians,
            -np.concatenate(downhill),
            prior,
            chosen,
            fields,
            weights,
            moves,
            MAX_SWEEPS,
            SWEEP_TOL,
        )
        edges = np.zeros_like(network.edges)
        edges[layout.first, layout.second] = edges[layout.second, layout.first] = chosen
        weights = np.clip(weights, -LARGEST_WEIGHT, LARGEST_WEIGHT)
        return network._replace(edges=edges, fields=fields, weights=weights)

    def _walk(
        self, point: Point, target: Network, tau: Singles, loss: float, prior: Prior
    ) -> Point:
        """Return the point towards the target that does not raise the objective."""
        old = point.network
        change = self.joint.predictors(target.edges - old.edges, target.fields - old.fields)
        allowed = loss + self._price(old, prior) + 1e-9 * loss  # float32 votes add up to this
        length = 1.0
        for _ in range(6):
            network = old._replace(
                edges=old.edges + length * (target.edges - old.edges),
                fields=old.fields + length * (target.fields - old.fields),
                weights=old.weights + length * (target.weights - old.weights),
            )
            predictors = point.predictors + np.float32(length) * change
            loss = self.joint.expected_loss(predictors, tau, network.weights)
            if loss + self._price(network, prior) <= allowed:
                return Point(network, predictors)
            length *= 0.4
        return point

    def _per_pair(self, penalty: Penalty) -> Prior:
        """Return the penalty in the order of the pairs."""
        first, second = self.layout.first, self.layout.second
        l1, precision, centre = (square[first, second] for square in penalty[:3])
        return Prior(l1, precision, centre, penalty.weight_precision, penalty.weight_centre)

    def _price(self, network: Network, prior: Prior) -> float:
        """Return the prior's part of the objective."""
        edges = network.edges[self.layout.first, self.layout.second]
        price = prior.l1 @ np.abs(edges) + prior.precision @ (edges - prior.centre) ** 2 / 2
        spread = (network.weights - prior.weight_centre) ** 2
        return float(price + prior.weight_precision @ spread / 2)


def _distance(a: Network, b: Network) -> float:
    """Return the largest change of an edge or a weight."""
    return float(max(np.abs(a.edges - b.edges).max(), np.abs(a.weights - b.weights).max()))
