"""One replay per set, policy and seed: a line of JSON with its curve, then one archive."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studies.fingerprints import drop_stale, stamp_with
from studies.records import Json, make_archive, open_results, read_lines
from studies.replay.policies import POLICIES, Market
from studies.replay.recordings import Recording, draw_recording
from studies.replay.summary import LATER, STOPS, has_arrived
from unelisa.errors import UnelisaWarning
from unelisa.kernels.threads import one_blas_thread
from unelisa.sources.labels import KnownLabels
from unelisa.votes.coding import encode_classes

Reader = Callable[[int], KnownLabels]  # of a seed: a set is the same for all, a world is not
BATCHES = 4  # in which the votes of a stop are bought; the models are fitted again before each
CLIP = 1e-6
STAMP = stamp_with(f"{__name__}:replay", "studies.replay.recordings:draw_recording")
_DIGITS = 5


def replay(
    recording: Recording, policy: str, seed: int, whole: Sequence[float]
) -> list[list[float]]:
    """Return votes, accuracy and log loss at every stop; `whole` is the score of all votes."""
    rng = np.random.default_rng([seed, 1])
    offered = recording.offered
    chosen = draw_first(offered, rng)
    curve: list[list[float]] = []
    for stop in STOPS + LATER:
        if stop in LATER and has_arrived(curve, whole):
            break
        for left in range(BATCHES, 0, -1):
            wanted = round((round(stop * len(offered)) - int(chosen.sum())) / left)
            if wanted > 0:
                market = Market(recording.bought(chosen), offered & ~chosen, rng)
                pairs = POLICIES[policy](market, wanted)
                chosen[pairs[:, 0], pairs[:, 1]] = True
        curve.append(score_votes(recording, chosen))
        if chosen.sum() == offered.sum():
            break
    return curve


def draw_first(offered: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return one random vote of every item."""
    keys = np.where(offered, rng.random(offered.shape), -1)
    chosen = np.zeros_like(offered)
    chosen[np.arange(len(offered)), keys.argmax(axis=1)] = True
    return chosen


def score_votes(recording: Recording, chosen: NDArray[np.bool_]) -> list[float]:
    """Return the number of votes, and the accuracy and log loss that LatentIsing gets from them."""
    votes = recording.bought(chosen)
    market = Market(votes, ~chosen, np.random.default_rng(0))
    chances = market.latent.predict_proba(votes)
    codes = np.array(encode_classes(votes.n_classes), dtype=np.int8)
    truth = (recording.truth[:, None] == codes).argmax(axis=1)
    of_truth = chances[np.arange(len(truth)), truth]
    best = chances >= chances.max(axis=1, keepdims=True) - 1e-9
    right = best[np.arange(len(truth)), truth] / best.sum(axis=1)
    loss = -np.log(np.clip(of_truth, CLIP, 1)).mean()
    return [int(chosen.sum()), round(float(right.mean()), _DIGITS), round(float(loss), _DIGITS)]


def run_replays(
    sets: Mapping[str, Reader],
    folder: Path,
    policies: Sequence[str],
    seeds: Sequence[int],
    done: Callable[[str, int], Any] = lambda _name, _count: None,
) -> None:
    """Run what the results in a folder lack, and append each curve as it finishes."""
    with (
        open_results(folder / "replays.jsonl", STAMP) as results,
        one_blas_thread(),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", UnelisaWarning)  # a few votes are never enough
        there = {_key(row) for row in drop_stale(read_lines(folder / "replays.jsonl"), STAMP)}
        for seed in seeds:
            for name, read in sets.items():
                missing = [one for one in policies if (name, one, seed) not in there]
                done(name, len(policies) - len(missing))
                if not missing:
                    continue
                recording = draw_recording(read(seed), seed)
                whole = score_votes(recording, recording.offered)
                shape = dict(zip(("items", "voters"), recording.votes.shape, strict=True))
                for policy in missing:
                    curve = replay(recording, policy, seed, whole)
                    where = {"set": name, "policy": policy, "seed": seed}
                    results.append({**where, **shape, "curve": curve, "whole": whole})
                    done(name, 1)


def collect_replays(folder: Path, stored: Json | None = None) -> Json:
    """Return the archive of a results folder, added to a stored one, in a fixed order."""
    rows = {_key(row): row for row in (stored or {}).get("replays", ())}
    rows |= {_key(row): row for row in read_lines(folder / "replays.jsonl")}
    return make_archive(replays=[rows[key] for key in sorted(rows)])


def _key(row: Json) -> tuple[str, str, int]:
    return row["set"], row["policy"], row["seed"]
