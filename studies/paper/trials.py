"""One trial: draw votes, run every method on them, score it; and many trials, resumable.

Records of one trial are joined, so no trial counts twice, and a method that joins the study later
adds its scores to the trials that are there.
"""

import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from studies.fingerprints import KEY, hash_code, root_of
from studies.names import pick_names
from studies.paper.cells import FACTOR, SAMPLERS, StudySampler, Trial, find_cell, seed_trial
from studies.records import Json, open_results, read_lines
from unelisa.aggregators import AGGREGATORS, UnElisa
from unelisa.analysis.comparison import build_aggregator
from unelisa.analysis.scoring import score_experts
from unelisa.errors import ExpertsWarning, ModelError, VotesWarning
from unelisa.kernels.threads import one_blas_thread
from unelisa.paper.ising import Ising
from unelisa.parallel import run_all
from unelisa.simulation.designs import Density, count_items, design_graph, sample_ising
from unelisa.votes import Votes
from unelisa.votes.blocks import weigh_votes

Floats = NDArray[np.float64]


class Drawn(NamedTuple):
    """A trial's votes, their truth and the model they were drawn from."""

    votes: Votes
    truth: NDArray[np.int8]
    model: Ising
    flips: int


class Answer(NamedTuple):
    """A method's scores, one per item; its experts and reliability flag, if it has them."""

    scores: Floats
    experts: NDArray[np.intp] | None = None
    reliable: bool | None = None


Method = Callable[[Drawn, int], dict[str, Answer]]


def run_unelisa(drawn: Drawn, seed: int) -> dict[str, Answer]:
    """Return both rules of the paper's method, based on one selection of experts.

    UnElisa with its defaults, which follow the paper. Augmented majority voting counts the experts,
    those of the smaller group reversed (section 4.2). Without experts both are majority vote.
    """
    model = UnElisa(rule="bayes", random_state=seed).fit(drawn.votes)
    bayes, experts = model.decision_function(drawn.votes), model.experts_
    polarity = model.selector_.polarity_.astype(np.float64)
    margin = weigh_votes(drawn.votes.values, polarity, np.zeros(len(polarity)))
    amv = margin if len(experts) else bayes
    return {"unelisa-bayes": Answer(bayes, experts), "unelisa-amv": Answer(amv, experts)}


def run_intercepts(drawn: Drawn, seed: int) -> dict[str, Answer]:
    """Return the paper's method with an intercept in every regression, which the paper omits."""
    model = UnElisa(fit_intercept=True, random_state=seed).fit(drawn.votes)
    scores = model.decision_function(drawn.votes)
    return {"unelisa-intercepts": Answer(scores, model.experts_)}


def run_oracle(drawn: Drawn, seed: int) -> dict[str, Answer]:  # noqa: ARG001 - a method's form
    """Return the Bayes rule (2.3) with the true model, item by item."""
    return {"oracle": Answer(drawn.model.posterior(drawn.votes.values) - 0.5)}


def run_registered(name: str) -> Method:
    """Return how a registered aggregator runs in a trial, with its defaults."""

    def run(drawn: Drawn, seed: int) -> dict[str, Answer]:
        model = build_aggregator(name, random_state=seed).fit(drawn.votes)
        scores = model.decision_function(drawn.votes)
        if "expert" not in model.verdicts:
            return {name: Answer(scores)}
        return {name: Answer(scores, model.experts_, bool(model.reliable_))}

    return run


# In the order of the paper's columns, then the methods it does not have.
_RIVALS = ("spectral-meta-learner", "latent-spectral-meta-learner", "dawid-skene", "majority-vote")
METHODS: dict[str, Method] = {
    "unelisa": run_unelisa,
    **{name: run_registered(name) for name in (*_RIVALS, "latent-ising")},
    "unelisa-intercepts": run_intercepts,
    "oracle": run_oracle,
}
# These run only on the first trials of a cell: LatentIsing costs more than all others together.
FIRST_TRIALS = {"latent-ising": 40, "unelisa-intercepts": 40}
# Names of the methods' scores: unElisa has two rules on one selection.
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
    "unelisa-intercepts": "unElisa, intercepts",
    "oracle": "Oracle",
}


def find_study_methods(names: str | None) -> tuple[str, ...]:
    """Return the study's methods in a comma-separated list, each once; all of them for None.

    Examples
    --------
    >>> find_study_methods("oracle, unelisa")
    ('unelisa', 'oracle')
    """
    return pick_names(names, METHODS, "the study has no method")


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


def run_trial(trial: Trial, methods: Iterable[str] = tuple(METHODS)) -> Json:
    """Return the trial's scores as plain numbers for JSON, with CPU seconds by part.

    Examples
    --------
    >>> from studies.paper.cells import CELLS
    >>> record = run_trial(Trial(CELLS[0], 0), ["majority-vote", "oracle"])
    >>> record["cell"], record["n"], list(record["scores"])
    ('high-25-log', 387, ['majority-vote', 'oracle'])
    """
    start = time.thread_time()
    drawn = draw_trial(trial)
    record: Json = {
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
        answers = METHODS[name](drawn, seed)
        record["seconds"][name] = time.thread_time() - start
        for column, answer in answers.items():
            record["scores"][column] = score_answer(answer, drawn)
    return record


def score_answer(answer: Answer, drawn: Drawn) -> dict[str, float | None]:
    """Return accuracy, a tie counting half, and (5.1) if the method selects experts.

    Accuracy uses the majority-sign rule; up to a global sign it is max(a, 1 - a). Precision is None
    if no expert was selected.
    """
    right = (1 + drawn.truth * np.sign(answer.scores)) / 2
    scores: dict[str, float | None] = {"accuracy": float(right.mean())}
    if answer.experts is not None:
        found = score_experts(answer.experts, drawn.model.experts)
        scores["hit_rate"] = found.hit_rate
        scores["precision"] = found.precision if len(answer.experts) else None
    if answer.reliable is not None:
        scores["reliable"] = float(answer.reliable)
    return scores


def results_path(
    folder: Path, sampler: StudySampler, graph: Density, *, series: bool = False
) -> Path:
    """Return the file of one sampler's trials on one kind of graph: the tables' or the series'."""
    return folder / f"{sampler}-{graph}{'-sizes' if series else ''}.jsonl"


def read_results(path: Path) -> dict[Trial, Json]:
    """Return the finished trials in a file; none if there is no file.

    The scores in several lines about one trial are joined; of two alike the later one counts.
    """
    results: dict[Trial, Json] = {}
    for number, record in enumerate(read_lines(path), 1):
        try:
            cell = find_cell(record["cell"])
            name = record["trial"], record["sampler"], record["graph"], record["factor"]
            trial, first = Trial(cell, *name), results.get(Trial(cell, *name), record)
            parts = ("scores", "seconds", KEY)
            joined = {key: {**first.get(key, {}), **record.get(key, {})} for key in parts}
        except (ModelError, KeyError, TypeError):
            raise ModelError(
                f"line {number} of {path.name} is not a trial of this study: "
                "delete that line, or use a new folder"
            ) from None
        results[trial] = {**first, **joined}
    return results


def missing_methods(trial: Trial, record: Json | None, methods: Sequence[str]) -> tuple[str, ...]:
    """Return which of the methods the trial should have (`FIRST_TRIALS`) and lacks.

    Examples
    --------
    >>> from studies.paper.cells import CELLS
    >>> missing_methods(Trial(CELLS[0], 40), None, ["latent-ising", "oracle"])
    ('oracle',)
    """
    codes = {} if record is None else record.get(KEY, {})
    done = {name for name, code in codes.items() if code == stamp_method(name)}
    return tuple(
        name
        for name in methods
        if name not in done and trial.number < FIRST_TRIALS.get(name, trial.number + 1)
    )


def stamp_method(name: str) -> str:
    """Return the code that a method's scores depend on: the draws, the scores and its own."""
    run = METHODS[name].__qualname__.split(".")[0]
    registered = [root_of(AGGREGATORS[name])] if run == run_registered.__name__ else []
    own = (f"{__name__}:{part}" for part in ("draw_trial", "score_answer", run))
    return hash_code(*own, *registered)


def stamp_trial(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the code of every method of a trial."""
    return {name: stamp_method(name) for name in record["seconds"] if name in METHODS}


def stamp_cell(cell: Mapping[str, Any]) -> dict[str, str]:
    """Return the code of every method that a cell of the tables sums up."""
    return {name: stamp_method(name) for name in cell.get(KEY) or METHODS}


def _run(task: tuple[Trial, tuple[str, ...]]) -> Json:
    return run_trial(*task)


def run_trials(
    trials: Iterable[Trial],
    path: Path,
    methods: Sequence[str] = tuple(METHODS),
    n_jobs: int | None = None,
    done: Callable[[int], Any] = lambda _: None,
) -> dict[Trial, Json]:
    """Run the trials that the file lacks, append each as it finishes, and return all of them.

    Parameters
    ----------
    trials
        The trials wanted.
    path
        The results file.
    methods
        The methods that each trial needs.
    n_jobs
        Trials at a time, in threads: kernels release the interpreter lock, and kill -9 leaves no
        orphans. BLAS uses one thread, so the bits do not depend on n_jobs.
    done
        Called with the number of trials already there, then with 1 after each that finishes.

    Notes
    -----
    Few experts or constant voters are results here, not warnings: the paper's sampler may never
    leave one value of the truth. An iteration limit still warns.
    """
    wanted = list(trials)
    with open_results(path, stamp_trial) as file, one_blas_thread(), warnings.catch_warnings():
        # set once for all threads: filters belong to the process, not to a thread
        warnings.simplefilter("ignore", ExpertsWarning)
        warnings.simplefilter("ignore", VotesWarning)
        there = read_results(path)
        lacking = [(trial, missing_methods(trial, there.get(trial), methods)) for trial in wanted]
        asked = [(trial, names) for trial, names in lacking if names]

        def keep(record: Json) -> None:
            file.append(record)
            done(1)

        done(len(wanted) - len(asked))
        run_all(_run, asked, n_jobs, keep)
        finished = read_results(path)
    return {trial: finished[trial] for trial in wanted if trial in finished}
