"""Votes with known truth: the designs of section 5.1, and crowds on more than two classes.

Where the paper leaves the graph open, voters have at most d_0 - 2 neighbors (G1), and random pairs
join until about half of the places are taken: docs/paper_notes.md.
"""

import math
from dataclasses import dataclass, replace
from string import ascii_lowercase
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import ModelError
from unelisa.kernels.gibbs import list_neighbors, sample_gibbs, sample_tempering
from unelisa.paper.ising import Ising
from unelisa.votes import Votes
from unelisa.votes.coding import MAX_CLASSES, encode_classes

ExpertCount = Literal["log", "sqrt", "quarter"] | int
Snr = Literal["high", "medium", "low"] | float
Density = Literal["half", "full", "tree"]
Sampler = Literal["tempering", "gibbs", "gibbs-sweeps"]
RandomState = int | np.random.Generator | None
Floats = NDArray[np.float64]
Signs = NDArray[np.int8]
Pairs = list[tuple[int, int]]

# |θ_st| between voters; experts have |θ_0s| = 1, so that "high" means little noise.
EDGE_STRENGTHS = {"high": 0.25, "medium": 0.5, "low": 1.0}

# Inverse temperatures of tempering, and its rounds before the first and between two kept states.
# In the hardest design (81 voters, 21 experts, low SNR; 3 graphs, 12 chains each) the variance of
# pair moments is then 2.0 times that of independent states (2.9 times with 4 rounds, 1.4 with 16);
# in the two other designs that were measured (high 81/21, low 49/7), 1.0 to 1.2 times.
_BETAS, _BURN_IN, _THIN = np.linspace(1.0, 0.05, 16), 500, 12

# of crowds on more than two classes:
SKILL = (6.0, 3.0)  # of the Beta distribution from which a voter's share of certain votes is drawn
LIKENESS = 0.3  # concentration of what a class is taken for: small, so each has a few look-alikes
STEPS = 1.0  # decay of confusions with the distance between ordered classes
REPEATED = 0.9  # share of its votes that a copy takes over

# The voters' edges of Figure 2.1, layer by layer.
_FIGURE_2_1 = (
    *((1, 6), (1, 7), (2, 8), (3, 8), (3, 9), (5, 8), (5, 10), (6, 7)),
    *((6, 11), (9, 11), (10, 12), (10, 13), (11, 14), (12, 15), (16, 17), (16, 18)),
)


class Sample(NamedTuple):
    """Sampled states, and how well the chain mixed."""

    states: Signs  # items x (p + 1), with the truth in column 0
    # changes of f_0 between successive states that the chain itself made: near 2 π (1 - π) n for
    # independent states; far fewer mean that the chain has not mixed
    flips: int


@dataclass(frozen=True)
class SimulatedVotes:
    """Votes, and what usually stays hidden behind them."""

    votes: Votes
    truth: Signs  # f_0 per item, -1 or +1
    experts: NDArray[np.intp]  # voter numbers of N_0, sorted
    model: Ising  # from which the votes were drawn
    flips: int  # the sampler's diagnostic, see `Sample`


def simulate_votes(  # noqa: PLR0913 -- a design is a point in a space of this many dimensions
    n_voters: int = 25,
    n_experts: ExpertCount = "sqrt",
    snr: Snr = "high",
    n_items: int | None = None,
    *,
    sampler: Sampler = "tempering",
    density: Density = "half",
    field: float = 0.0,
    expert_edges: int = 0,
    voter_fields: float = 0.0,
    missing: float = 0.0,
    random_state: RandomState = None,
) -> SimulatedVotes:
    """Return votes drawn from a random design of section 5.1.

    Parameters
    ----------
    n_voters, n_experts, snr, density
        The graph, see `design_graph`.
    n_items, sampler
        n, by default 30 d̃_max log p as in the paper; how states are drawn, see `sample_ising`.
    field
        θ_0: without voter fields P(f_0 = +1) = sigmoid(2 θ_0); the paper has 0.
    expert_edges
        Number of random edges between experts, as strong as the others; each violates (G3).
    voter_fields
        Standard deviation of the voters' own normal fields; the paper has none.
    missing
        Probability that a vote is missing, independently of everything else.
    random_state
        A seed or generator.

    Examples
    --------
    >>> simulated = simulate_votes(25, "sqrt", "high", n_items=200, random_state=0)
    >>> simulated.votes.shape, len(simulated.experts), bool(simulated.model.identifiable())
    ((200, 25), 5, True)
    """
    if not 0 <= missing < 1:
        raise ModelError(f"missing must be a share from 0 to below 1, found {missing}")
    rng = np.random.default_rng(random_state)
    model = design_graph(n_voters, n_experts, snr, density=density, random_state=rng)
    edges = _join_experts(model, expert_edges, _edge_strength(snr), rng)
    fields = rng.normal(0.0, voter_fields, len(edges)) if voter_fields else np.zeros(len(edges))
    fields[0] = field
    model = Ising(fields, edges)
    n = count_items(model) if n_items is None else n_items
    states, flips = sample_ising(model, n, sampler, random_state=rng)
    votes = Votes.of(_drop_votes(states[:, 1:], missing, rng), coding="pm1")
    return SimulatedVotes(votes, states[:, 0].copy(), model.experts, model, flips)


def design_graph(
    n_voters: int = 25,
    n_experts: ExpertCount = "sqrt",
    snr: Snr = "high",
    *,
    density: Density = "half",
    random_state: RandomState = None,
) -> Ising:
    """Return a random Ising model of section 5.1 that satisfies (G1)-(G3).

    θ_0s = +1 or -1 with probability .7 and .3, redrawn until the positive experts are a strict
    majority; θ_st = +-strength. `n_experts`: d_0 >= 3, "log", "sqrt" or "quarter" for log p, sqrt p
    or p / 4 rounded up, or a number. `snr`: the strength, "high" .25, "medium" .5, "low" 1, or a
    number. `density`: "tree" stops once every non-expert has joined, "half" at half of the places
    that (G1) leaves, "full" when no pair can be joined.
    """
    if density not in ("half", "full", "tree"):
        raise ModelError(f"density must be half, full or tree, found {density!r}")
    rng, strength = np.random.default_rng(random_state), _edge_strength(snr)
    d0 = count_experts(n_voters, n_experts)
    edges = np.zeros((n_voters + 1, n_voters + 1))
    edges[0, 1 : d0 + 1] = _draw_polarity(d0, rng)
    for s, t in _draw_pairs(n_voters, d0, density, rng):
        edges[s + 1, t + 1] = strength * rng.choice([-1.0, 1.0])
    nodes = np.concatenate([[0], 1 + rng.permutation(n_voters)])
    return Ising(0.0, (edges + edges.T)[np.ix_(nodes, nodes)])


def sample_ising(
    model: Ising, n_items: int, sampler: Sampler = "tempering", random_state: RandomState = None
) -> Sample:
    """Return ``n_items`` states drawn from an Ising model.

    "tempering": parallel tempering, which mixes. "gibbs": the paper's sampler, 1000 iterations of
    burn-in and every 2 (p + 1)-th kept, an iteration being the update of one node, as its tables
    suggest; in "gibbs-sweeps" it is a sweep over all nodes.
    """
    if n_items < 1:
        raise ModelError(f"n_items must be at least 1, found {n_items}")
    rng, lists = np.random.default_rng(random_state), list_neighbors(model.edges)
    n_nodes = len(model.fields)
    if sampler == "tempering":
        return Sample(*sample_tempering(model.fields, lists, _BETAS, n_items, _BURN_IN, _THIN, rng))
    if sampler not in ("gibbs", "gibbs-sweeps"):
        raise ModelError(f"sampler must be tempering, gibbs or gibbs-sweeps, found {sampler!r}")
    updates = 1 if sampler == "gibbs" else n_nodes
    thin = 2 * n_nodes * updates
    return Sample(*sample_gibbs(model.fields, lists, n_items, 1000 * updates, thin, rng))


def count_experts(n_voters: int, n_experts: ExpertCount) -> int:
    """Return d_0: log p, sqrt p or p / 4 rounded up, or the number itself, checked."""
    if n_voters < 3:
        raise ModelError(f"a design needs at least 3 voters, found {n_voters}")
    sizes = {"log": math.log(n_voters), "sqrt": math.sqrt(n_voters), "quarter": n_voters / 4}
    if isinstance(n_experts, str) and n_experts not in sizes:
        raise ModelError(f"n_experts must be log, sqrt, quarter or a number, found {n_experts!r}")
    d0 = math.ceil(sizes[n_experts]) if isinstance(n_experts, str) else n_experts
    if not 3 <= d0 <= n_voters:
        raise ModelError(f"(G1) needs 3 experts or more among {n_voters} voters, found {d0}")
    return d0


def count_items(model: Ising) -> int:
    """Return n = 30 d̃_max log p (natural logarithm) of section 5.1, rounded up."""
    largest = max(len(hood) for hood in model.effective_neighborhoods)
    return math.ceil(30 * largest * math.log(model.n_voters))


def figure_2_1(weight: float = 1.0, edge: float = 1.0, field: float = 0.0) -> Ising:
    """Return Figure 2.1: 18 voters, f_1..f_5 experts; θ_0s = weight, θ_st = edge, θ_0 = field."""
    edges = np.zeros((19, 19))
    edges[0, 1:6] = weight
    edges[tuple(np.transpose(_FIGURE_2_1))] = edge
    return Ising(field, edges + edges.T)


def _edge_strength(snr: Snr) -> float:
    if isinstance(snr, str) and snr not in EDGE_STRENGTHS:
        raise ModelError(f"snr must be high, medium, low or a number, found {snr!r}")
    return EDGE_STRENGTHS[snr] if isinstance(snr, str) else float(snr)


def _draw_polarity(d0: int, rng: np.random.Generator) -> Floats:
    """Return signs of the experts, + with probability .7, given that + is the strict majority."""
    while True:
        polarity = np.where(rng.random(d0) < 0.7, 1.0, -1.0)
        if polarity.sum() > 0:
            return polarity


def _draw_pairs(p: int, d0: int, density: Density, rng: np.random.Generator) -> Pairs:
    """Return the voters' edges; voters 0..d0-1 are the experts."""
    pairs, free, present = [], np.full(p, d0 - 2), np.arange(p) < d0
    free[:d0] -= 1  # taken by the truth
    limit = free.sum() // 4 if density == "half" else free.sum()  # an edge takes two places

    def join(s: int, t: int) -> None:
        pairs.append((s, t))
        free[[s, t]] -= 1

    for t in d0 + rng.permutation(p - d0):  # each non-expert, to an earlier voter with room
        hosts = np.flatnonzero(present & (free > 0))
        if len(hosts):
            s = hosts[rng.integers(len(hosts))]
            join(min(s, t), max(s, t))
        present[t] = True
    if density == "tree":
        return pairs
    first, second = np.triu_indices(p, 1)
    taken = set(pairs)
    for k in rng.permutation(np.flatnonzero(second >= d0)):  # random pairs, never two experts
        s, t = first[k], second[k]
        if len(pairs) < limit and free[s] and free[t] and (s, t) not in taken:
            join(s, t)
    return pairs


def _join_experts(model: Ising, n_edges: int, strength: float, rng: np.random.Generator) -> Floats:
    """Return the model's edges and random ones, +-strength, between experts."""
    experts, edges = model.experts + 1, model.edges.copy()
    first, second = np.triu_indices(len(experts), 1)
    if not 0 <= n_edges <= len(first):
        raise ModelError(f"expert_edges must be in 0..{len(first)}, found {n_edges}")
    for k in rng.choice(len(first), n_edges, replace=False):
        s, t = experts[first[k]], experts[second[k]]
        edges[s, t] = edges[t, s] = strength * rng.choice([-1.0, 1.0])
    return edges


def _drop_votes(values: Signs, missing: float, rng: np.random.Generator) -> Signs:
    kept = np.array(values, order="F")
    if missing:
        for s in range(kept.shape[1]):
            kept[rng.random(len(kept)) < missing, s] = 0
    return kept


@dataclass(frozen=True)
class SimulatedClasses:
    """Votes, and what usually stays hidden behind them."""

    votes: Votes
    truth: Signs  # of each item in the codes of the votes: k + 1 for class k
    confusions: Floats  # P(says c | class k) of each voter, [voters, k, c]; a copy has its source's
    sources: NDArray[np.intp]  # the voter whose votes each repeats: itself unless it is a copy
    spammers: NDArray[np.intp]  # voters whose votes do not depend on the truth


def simulate_classes(  # noqa: PLR0913 -- a crowd is a point in a space of this many dimensions
    n_classes: int = 4,
    n_voters: int = 25,
    n_items: int = 500,
    *,
    ordered: bool = False,
    spammers: float = 0.1,
    copies: float = 0.1,
    missing: float = 0.5,
    random_state: RandomState = None,
) -> SimulatedClasses:
    """Return votes of a simulated crowd on items of three or more classes.

    Voter s knows the class with probability a_s, drawn from Beta(6, 3), and otherwise says what the
    class is taken for, which is the same for all voters:
    P(says c | k) = a_s [c = k] + (1 - a_s) C_kc.

    Parameters
    ----------
    ordered
        Whether C falls with the distance from k; else each class is taken for a few others.
    spammers
        Share of the voters whose answers do not depend on the truth.
    copies
        Share of the voters who repeat 90 % of another voter's votes.
    missing
        Probability that a vote is missing, independently of everything else.
    random_state
        A seed or generator.

    Examples
    --------
    >>> simulated = simulate_classes(4, random_state=0)
    >>> simulated.votes
    Votes(500 items x 25 voters, 4 classes, 50.0% abstained)
    >>> simulated.votes.classes, len(simulated.spammers)
    (('a', 'b', 'c', 'd'), 2)
    """
    if not 3 <= n_classes <= MAX_CLASSES:
        raise ModelError(
            f"n_classes must be from 3 to {MAX_CLASSES}, found {n_classes}; simulate_votes draws "
            "votes of two classes"
        )
    if not (0 <= missing < 1 and spammers >= 0 and copies >= 0 and spammers + copies < 1):
        raise ModelError(
            "spammers, copies and missing must be shares from 0 to below 1, the first two together"
        )
    rng = np.random.default_rng(random_state)
    truth = rng.choice(n_classes, n_items, p=rng.dirichlet(np.full(n_classes, 5.0)))
    n_spammers, n_copies = round(spammers * n_voters), round(copies * n_voters)
    order = rng.permutation(n_voters)
    idle, copying = np.sort(order[:n_spammers]), np.sort(order[n_spammers:][:n_copies])
    confusions = _draw_confusions(n_classes, n_voters, ordered, rng)
    confusions[idle] = rng.dirichlet(np.ones(n_classes), (n_spammers, 1))
    said = _draw_answers(confusions, truth, rng)
    sources, others = np.arange(n_voters), order[n_spammers + n_copies :]
    if len(copying):
        sources[copying] = rng.choice(others, len(copying))
        repeats = rng.random((n_items, len(copying))) < REPEATED
        said[:, copying] = np.where(repeats, said[:, sources[copying]], said[:, copying])
        confusions[copying] = confusions[sources[copying]]
    votes = _as_votes(said, rng.random(said.shape) < missing, n_classes, ordered)
    codes = np.array(encode_classes(n_classes), dtype=np.int8)[truth]
    return SimulatedClasses(votes, codes, confusions, sources, idle)


def _draw_confusions(
    n_classes: int, n_voters: int, ordered: bool, rng: np.random.Generator
) -> Floats:
    """Return P(says c | class k), [voters, k, c]."""
    if ordered:
        steps = np.abs(np.subtract.outer(np.arange(n_classes), np.arange(n_classes)))
        taken = np.where(steps > 0, np.exp(-STEPS * steps), 0.0)
    else:
        taken = rng.gamma(LIKENESS, size=(n_classes, n_classes)) + 1e-3
        taken += taken.T
        np.fill_diagonal(taken, 0.0)
    taken /= taken.sum(axis=1, keepdims=True)
    skill = rng.beta(*SKILL, n_voters)[:, None, None]
    return np.asarray(skill * np.eye(n_classes) + (1 - skill) * taken)


def _draw_answers(
    confusions: Floats, truth: NDArray[np.intp], rng: np.random.Generator
) -> NDArray[np.intp]:
    said = np.empty((len(truth), len(confusions)), dtype=np.intp, order="F")
    for s, own in enumerate(np.cumsum(confusions, axis=2)):
        drawn = rng.random(len(truth)) * own[truth, -1]
        said[:, s] = (own[truth] <= drawn[:, None]).sum(axis=1)
    return said


def _as_votes(
    said: NDArray[np.intp], missing: NDArray[np.bool_], n_classes: int, ordered: bool
) -> Votes:
    codes = np.array(encode_classes(n_classes), dtype=np.int8)
    values = np.asfortranarray(np.where(missing, np.int8(0), codes[said]))
    voters = np.array([f"v{s + 1}" for s in range(values.shape[1])], dtype=object)
    letters = not ordered and n_classes <= len(ascii_lowercase)
    labels = tuple(ascii_lowercase[:n_classes]) if letters else tuple(range(1, n_classes + 1))
    votes = Votes.of_values(values, np.arange(len(values)), voters, labels)
    return replace(votes, ordered=ordered)
