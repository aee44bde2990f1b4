"""One trial: draw votes, run every method on them, score it. In: a name. Out: a plain dict."""

import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators import UnElisa
from unelisa.blocks import weigh_votes
from unelisa.errors import ModelError
from unelisa.ising import Ising
from unelisa.scoring import score_experts
from unelisa.simulation import count_items, design_graph, sample_ising
from unelisa.study.cells import FACTOR, SAMPLERS, Trial, seed_trial
from unelisa.study.comparison import build_aggregator
from unelisa.votes import Votes

Floats = NDArray[np.float64]
Record = dict[str, Any]


class Drawn(NamedTuple):
    """A trial's votes and what is behind them."""

    votes: Votes
    truth: NDArray[np.int8]
    model: Ising
    flips: int


class Verdict(NamedTuple):
    """What a method says: a score per item, and whom it takes for experts, if it says so."""

    scores: Floats
    experts: NDArray[np.intp] | None = None


Method = Callable[[Drawn, int], dict[str, Verdict]]


def run_unelisa(drawn: Drawn, seed: int) -> dict[str, Verdict]:
    """Return both rules of the paper's method on one and the same selection of experts.

    The faithful reading (UnElisa's defaults). Augmented majority voting counts the experts, those
    of the smaller group turned around (section 4.2). Without any expert both are majority vote.
    """
    model = UnElisa(rule="bayes", random_state=seed).fit(drawn.votes)
    bayes, experts = model.decision_function(drawn.votes), model.experts_
    polarity = model.selector_.polarity_.astype(np.float64)
    margin = weigh_votes(drawn.votes.values, polarity, np.zeros(len(polarity)))
    amv = margin if len(experts) else bayes
    return {"unelisa-bayes": Verdict(bayes, experts), "unelisa-amv": Verdict(amv, experts)}


def run_oracle(drawn: Drawn, seed: int) -> dict[str, Verdict]:  # noqa: ARG001 - a method's form
    """Return the Bayes rule (2.3) with the true model: nobody who sees the votes can do better."""
    return {"oracle": Verdict(drawn.model.posterior(drawn.votes.values) - 0.5)}


def run_registered(name: str) -> Method:
    """Return how a registered aggregator, with its defaults, is run in a trial."""

    def run(drawn: Drawn, seed: int) -> dict[str, Verdict]:
        model = build_aggregator(name, random_state=seed).fit(drawn.votes)
        experts = model.experts_ if "expert" in model.verdicts else None
        return {name: Verdict(model.decision_function(drawn.votes), experts)}

    return run


# In the order of the paper's columns, then what it has not.
_RIVALS = ("spectral-meta-learner", "latent-spectral-meta-learner", "dawid-skene", "majority-vote")
METHODS: dict[str, Method] = {
    "unelisa": run_unelisa,
    **{name: run_registered(name) for name in (*_RIVALS, "latent-ising")},
    "oracle": run_oracle,
}
# A trial of LatentIsing costs more than all others together: it runs on the first ones of a cell.
FIRST_TRIALS = {"latent-ising": 40}
# What the methods' scores are called: unElisa has two rules on one selection.
COLUMNS = ("unelisa-bayes", "unelisa-amv", *(name for name in METHODS if name != "unelisa"))
LABELS = {
    "hit_rate": "Hit rate",
    "precision": "Precision",
    "unelisa-bayes": "unElisa-Bayes",
    "unelisa-amv": "unElisa-AMV",
    "spectral-meta-learner": "SML",
    "latent-spectral-meta-learner": "SML-Latent",
    "dawid-skene": "DS",
    "majority-vote": "MV",
    "latent-ising": "LatentIsing",
    "oracle": "Oracle",
}


def find_study_methods(names: str | None) -> tuple[str, ...]:
    """Return the study's methods in a comma-separated list, each once; all of them for None.

    Examples
    --------
    >>> find_study_methods("oracle, unelisa")
    ('unelisa', 'oracle')
    """
    wanted = list(METHODS) if names is None else [name.strip() for name in names.split(",")]
    strangers = [name for name in wanted if name not in METHODS]
    if strangers:
        raise ModelError(
            f"the study has no method {strangers[0][:60]!r}; choose among {', '.join(METHODS)}"
        )
    return tuple(name for name in METHODS if name in wanted)


def methods_of(trial: Trial, methods: Iterable[str]) -> tuple[str, ...]:
    """Return which of the methods the trial is meant for.

    Examples
    --------
    >>> from unelisa.study.cells import CELLS
    >>> methods_of(Trial(CELLS[0], 40), ["latent-ising", "oracle"])
    ('oracle',)
    """
    limits = {name: FIRST_TRIALS.get(name, trial.number + 1) for name in methods}
    return tuple(name for name, limit in limits.items() if trial.number < limit)


def draw_trial(trial: Trial) -> Drawn:
    """Return the trial's votes: a fresh graph of section 5.1, then n states of its Ising model."""
    seeds, cell = seed_trial(trial), trial.cell
    model = design_graph(
        cell.n_voters, cell.size, cell.snr, density=trial.graph, random_state=seeds.graph
    )
    n = -(-count_items(model) * trial.factor // FACTOR)
    states, flips = sample_ising(model, n, SAMPLERS[trial.sampler], random_state=seeds.states)
    votes = Votes.of(np.asfortranarray(states[:, 1:]), coding="pm1")
    return Drawn(votes, states[:, 0].copy(), model, flips)


def run_trial(trial: Trial, methods: Iterable[str] = tuple(METHODS)) -> Record:
    """Return the trial's scores as plain numbers that JSON can hold.

    Seconds are those of the processor, so that they mean the same beside other work.

    Examples
    --------
    >>> from unelisa.study.cells import CELLS
    >>> record = run_trial(Trial(CELLS[0], 0), ["majority-vote", "oracle"])
    >>> record["cell"], record["n"], list(record["scores"])
    ('high-25-log', 387, ['majority-vote', 'oracle'])
    """
    start = time.thread_time()
    drawn = draw_trial(trial)
    record: Record = {
        "cell": trial.cell.name,
        "trial": trial.number,
        "sampler": trial.sampler,
        "graph": trial.graph,
        "factor": trial.factor,
        "n": drawn.votes.n_items,
        "flips": int(drawn.flips),
        "mean_truth": abs(float(drawn.truth.mean())),
        "scores": {},
        "seconds": {"sampler": time.thread_time() - start},
    }
    seed = seed_trial(trial).methods
    for name in methods:
        start = time.thread_time()
        verdicts = METHODS[name](drawn, seed)
        record["seconds"][name] = time.thread_time() - start
        for column, verdict in verdicts.items():
            record["scores"][column] = score_verdict(verdict, drawn)
    return record


def score_verdict(verdict: Verdict, drawn: Drawn) -> dict[str, float | None]:
    """Return accuracy, a tie counting half, and (5.1) where the method names experts.

    The accuracy is under the majority-sign rule; up to a global sign it is max(a, 1 - a). Precision
    is None where nobody was found.
    """
    right = (1 + drawn.truth * np.sign(verdict.scores)) / 2
    scores: dict[str, float | None] = {"accuracy": float(right.mean())}
    if verdict.experts is not None:
        found = score_experts(verdict.experts, drawn.model.experts)
        scores["hit_rate"] = found.hit_rate
        scores["precision"] = found.precision if len(verdict.experts) else None
    return scores
