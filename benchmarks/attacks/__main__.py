"""Scripted attacks on every command, every file and the public functions, counted.

    python benchmarks/attacks                   all kinds, about 25 minutes on one core
    python benchmarks/attacks --kinds inputs    some of them
    python benchmarks/attacks --most 20         the first 20 of each kind

Each kind runs in a process of its own. An attack has failed if the command ends in anything but
success or exit code 2 with one sentence, changes an input, leaves part of a file, prints control
characters, does not end within five minutes, or kills the process. The counts are written to
results/attacks.json, of which `python benchmarks/reliability.py page` makes a table.
"""

import argparse
import json
import multiprocessing
import os
import resource
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from ground import TooLongError, lay_out
from on_calls import attack_calls
from on_certificates import attack_certificates, attack_charts
from on_files import attack_inputs, attack_outputs
from on_models import attack_bombs, attack_damaged, attack_forged
from on_names import attack_names, attack_rules
from on_readers import attack_privacy, attack_readers
from on_records import attack_configurations, attack_definitions
from on_reviews import attack_journal
from on_updates import attack_identity, attack_updates
from on_writing import attack_by_fault, attack_by_kill

RESULTS = Path(__file__).parents[1] / "results" / "attacks.json"
KINDS: dict[str, Callable[..., Any]] = {
    "inputs": attack_inputs,
    "outputs": attack_outputs,
    "damaged models": attack_damaged,
    "forged models": attack_forged,
    "bombs": attack_bombs,
    "names": attack_names,
    "names of rules": attack_rules,
    "configurations": attack_configurations,
    "cohort definitions": attack_definitions,
    "calls": attack_calls,
    "update": attack_updates,
    "identity": attack_identity,
    "certificates": attack_certificates,
    "charts": attack_charts,
    "journal": attack_journal,
    "readers": attack_readers,
    "privacy": attack_privacy,
    "kills": attack_by_kill,
    "faults": attack_by_fault,
}


def _stop(*_: Any) -> None:
    raise TooLongError


def carry_out(kind: str, ground: Path, seed: int, told: Any, most: int) -> None:
    """Run the attacks of a kind; send a name and a trouble of each, and None at the end."""
    signal.signal(signal.SIGALRM, _stop)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    place = ground.parent / kind.replace(" ", "-") / "files"
    place.parent.mkdir()
    attacks = KINDS[kind](ground, place, np.random.default_rng(seed))
    for count, outcome in enumerate(attacks, start=1):
        told.send(outcome)
        if count == most:
            break
    told.send(None)


def count_attacks(kind: str, ground: Path, seed: int, most: int) -> dict[str, Any]:
    """Return how many attacks of a kind there were, and which were not withstood."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(
        target=carry_out, args=(kind, ground, seed, theirs, most)
    )
    start, tried, failed, last = time.monotonic(), 0, [], ""
    child.start()
    theirs.close()
    try:
        while (outcome := ours.recv()) is not None:
            tried, last = tried + 1, outcome[0]
            if outcome[1]:
                failed.append(outcome)
                print(f"FAILED {kind} | {' | '.join(outcome)}", flush=True)
    except EOFError:
        child.join()
        failed.append((f"the attack after: {last}", f"the process ended with {child.exitcode}"))
        print(f"FAILED {kind} | {' | '.join(failed[-1])}", flush=True)
    child.join()
    seconds = round(time.monotonic() - start)
    print(f"{kind}: {tried} attacks, {len(failed)} failures, {seconds} s", flush=True)
    return {"attacks": tried, "failures": [name for name, _ in failed], "seconds": seconds}


def main() -> None:
    """Run the kinds that were asked for; add their counts to the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=0, help="attacks per kind; all by default")
    parser.add_argument("--results", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    counted: dict[str, Any] = {}
    if chosen.results.exists():
        counted = json.loads(chosen.results.read_text(encoding="utf-8"))["kinds"]
    with tempfile.TemporaryDirectory() as folder:
        ground = Path(folder) / "ground"
        ground.mkdir()
        lay_out(ground)
        os.chdir(folder)
        for kind in chosen.kinds:
            counted[kind] = count_attacks(kind, ground, chosen.seed, chosen.most)
            kinds = {kind: counted[kind] for kind in KINDS if kind in counted}
            found = {"seed": chosen.seed, "most": chosen.most, "kinds": kinds}
            chosen.results.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
