"""Gold labels drawn again and again on sets with known truth: how often a certificate is wrong.

The population of a set are its items with votes and a known truth. Only the order in which the
items are trusted and their labels come from a method; the gold labels come from the truth.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from studies.chances import share_of_votes
from studies.fingerprints import stamp_with
from studies.records import Json, make_archive, merge_sets, read_lines, run_sets
from unelisa import DawidSkene, LatentIsing
from unelisa.aggregators.known import number_codes
from unelisa.analysis.certified_draws import ROUNDING, find_frame_limit, score_items
from unelisa.analysis.certified_sets import Asked, Scored, choose_set, list_evidence
from unelisa.sources.labels import KnownLabels
from unelisa.votes import Votes

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
DRAWS, FEWER_DRAWS = 1000, 100  # of gold labels; where answers are counted
ANSWERS = 300
ERRORS, CONFIDENCES = (0.01, 0.05, 0.1), (0.9, 0.95)
PEEKED = 0.1, 0.9  # error and confidence with which every `STEP` answers are looked at
STEP = 20
PAUSE, MOST_ANSWERS, MOST_SHARE = 10, 800, 0.25  # answers between looks, and at most
WANTED = 0.5  # share of the items that is to be delivered
MOST_ITEMS = 20_000
OURS, SHARE, DAWID_SKENE, SHUFFLED = "LatentIsing", "share of votes", "Dawid-Skene", "shuffled"
ONE_SET = "share of votes, one set"


class Way(NamedTuple):
    """How the items are ordered, and whether only the surest half is drawn from, and certified."""

    order: str
    drawn: bool = False
    certified: bool = False


WAYS = {
    "ours": Way(OURS, drawn=True, certified=True),
    "share, drawn so": Way(SHARE, drawn=True, certified=True),
    OURS: Way(OURS),
    SHARE: Way(SHARE),
    ONE_SET: Way(SHARE, certified=True),
    DAWID_SKENE: Way(DAWID_SKENE),
}
STAMP = stamp_with(f"{__name__}:run_set")
_DIGITS = 4


class Population(NamedTuple):
    """Items with labels by one method, and their true classes."""

    scored: Scored
    truth: Places

    @property
    def right(self) -> NDArray[np.bool_]:
        """Whether each label is right."""
        return np.asarray(self.scored.label == self.truth)


def score_share(votes: Votes) -> Scored:
    """Return the label with most votes, and its share of them."""
    shares = share_of_votes(votes)
    sure = np.round(shares.max(axis=1), ROUNDING)
    return Scored(votes, shares.argmax(axis=1), sure, np.asarray(votes.classes))


def list_populations(known: KnownLabels) -> tuple[dict[str, Population], LatentIsing]:
    """Return the items of a set with their labels by each method."""
    votes = known.votes
    truth = number_codes(known.signs, votes.n_classes)
    items = np.flatnonzero(truth >= 0)
    if len(items) > MOST_ITEMS:
        items = np.sort(np.random.default_rng(0).choice(items, MOST_ITEMS, replace=False))
    model = LatentIsing().fit(votes)
    found = {
        OURS: score_items(model, votes),
        DAWID_SKENE: score_items(DawidSkene().fit(votes), votes),
    }
    found[SHARE] = score_share(votes)
    chosen = {name: _take(scored, truth, items) for name, scored in found.items()}
    ours = chosen[OURS].scored
    mixed = np.random.default_rng(0).permutation(ours.sure)
    chosen[SHUFFLED] = Population(ours._replace(sure=mixed), chosen[OURS].truth)
    return chosen, model


def _take(scored: Scored, truth: Places, items: Places) -> Population:
    """Return the chosen items, the surest first, which the many draws sort sooner."""
    items = items[np.argsort(-scored.sure[items], kind="stable")]
    some = scored._replace(label=scored.label[items], sure=scored.sure[items])
    return Population(some, truth[items])


class Outcome(NamedTuple):
    """What one draw of gold labels led to."""

    broken: bool  # more errors than promised
    certified: float  # share of the items


def try_draw(population: Population, drawn: Places, asked: Asked) -> Outcome:
    """Return whether the certificate of these gold labels holds, and for how many items."""
    scored, truth = population
    gold = np.full(len(truth), -1)
    gold[drawn] = truth[drawn]
    evidence, alpha = list_evidence(scored, gold, asked), 1 - asked.confidence
    threshold = choose_set(evidence, asked, alpha)
    given = (scored.sure >= threshold) & (gold < 0)
    wrong = np.count_nonzero(given & ~population.right)
    allowed = asked.error * (np.count_nonzero(given) + len(drawn))
    return Outcome(bool(given.any() and wrong > allowed + 1e-9), float(given.mean()))


def hold(
    population: Population, answers: int, draws: int, ask: Callable[[float, float], Asked]
) -> list[Json]:
    """Return how often the promise is broken, by error and confidence."""
    rows = []
    for error in ERRORS:
        for confidence in CONFIDENCES:
            asked = ask(error, confidence)
            frame = find_frame(population, asked)
            found = [try_draw(population, x, asked) for x in _draw(frame, answers, draws)]
            broken, certified = np.mean(np.array(found, dtype=np.float64), axis=0)
            rows.append(
                {
                    "error": error,
                    "confidence": confidence,
                    "broken": round(float(broken), _DIGITS),
                    "certified": round(float(certified), _DIGITS),
                }
            )
    return rows


def peek(population: Population, answers: int, draws: int) -> float:
    """Return how often any of many looks would have ended in a broken promise."""
    error, confidence = PEEKED
    asked = ask_any(error, confidence)
    looks = range(STEP, answers + 1, STEP)
    broken = [
        any(try_draw(population, drawn[:k], asked).broken for k in looks)
        for drawn in _draw(np.arange(len(population.truth)), answers, draws)
    ]
    return round(float(np.mean(broken)), _DIGITS)


def count_answers(population: Population, error: float, draws: int, way: Way) -> int | None:
    """Return how many answers deliver half of the items, the median over the draws.

    Somebody looks after every `PAUSE` answers and stops as soon as half of the items are certified
    or answered. Answers on a quarter of the items, or `MOST_ANSWERS`, are the most; None: the
    median needs more.
    """
    asked, n = ask_any(error, 0.95), len(population.truth)
    if way.certified:
        asked = ask_surest(population, error, 0.95, WANTED)
    frame = find_frame(population, asked) if way.drawn else np.arange(n)
    most = min(MOST_ANSWERS, int(n * MOST_SHARE), len(frame))
    needed = []
    for drawn in _draw(frame, most, draws):
        looks = range(PAUSE, most + 1, PAUSE)
        tried = (k for k in looks if deliver(population, drawn[:k], asked) >= WANTED * n)
        needed.append(next(tried, np.inf))
    median = float(np.median(needed)) if needed else np.inf
    return int(median) if np.isfinite(median) else None


def deliver(population: Population, drawn: Places, asked: Asked) -> int:
    """Return how many items are certified or answered."""
    return round(try_draw(population, drawn, asked).certified * len(population.truth)) + len(drawn)


def ask_any(error: float, confidence: float, *, once: bool = False) -> Asked:
    """Return what is asked of all items."""
    return Asked(error, confidence, "file", "wrong", 0.0, once)


def ask_surest(
    population: Population, error: float, confidence: float, share: float | None
) -> Asked:
    """Return what is asked of the items that `draw_gold` draws from."""
    above, whole = find_frame_limit(population.scored, error, share), share is not None
    return Asked(error, confidence, "file", "wrong", above, once=False, whole=whole)


def find_frame(population: Population, asked: Asked) -> Places:
    """Return the items that are drawn from."""
    return np.flatnonzero(population.scored.sure >= asked.above)


def _draw(frame: Places, answers: int, draws: int) -> Iterator[Places]:
    for seed in range(draws):
        yield np.random.default_rng(seed).choice(frame, min(answers, len(frame)), replace=False)


def compare_answers(
    populations: Mapping[str, Population], error: float, draws: int
) -> dict[str, int | None]:
    """Return the answers needed by ways to draw and to order the items."""
    return {
        name: count_answers(populations[way.order], error, draws, way) for name, way in WAYS.items()
    }


def run_set(known: KnownLabels, name: str, draws: int = DRAWS) -> Json:
    """Return the row of one set."""
    populations, model = list_populations(known)
    ours, n = populations[OURS], len(populations[OURS].truth)
    answers, fewer = min(ANSWERS, n // 2), min(FEWER_DRAWS, draws)
    needed = {str(error): compare_answers(populations, error, fewer) for error in ERRORS[1:]}
    return {
        "set": name,
        "classes": known.votes.n_classes,
        "items": n,
        "reliable": bool(model.reliable_),
        "accuracy": round(float(ours.right.mean()), _DIGITS),
        "answers": answers,
        "draws": draws,
        "any": hold(ours, answers, draws, ask_any),
        "once": hold(ours, answers, draws, partial(ask_any, once=True)),
        "drawn": hold(ours, answers // 2, draws, partial(ask_surest, ours, share=None)),
        "half": hold(ours, answers // 2, draws, partial(ask_surest, ours, share=WANTED)),
        "shuffled": hold(populations[SHUFFLED], answers, fewer, partial(ask_any, once=True)),
        "peeked": peek(ours, answers, fewer),
        "needed": needed,
    }


def run_certify(
    sets: Mapping[str, Callable[[], KnownLabels]],
    folder: Path,
    draws: int = DRAWS,
    done: Callable[[str, int], Any] = lambda _name, _count: None,
) -> None:
    """Run what the results in a folder lack, set by set."""
    run_sets(sets, partial(run_set, draws=draws), folder / "certify.jsonl", STAMP, done)


def collect_certify(folder: Path, archived: Json | None = None) -> Json:
    """Return the archive of what is in a folder, beside the sets of an earlier one."""
    old, new = (archived or {}).get("certified", ()), read_lines(folder / "certify.jsonl")
    return make_archive(certified=merge_sets(old, new))


class Needed(NamedTuple):
    """How a way compares with another: sets where both get there, means, sets of one only."""

    sets: int
    own: float
    other: float
    only_own: int
    only_other: int


def mean_needed(rows: Sequence[Json], error: str, way: str, other: str = SHARE) -> Needed | None:
    """Return how a way compares with another, by default with random gold and vote shares."""
    found = [(row["needed"][error].get(way), row["needed"][error].get(other)) for row in rows]
    both = [pair for pair in found if None not in pair]
    if not both:
        return None
    only = [sum(pair[k] is not None and pair[1 - k] is None for pair in found) for k in (0, 1)]
    own, against = np.mean(np.array(both, dtype=np.float64), axis=0).tolist()
    return Needed(len(both), own, against, *only)
