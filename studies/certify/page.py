"""docs/certify.md, made from the archive: numbers come from there, words from here."""

from collections.abc import Sequence

import numpy as np
from scipy.stats import binom

from studies.certify.runs import DAWID_SKENE, FEWER_DRAWS, ONE_SET, OURS, SHARE, mean_needed
from studies.markdown import join_blocks, markdown_table, share
from studies.records import Json

_INTRODUCTION = """# Does the guarantee hold?

`unelisa certify` promises that at most a given share of the delivered labels is wrong. Here gold
labels are drawn again and again from {n} sets of real votes whose truth is known, {draws} times a
set and with {answers} answers (half of the items of a set with fewer than twice as many), and the
certified labels are compared with the truth.

All numbers are in `docs/study/certify.json`. These commands, run in a clone, write this page:

```
unelisa reproduce certify --from docs/study/certify.json --out docs    # from the stored numbers
unelisa reproduce certify --data FOLDER --out docs    # run what is missing
```

## Broken promises

A promise is broken if more labels are wrong than it allows; that may happen with chance 1 -
confidence. *Most* is the largest share of broken promises over the sets; *too often* counts the
sets where so many would have a chance below 1 in 1,000 if the promise held. `looks="any"` may be
looked at after every answer, `looks="once"` is for a number of answers that was decided before.
*Drawn*: half as many answers, drawn by `draw_gold` from the items that can be certified, at any
look. *Half*: the same from the surest half of the items (`share=.5`), of which all or none are
certified.
*Shuffled*: the model's probabilities are permuted, so that they say nothing about its errors; it is
tried with {fewer} draws a set, as are many looks and the counts of answers.

How alpha is divided between sets of items was chosen on seven of these sets (sentence_polarity,
temp, rte, triviaqa_judges_v1, medical_treat, product, dog). That decides how much is certified, not
whether the promise holds.
"""
_PEEKED = """Looked at after every 20 answers, with an error of 10 % and a confidence of 90 %,
any of the looks was wrong on {mean} of the draws in the mean over the sets, and on {most} at
most."""
_UNSURE = """On the {n} sets whose labels `LatentIsing` calls unreliable, promises were broken on
{broken} of the draws at most (error 5 %, confidence 95 %)."""
_NEEDED = """## How many answers it takes

Answers until half of the items are delivered, certified or answered (95 % confidence, with a look
after every ten): the median over the draws, and its mean over the sets where both ways get there
with at most 800 answers on at most a quarter of the items.
*Surest half*: `draw_gold(share=.5)`, gold only from the half of the items that is to be certified,
in the order of the probabilities. *Random*: gold from all items, which are trusted in the order of
the probabilities or of the share of votes. *One set*: the same, but only the surest half is tested,
with all of alpha, which makes the comparison harder. *Only*: sets where only this way, or only the
other, gets there. Labeling everything takes as many answers as there are items.

Two strata of the surest half, with more draws where the model is less sure, were tried too and
needed 1.4 times as many answers as equal chances: a bound for every division of the errors between
the strata costs more than they save."""
_WAYS = {
    "ours": "`LatentIsing`, surest half",
    "share, drawn so": "share of votes, surest half",
    OURS: "`LatentIsing`, random",
    DAWID_SKENE: "Dawid-Skene, random",
    SHARE: "share of votes, random",
    ONE_SET: "share of votes, random, one set",
}
_COMPARED = [
    *((way, SHARE) for way in _WAYS if way != SHARE),
    ("ours", ONE_SET),
    ("ours", DAWID_SKENE),
]


def render_certify(archive: Json) -> str:
    """Return the page in Markdown."""
    rows = archive["certified"]
    draws, answers = max(row["draws"] for row in rows), max(row["answers"] for row in rows)
    peeked = [row["peeked"] for row in rows]
    blocks = [
        _INTRODUCTION.format(n=len(rows), draws=draws, answers=answers, fewer=FEWER_DRAWS),
        _list_broken(rows),
        _PEEKED.format(mean=share(float(np.mean(peeked))), most=share(max(peeked))),
    ]
    unsure = [row for row in rows if not row["reliable"]]
    if unsure:
        broken = max(find_case(row, "any", 0.05, 0.95)["broken"] for row in unsure)
        blocks.append(_UNSURE.format(n=len(unsure), broken=share(broken)))
    blocks += [_NEEDED, _list_needed(rows), "## Set by set", _list_sets(rows)]
    return join_blocks(*blocks)


def find_case(row: Json, part: str, error: float, confidence: float) -> Json:
    """Return what was counted with an error and a confidence."""
    cases = (x for x in row[part] if (x["error"], x["confidence"]) == (error, confidence))
    return next(cases)


def breaks_too_often(row: Json, part: str, case: Json) -> bool:
    """Return whether so many broken promises would be a rare accident."""
    draws = row["draws"] if part != "shuffled" else min(row["draws"], FEWER_DRAWS)
    chance = binom.sf(round(case["broken"] * draws) - 1, draws, 1 - case["confidence"])
    return bool(chance < 0.001)


def _list_broken(rows: Sequence[Json]) -> str:
    lines = []
    for part in ("any", "once", "drawn", "half", "shuffled"):
        if any(part not in row for row in rows):
            continue  # rows of an earlier release, until they are run again
        for one in rows[0][part]:
            asked = one["error"], one["confidence"]
            cases = [(row, find_case(row, part, *asked)) for row in rows]
            broken = [case["broken"] for _, case in cases]
            often = sum(breaks_too_often(row, part, case) for row, case in cases)
            certified = float(np.mean([case["certified"] for _, case in cases]))
            numbers = share(float(np.mean(broken))), share(max(broken)), often, share(certified)
            lines.append([part, f"{one['error']:.0%}", f"{one['confidence']:.0%}", *numbers])
    heads = ["looks", "error", "confidence", "broken", "most", "too often", "items certified"]
    return markdown_table(heads, lines)


def _list_needed(rows: Sequence[Json]) -> str:
    lines = []
    for error in rows[0]["needed"]:
        for way, other in _COMPARED:
            found = mean_needed(rows, error, way, other)
            if found is not None:
                ratio = share(found.own / found.other, 2)
                means = f"{found.own:.0f}", f"{found.other:.0f}", ratio
                only = f"{found.only_own} / {found.only_other}"
                ways = _WAYS[way], _WAYS[other]
                lines.append([f"{float(error):.0%}", *ways, found.sets, *means, only])
    heads = ["error", "answers", "compared with", "sets", "mean", "of the other", "ratio", "only"]
    return markdown_table(heads, lines)


def _list_sets(rows: Sequence[Json]) -> str:
    lines = []
    for row in rows:
        cells = [share(find_case(row, part, 0.05, 0.95)["certified"]) for part in ("any", "once")]
        cells += [share(find_case(row, part, 0.1, 0.95)["certified"]) for part in ("any", "once")]
        lines.append([row["set"], row["items"], share(row["accuracy"]), row["answers"], *cells])
    heads = ["set", "items", "accuracy", "answers", "certified, 5 %", "once", "10 %", "once"]
    return markdown_table(heads, lines)
