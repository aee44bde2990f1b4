"""Panels of judges with known truth: one line of JSON per panel, then one archive.

Labels are scored against the truth; pass rates are estimated over draws of gold labels; the panel
is fitted again with a judge twice, three times, and twice with some answers drawn again.
"""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studies.chances import share_of_yes
from studies.classes.peers import ask_crowd_kit, list_crowd_kit
from studies.fingerprints import drop_stale, hash_code, stamp_with
from studies.jury.discoveries import QUESTIONS, SCENARIOS, count_discoveries
from studies.jury.estimates import ask_independent_panel, correct_judge, map_scores
from studies.jury.pairs import PANELS as PANELS_OF_PAIRS
from studies.jury.pairs import rank_panel, rank_real
from studies.rate.runs import find_rate_sets
from studies.records import Json, make_archive, merge_sets, open_results, read_lines, run_sets
from studies.sets import Reader, is_listed, list_sets, read_known
from unelisa.aggregators import LatentIsing, MajorityVote
from unelisa.analysis.judged import Judged
from unelisa.analysis.rate import Rate, correct_shares
from unelisa.analysis.scoring import bound_frequency, share_ties
from unelisa.analysis.suggestions.advice import count_labels, find_smaller_panel
from unelisa.errors import ModelError
from unelisa.jury.panel import find_truth
from unelisa.jury.systems import Truth, describe_systems
from unelisa.sources.labels import KnownLabels
from unelisa.votes import Votes
from unelisa.votes.coding import encode_classes

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
DRAWS, LABELS, LEVEL = 200, 50, 0.95
GOLD_EACH = 20  # of each system
PANELS = (
    "care_asset",
    "care_civilcomments",
    "llm_judges",
    "llm_judges_hard",
    "triviaqa_judges_v1",
    "triviaqa_judges_v2",
)
OURS, MAJORITY, SHARE, DAWID_SKENE = "LatentIsing", "majority", "share of yes", "Dawid-Skene"
GOLD, RATED = "gold alone", "estimate_rate"
JUDGE, PANEL, MAPPED = "judgy-style", "judgepanel-style", "CJE-style"
KIND, SYSTEMS = "llm judges", "meta.csv"  # in the list of sources; of a set, beside its votes
TIMES, REDRAWN = (2, 3), 0.05  # a judge so often; share of a copy's answers that are drawn again
SURE = 1e-6  # probabilities are clipped there
STAMP = stamp_with(f"{__name__}:run_panel")
_SIMULATED = {
    "systems": "studies.jury.discoveries:count_discoveries",
    "pairs": "studies.jury.pairs:rank_panel",
}
_DIGITS = 5


def find_jury_sets(place: Path) -> dict[str, Reader]:
    """Return how to read each panel: those listed, or in a folder and in data_k next to it."""
    if is_listed(place):
        return {
            one.name: partial(read_known, place, one)
            for one in list_sets(place)
            if one.kind == KIND
        }
    sets = find_rate_sets(place, None)
    found = {name: sets[name] for name in PANELS if name in sets}
    if not found:
        raise ModelError(f"no folder in {place.name} or data_k is a panel: {', '.join(PANELS)}")
    return found


def find_systems(place: Path) -> dict[str, dict[str, str]]:
    """Return item -> system under test of each set that knows them."""
    found = {}
    for path in (place if is_listed(place) else place.parent).glob(f"data*/*/{SYSTEMS}"):
        with path.open(encoding="utf-8", newline="") as file:
            found[path.parent.name] = {row["item"]: row["model"] for row in csv.DictReader(file)}
    return found


def run_panel(
    known: KnownLabels,
    name: str,
    draws: int = DRAWS,
    systems: Mapping[str, Mapping[str, str]] | None = None,
) -> Json:
    """Return the line of one panel; `systems` are those under test, by set and item."""
    votes = known.scored_votes()
    model = LatentIsing().fit(known.votes)
    judged = Judged.of(model, known.votes)
    codes = np.array(encode_classes(votes.n_classes), dtype=np.int8)
    truth = known.scored_signs()[:, None] == codes
    asked = truth.any(axis=1)
    smaller = find_smaller_panel(model, known.votes)
    row = {
        "set": name,
        "classes": votes.n_classes,
        "items": int(asked.sum()),
        "judges": votes.n_voters,
        "effective": _round(model.effective_voters_),
        "families": len(model.families_),
        "reliable": bool(model.reliable_),
        "needed": count_labels(model, judged),
        "labels": score_methods(known, model, truth),
        "smaller": score_smaller(known, model, smaller, truth),
        "repeats": [*repeat_judges(known.votes, model)],
    }
    if votes.n_classes == 2:
        chances = model.predict_proba(votes)[asked]
        row["rates"] = draw_rates(
            votes.take_items(np.flatnonzero(asked)), truth[asked], chances, draws
        )
    if systems is not None and name in systems:
        row["systems"] = score_systems(
            known, judged, systems[name], model.prevalence_interval_, draws
        )
    return row


def score_systems(
    known: KnownLabels,
    judged: Judged,
    systems: Mapping[str, str],
    bounds: tuple[float, float],
    draws: int,
) -> Json:
    """Return how differences between the systems under test compare with the true ones.

    Items of one system are in the order of the questions. With gold labels: `GOLD_EACH` random ones
    of each system, drawn `draws` times.
    """
    signs = dict(zip(map(str, known.scored_votes().items), known.scored_signs(), strict=True))
    place = {str(item): i for i, item in enumerate(known.votes.items)}
    items = sorted((item for item in systems if item in signs and item in place), key=int)
    own: dict[str, list[str]] = {}
    for item in items:
        own.setdefault(systems[item], []).append(item)
    questions = {item: str(q) for names in own.values() for q, item in enumerate(names)}
    rates = {one: float(np.mean([signs[x] > 0 for x in names])) for one, names in own.items()}
    rng, truths = np.random.default_rng(0), []
    for _ in range(draws):
        gold = np.zeros(known.votes.n_items, dtype=np.int8)
        for names in own.values():
            for item in rng.choice(names, GOLD_EACH, replace=False):
                gold[place[item]] = signs[item]
        truths.append(find_truth(known.votes, gold, judged))
    passing = judged.as_shares()

    def score(truth: Truth | None) -> list[float]:
        found = describe_systems(judged, passing, systems, bounds, questions, truth)
        return _score_differences(found, rates)

    order = np.array([place[item] for item in items])
    truth = np.array([signs[item] for item in items], dtype=np.int8)
    pairs = rank_real(known.votes.take_items(order), truth, [systems[item] for item in items])
    gold = np.mean([score(truth) for truth in truths], axis=0)
    return {"alone": _name(score(None)), "gold": _name(gold), "pairs": pairs}


_SCORES = ("pairs", "called", "wrong", "any_wrong", "coverage", "rates", "flagged")


def _name(figures: Sequence[float]) -> Json:
    return dict(zip(_SCORES, map(_round, figures), strict=True))


def _score_differences(found: Json, rates: Mapping[str, float]) -> list[float]:
    """Return how many differences are called, how many wrongly, and how often intervals hold."""
    pairs = found["differences"]
    true = [rates[pair["better"]] - rates[pair["worse"]] for pair in pairs]
    both = [*zip(pairs, true, strict=True)]
    wrong = sum(pair["holds"] and gap <= 0 for pair, gap in both)
    held = [pair["low"] <= gap <= pair["high"] for pair, gap in both]
    shares = [row["low"] <= rates[row["system"]] <= row["high"] for row in found["systems"]]
    called = sum(pair["holds"] for pair in pairs)
    figures = (np.mean(held), np.mean(shares), len(found["favors"]))
    return [float(x) for x in (len(pairs), called, wrong, wrong > 0, *figures)]


def _round(value: Any) -> float:
    return round(float(value), _DIGITS)


def score_methods(known: KnownLabels, model: LatentIsing, truth: Flags) -> dict[str, Json]:
    """Return accuracy (a tie counts by its expectation) and log loss of every method."""
    votes = known.scored_votes()
    counted = MajorityVote().fit(known.votes).decision_function(votes)
    found = {OURS: model.predict_proba(votes), MAJORITY: _tie(counted)}
    if votes.n_classes == 2:
        yes = share_of_yes(votes.values)
        found[SHARE] = np.stack([1 - yes, yes], axis=1)
    else:
        found[SHARE] = _share_votes(votes)
    if "DawidSkene" in list_crowd_kit():
        coded = _as_classes(known) if votes.n_classes == 2 else known
        chances = ask_crowd_kit("DawidSkene", coded)[0]
        if chances is not None:
            found[DAWID_SKENE] = chances
    return {name: score_chances(chances, truth) for name, chances in found.items()}


def score_chances(chances: Floats, truth: Flags) -> Json:
    """Return how often the likeliest class is right, and the log loss of the probabilities.

    Examples
    --------
    >>> truth = np.array([[True, False], [False, True]])
    >>> score_chances(np.array([[0.5, 0.5], [0.2, 0.8]]), truth)
    {'accuracy': 0.75, 'log_loss': 0.45815}
    """
    asked = truth.any(axis=1)
    right = share_ties(chances[asked])[truth[asked]]
    loss = -np.log(np.clip(chances[asked][truth[asked]], SURE, 1))
    return {"accuracy": _round(right.mean()), "log_loss": _round(loss.mean())}


def _tie(scores: Floats) -> Floats:
    """Return the label's share: 1, or equal ones of tied classes."""
    return share_ties(scores if scores.ndim == 2 else np.stack([-scores, scores], axis=1))


def _share_votes(votes: Votes) -> Floats:
    codes = np.array(encode_classes(votes.n_classes), dtype=np.int8)
    counts = np.stack([(votes.values == code).sum(axis=1) for code in codes], axis=1)
    return np.asarray((counts + 1) / (counts.sum(axis=1, keepdims=True) + votes.n_classes))


def _as_classes(known: KnownLabels) -> KnownLabels:
    """Return votes of two classes in the codes 1 and 2, as those of more classes are."""
    lookup = np.zeros(256, dtype=np.int8)
    lookup[np.array([-1, 1], dtype=np.int8).view(np.uint8)] = 1, 2
    votes = known.scored_votes()
    coded = Votes.of_values(
        np.asfortranarray(lookup[votes.values.view(np.uint8)]), votes.items, votes.voters, (0, 1)
    )
    signs = lookup[known.scored_signs().view(np.uint8)]
    return KnownLabels(coded, signs, known.unvoted_items[:0], known.unvoted_signs[:0])


def score_smaller(known: KnownLabels, model: LatentIsing, smaller: Any, truth: Flags) -> Json:
    """Return which judges can be dropped, and the accuracy without them."""
    votes = known.scored_votes()
    kept = np.flatnonzero(np.isin(votes.voters, smaller.kept))
    rest = LatentIsing().fit(known.votes.take_voters(kept)) if smaller.dropped else model
    chances = rest.predict_proba(votes.take_voters(kept))
    return {
        "dropped": len(smaller.dropped),
        "labels_kept": _round(smaller.labels_kept),
        "accuracy": score_chances(chances, truth)["accuracy"],
    }


def repeat_judges(votes: Votes, model: LatentIsing) -> list[Json]:
    """Return how far the panel changes with a judge more than once: of most, middle, least weight.

    `differ` is the share of the copy's answers that were drawn again; some come out the same.
    """
    order = np.argsort(-np.abs(model.weights_), kind="stable")
    chosen = dict.fromkeys(int(order[k]) for k in (0, len(order) // 2, -1))
    cases = [(s, times, 0.0) for s in chosen for times in TIMES]
    cases += [(s, 2, REDRAWN) for s in chosen]
    before = model.predict(votes)
    rows = []
    for s, times, differ in cases:
        more = add_copies(votes, s, times, differ)
        again = LatentIsing().fit(more)
        rows.append(
            {
                "judge": str(votes.voters[s]),
                "times": times,
                "differ": differ,
                "effective": _round(again.effective_voters_),
                "labels_kept": _round(np.mean(again.predict(more) == before)),
            }
        )
    return rows


def add_copies(votes: Votes, judge: int, times: int, differ: float = 0.0) -> Votes:
    """Return the votes with a judge so many times, a share of the copies' answers drawn again.

    Examples
    --------
    >>> add_copies(Votes.of([[1, -1], [-1, -1]]), 1, 3).voters.tolist()
    ['v0', 'v1', 'copy 2', 'copy 3']
    """
    rng, values = np.random.default_rng(0), votes.values
    codes = np.array(encode_classes(votes.n_classes), dtype=np.int8)
    copies = np.repeat(values[:, [judge]], times - 1, axis=1)
    other = rng.choice(codes, copies.shape)
    copies = np.where((copies != 0) & (rng.random(copies.shape) < differ), other, copies)
    names = [f"copy {k}" for k in range(2, times + 1)]
    voters = np.array([*votes.voters.tolist(), *names], dtype=object)
    table = np.asfortranarray(np.hstack([values, copies]))
    found = Votes.of_values(table, votes.items, voters, votes.classes)
    return replace(found, ordered=votes.ordered)


def draw_rates(votes: Votes, truth: Flags, chances: Floats, draws: int) -> Json:
    """Return coverage, width and error of every interval of the pass rate, over draws of labels.

    The judge of the judgy-style estimate is the panel's majority; its tie is a fail. The
    judgepanel-style estimate needs no gold label, so that there is one interval for all draws.
    """
    rng, goal, n = np.random.default_rng(0), float(truth[:, 1].mean()), len(truth)
    n_labels = min(LABELS, n // 2)
    said = votes.values.sum(axis=1, dtype=np.int64) > 0
    scores = share_of_yes(votes.values)
    found: dict[str, list[Rate]] = {name: [] for name in (RATED, GOLD, JUDGE, MAPPED, PANEL)}
    rest = (n - n_labels) / (n - 1)
    alone = ask_independent_panel(votes.values, LEVEL)
    for _ in range(draws):
        drawn = np.zeros(n, dtype=np.bool_)
        drawn[rng.choice(n, n_labels, replace=False)] = True
        found[RATED].append(correct_shares(truth & drawn[:, None], chances, LEVEL)[1])
        own = float(truth[drawn, 1].mean())
        found[GOLD].append(Rate(own, *bound_frequency(own, n_labels / rest, LEVEL)))
        found[JUDGE].append(correct_judge(truth[drawn, 1], said[drawn], said[~drawn], LEVEL, rng))
        mapped = map_scores(truth[drawn, 1], scores[drawn], scores, LEVEL, rng)
        found[MAPPED].append(mapped)
        found[PANEL].append(alone)
    figures = {name: _summarize(np.array(rates), goal) for name, rates in found.items()}
    return {"truth": _round(goal), "labels": n_labels, "draws": draws, **figures}


def _summarize(rates: Floats, goal: float) -> Json:
    share, low, high = rates.T
    return {
        "coverage": _round(np.mean((low <= goal) & (goal <= high))),
        "width": _round(np.mean(high - low)),
        "error": _round(np.sqrt(np.mean((share - goal) ** 2))),
    }


def list_simulated(runs: int) -> dict[str, Callable[[], Json]]:
    """Return how to run each simulation, by name."""
    found: dict[str, Callable[[], Json]] = {}
    for scenario in SCENARIOS:
        for n in QUESTIONS:
            about = {"kind": "systems", "scenario": scenario, "questions": n, "runs": runs}
            count = partial(count_discoveries, scenario, n, runs)
            found[f"{scenario}, {n} questions"] = partial(_describe_run, about, count)
    for panel in PANELS_OF_PAIRS:
        about = {"kind": "pairs", "scenario": panel, "runs": runs}
        found[f"pairs, {panel}"] = partial(_describe_run, about, partial(rank_panel, panel, runs))
    return found


def stamp_simulated(row: Mapping[str, Any]) -> str:
    """Return the code that a simulated row depends on."""
    return hash_code(_SIMULATED[row["kind"]])


def run_simulated(path: Path, runs: int) -> None:
    """Run the simulations that a file of rows lacks."""
    with open_results(path, stamp_simulated) as rows:
        there = {row["set"] for row in drop_stale(read_lines(path), stamp_simulated)}
        for name, run in list_simulated(runs).items():
            if name not in there:
                rows.append({"set": name, **run()})


def _describe_run(about: Json, run: Callable[[], Json]) -> Json:
    return {**about, **run()}


def run_jury(
    sets: Mapping[str, Reader],
    folder: Path,
    draws: int = DRAWS,
    done: Callable[[str, int], Any] = lambda _name, _count: None,
    systems: Mapping[str, Mapping[str, str]] | None = None,
) -> None:
    """Run what the results in a folder lack: panel by panel, then the simulations."""
    run = partial(run_panel, draws=draws, systems=systems)
    run_sets(sets, run, folder / "panels.jsonl", STAMP, done)
    run_simulated(folder / "simulated.jsonl", draws)


def collect_jury(folder: Path, archived: Json | None = None) -> Json:
    """Return the archive of a results folder, added to an old one, in a fixed order."""
    parts = {
        part: merge_sets((archived or {}).get(part, ()), read_lines(folder / f"{part}.jsonl"))
        for part in ("panels", "simulated")
    }
    return make_archive(**parts)
