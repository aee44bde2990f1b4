"""A scoring function for promptfoo: the judges' verdicts, weighed by their accuracy.

In promptfooconfig.yaml, with `metric: NAME` for each assertion that is a judge::

    defaultTest:
      assertScoringFunction: file://promptfoo_scoring.py:score

The accuracies come from earlier logs: ``unelisa jury results.json --json jury.json``.
"""

import json
import math
import os
from pathlib import Path

UNKNOWN = 0.7  # accuracy of a judge of whom nothing is known


def read_accuracies(path):
    """Return judge -> accuracy from what `unelisa jury --json` wrote."""
    if not Path(path).exists():
        return {}
    found = json.loads(Path(path).read_text(encoding="utf-8"))
    return {row["name"]: row["accuracy"] for row in found["judges"] if row["accuracy"] is not None}


def weigh(scores, accuracies):
    """Return the probability of a pass: expit(sum_j logit(accuracy_j) (2 score_j - 1))."""
    total = 0.0
    for name, given in scores.items():
        right = min(max(accuracies.get(name, UNKNOWN), 0.05), 0.95)
        total += math.log(right / (1 - right)) * (2 * given - 1)
    return 1 / (1 + math.exp(-total))


def score(named_scores, _context=None):
    """Return promptfoo's grading result for the named scores of one answer."""
    accuracies = read_accuracies(os.environ.get("UNELISA_JURY", "jury.json"))
    chance = weigh(named_scores, accuracies)
    reason = f"P(pass) = {chance:.2f} from {len(named_scores)} judges"
    return {"pass": chance >= 0.5, "score": chance, "reason": reason}


if __name__ == "__main__":
    print(score({"strict": 1.0, "kind": 1.0, "other": 0.0}))
