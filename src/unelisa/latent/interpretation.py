"""From votes to a reading of them.

Which reading is meant is an assumption that identifies the truth, not something the likelihood can
tell: on coherent votes a graph of the voters explains more than any truth does. So the coherence
kappa of the votes decides, about (2 q - 1)^2 where a share q of the voters looks the same way. The
truth is what they agree on from q = 4/5 on; and from kappa = .2 on, if none of 999 random
polarities of these voters is as coherent. Otherwise, with enough items in common,
the truth is the hub of the voters' graph.
"""

from dataclasses import asdict, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from unelisa.errors import VotesError
from unelisa.latent.ballots import BallotBlocks, Ballots, MemoryBallots, count_votes
from unelisa.latent.consensus import Consensus, Floats, collect
from unelisa.latent.edges import EdgesFit, fit_edges
from unelisa.latent.pairs import (
    Pairs,
    Singles,
    correlate,
    expect_means,
    find_pairs,
    measure_chance,
    measure_coherence,
)
from unelisa.latent.reading import TWO_READINGS, Links, Reading, share_rate
from unelisa.latent.silence import fill_silence
from unelisa.latent.structure import (
    CLEAR_ERRORS,
    CLEAR_NATS,
    MOST_ITEMS,
    SAME_AXIS,
    Candidate,
    Choice,
    Kind,
    Rival,
    choose_structure,
    fit_rules,
)
from unelisa.one_sided import read_silence

Structure = Literal["auto", "plain", "tilt", "discount", "edges"]

COHERENT = 0.36  # kappa: four fifths of the voters look the same way
HARDLY_CHANCE, BY_CHANCE = 0.2, 0.001  # enough where none of 999 random polarities has as much
LEAST_VOTERS = 5  # for a graph
FEWEST_VOTERS = 2  # where it is asked for
ITEMS_PER_VOTER = 4.0  # common items a pair needs, for each voter of the graph
EDGE_ITEMS = 6000  # to which a graph is fitted at most
SURE_ERRORS = 2.0  # standard errors of a weight from which a voter is an expert
NEAR_COST = 10.0  # nats within which two starts of the graph are alike
MOST_ODDS = 30.0  # of a gold label in the graph's fit
NOTHING_FOUND = "the votes are told as well by voters who know nothing: no expert is claimed"
RULES = (
    "the structure that was asked for gives way to plain: one-sided voters cast most votes, and "
    "with their silence as the other answer only plain is fitted"
)
DECIDE = "a prior, or ten gold labels and more, can decide"


class Crowd(NamedTuple):
    """The votes to be read, and what is known of them before.

    Attributes
    ----------
    blocks
        All items, one-sided voters' silence filled in.
    silence
        What each voter's silence says.
    votes, yes
        Number of votes and of yes votes per voter.
    common
        Mean number of items that two voters share.
    rng
        Draws the items that candidates are compared on.
    """

    blocks: BallotBlocks
    silence: NDArray[np.int8]
    votes: Floats
    yes: Floats
    common: float
    rng: np.random.Generator

    @classmethod
    def of(cls, blocks: BallotBlocks, rng: np.random.Generator) -> "Crowd":
        """Return the crowd of some votes."""
        votes, yes, (_, pairs, _) = blocks.sum(count_votes, blocks.n_voters)
        silence = read_silence(votes, yes, blocks.n_items)
        if silence.any():
            blocks = blocks.rewrite(fill_silence, silence)
            votes, yes, (_, pairs, _) = blocks.sum(count_votes, blocks.n_voters)
        n_active = np.count_nonzero(votes)
        return cls(blocks, silence, votes, yes, pairs / max(n_active * (n_active - 1), 1), rng)

    @property
    def varied(self) -> NDArray[np.intp]:
        """The voters who gave both answers."""
        return np.flatnonzero((self.yes > 0) & (self.yes < self.votes))

    def draw(self, most: int) -> MemoryBallots:
        """Return at most so many items, in one block."""
        n_items = self.blocks.n_items
        items = np.arange(n_items)
        if n_items > most:
            items = np.sort(self.rng.choice(n_items, most, replace=False))
        return self.blocks.take(items)


def interpret(blocks: BallotBlocks, structure: Structure, rng: np.random.Generator) -> Reading:
    """Return the reading of the votes, in the structure asked for or in the one they need."""
    crowd = Crowd.of(blocks, rng)
    sample = crowd.draw(MOST_ITEMS)
    ballots = sample.blocks[0]
    pairs = find_pairs(ballots, blocks.n_voters)
    varied, correlations = _correlate_varied(crowd, ballots, pairs)
    kappa = measure_coherence(varied, correlations)
    rich = len(crowd.varied) >= LEAST_VOTERS and crowd.common >= ITEMS_PER_VOTER * len(crowd.varied)
    graph = rich and kappa < COHERENT and not crowd.silence.any()
    if graph and kappa >= HARDLY_CHANCE:
        graph = measure_chance(varied, correlations, blocks.n_voters) > BY_CHANCE
    if structure == "edges" or (structure == "auto" and graph):
        return replace(read_edges(crowd), coherence=kappa)
    kinds = get_args(Kind) if structure == "auto" else (structure,)
    reading = replace(read_consensus(crowd, sample, pairs, kinds), coherence=kappa)
    if kappa < COHERENT and not rich and structure == "auto":
        return reading.noting(
            f"the voters do not look the same way (coherence {kappa:.2f}) and are too few, or "
            "have too few items in common, to learn their graph: what they agree on may not be the "
            "truth"
        )
    return reading


def read_consensus(
    crowd: Crowd, sample: MemoryBallots, pairs: Pairs, kinds: tuple[Kind, ...]
) -> Reading:
    """Return what the voters agree on."""
    if crowd.silence.any():
        reading = describe_consensus(crowd, fit_rules(crowd.blocks, crowd.silence), ())
        return reading.noting(RULES) if "plain" not in kinds else reading
    choice = choose_structure(crowd.blocks, sample, pairs, kinds)
    table = tuple(asdict(row) for row in choice.table)
    reading = describe_consensus(crowd, choice.candidate, table)
    if choice.candidate.kind not in kinds:
        reading = reading.noting(_tell_refusal(choice, kinds[0]))
    rival = choice.rival
    if rival is None:
        return reading
    chosen = ({**row, "kept": row["structure"] == rival.other.name} for row in table)
    other = describe_consensus(crowd, rival.other, tuple(chosen))
    return replace(reading, two_readings=True, other=other).noting(_tell_rival(rival))


def read_edges(crowd: Crowd) -> Reading:
    """Return the hub of the voters' graph; its sign is open."""
    voters, n_voters = crowd.varied, crowd.blocks.n_voters
    if len(voters) < FEWEST_VOTERS:
        raise VotesError(
            f"a graph needs {FEWEST_VOTERS} voters who gave both answers, found {len(voters)}: "
            "choose another structure than 'edges'"
        )
    ballots = crowd.draw(EDGE_ITEMS).blocks[0]
    fields = np.clip(ballots.fields, -MOST_ODDS, MOST_ODDS)
    values = _tabulate(ballots, n_voters)[:, voters]
    found = fit_edges(np.asfortranarray(values), fields if fields.any() else None, crowd.rng)
    weights, chances = np.zeros(n_voters), np.zeros(n_voters)
    errors, leanings = np.full(n_voters, np.nan), np.zeros(n_voters)
    weights[voters], chances[voters] = found.weights, found.expert_chance
    errors[voters], leanings[voters] = found.standard_errors, found.biases
    known = found.gain > len(voters)  # one nat per weight, as in Akaike's criterion
    rival = _find_rival(found)
    return Reading(
        "edges",
        "edges",
        weights,
        leanings,
        errors,
        found.field,
        (chances > 0.5) & known,
        crowd.silence,
        links=Links.of_edges(found.edges, voters),
        two_readings=rival is not None,
        notes=_tell_edges(known, rival),
        table=_list_starts(found),
    )


def describe_consensus(
    crowd: Crowd, candidate: Candidate, table: tuple[dict[str, Any], ...]
) -> Reading:
    """Return a consensus as a reading."""
    model, affinity = candidate.model.without(crowd.votes == 0), candidate.affinity
    experts, notes = find_experts(crowd, model)
    rate = share_rate(model.rate, affinity is not None)
    return Reading(
        "consensus",
        candidate.name + (", silence filled in" if crowd.silence.any() else ""),
        model.weights,
        model.fields,
        model.standard_errors,
        rate / 2,
        experts,
        crowd.silence,
        model,
        affinity,
        Links.none() if affinity is None else Links.of_affinity(affinity),
        notes=notes,
        table=table or ({"structure": candidate.name, "kept": True},),
    )


def find_experts(crowd: Crowd, model: Consensus) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
    """Return who is an expert, whose weight exceeds two standard errors, and a note if nobody is.

    So it must by their own votes alone: one with three votes, drawn to the others, is none. Nobody
    is one unless the truth pays for its weights: the votes must be more probable than under voters
    who know nothing, beyond what the weights' own uncertainty costs.
    """
    evidence = crowd.blocks.sum(collect, model.factors, len(crowd.votes))[2][0]
    nothing = xlogy(crowd.yes, crowd.yes / np.maximum(crowd.votes, 1)) + xlogy(
        crowd.votes - crowd.yes, 1 - crowd.yes / np.maximum(crowd.votes, 1)
    )
    if evidence - nothing.sum() > CLEAR_NATS:
        return (crowd.votes > 0) & are_sure(model), ()
    return np.zeros(len(crowd.votes), dtype=np.bool_), (NOTHING_FOUND,)


def are_sure(model: Consensus) -> NDArray[np.bool_]:
    """Return whose weight is clear, with what it owes to the other voters and without."""
    clear = np.abs(model.weights) > SURE_ERRORS * model.standard_errors
    own = model.evidence * np.sign(model.weights) > SURE_ERRORS
    return np.asarray(clear & own)


def _correlate_varied(crowd: Crowd, ballots: Ballots, pairs: Pairs) -> tuple[Pairs, Singles]:
    """Return the pairs of voters who gave both answers: one who gave one looks nowhere."""
    n_voters = crowd.blocks.n_voters
    correlations = correlate(ballots, pairs, expect_means(ballots, n_voters), n_voters)
    varied = np.isin(pairs.first, crowd.varied) & np.isin(pairs.second, crowd.varied)
    met = Pairs(pairs.first[varied], pairs.second[varied], pairs.common[varied])
    return met, correlations[varied]


def _tell_refusal(choice: Choice, kind: Kind) -> str:
    """Return why plain is kept where another structure was asked for."""
    tried = [row for row in choice.table if row.structure.startswith(kind)]
    why = "predicts the votes worse than plain does"
    if not any(row.admissible for row in tried):
        why = "leaves no truth (nobody knows it, a class vanishes, or the tilt takes its place)"
    return f"structure {kind!r} was asked for, but it {why}: plain is kept"


def _tell_rival(rival: Rival) -> str:
    found, kept = rival.verdict, "is kept" if rival.lead > CLEAR_ERRORS else "is not kept"
    return (
        f"{TWO_READINGS}: '{found.structure}' says the same as most voters on "
        f"{found.agreement:.0%} of the items; it scores {rival.lead:+.1f} standard errors against "
        f"their reading and {kept}; {DECIDE}"
    )


def _find_rival(found: EdgesFit) -> float | None:
    """Return on which share of the items another start of about the same cost agrees."""
    for start in found.starts[1:2]:
        if start.agreement < SAME_AXIS and start.cost - found.starts[0].cost < NEAR_COST:
            return start.agreement
    return None


def _tell_edges(known: bool, rival: float | None) -> tuple[str, ...]:
    told = () if known else (NOTHING_FOUND,)
    if rival is None:
        return told
    return (
        *told,
        f"{TWO_READINGS}: the two best starts of the graph agree on {rival:.0%} of "
        f"the items; {DECIDE}",
    )


def _list_starts(found: EdgesFit) -> tuple[dict[str, Any], ...]:
    return tuple(
        {
            "structure": f"edges, start {start.name}",
            "gain": found.gain - (start.cost - found.starts[0].cost),
            "agreement": start.agreement,
            "cost": start.cost,
            "kept": k == 0,
        }
        for k, start in enumerate(found.starts)
    )


def _tabulate(ballots: Ballots, n_voters: int) -> NDArray[np.int8]:
    values = np.zeros((ballots.n_items, n_voters), dtype=np.int8)
    values[ballots.items, ballots.voters] = ballots.votes
    return values
