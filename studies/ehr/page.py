"""docs/phenotyping_study.md, made from the archive: numbers come from there, words from here.

No result is written in this file.
"""

from collections.abc import Sequence

import numpy as np

from studies.ehr.rare import CHARTS, COHORTS, PATIENTS, SHARE
from studies.ehr.splits import (
    HIGH_AUC,
    LOW_AUC,
    NONE,
    OURS,
    PAPER,
    PENLOG,
    TRAIN,
    UNELISA,
    UNLABELED,
)
from studies.ehr.tables import PUBLISHED, SIMULATED
from studies.markdown import join_blocks, markdown_table, share
from studies.records import Json
from unelisa.ehr.datamart import PREVALENCE

_INTRODUCTION = """# Phenotyping, measured

Table 5.4 of the paper on available data: a simulated datamart of rheumatoid arthritis with the
paper's dimensions, and the public example `ehr_phecap`. The paper's own records are private. Seeds
0 to 4 and 100 to 309 of the simulation were used in development; {seeds} were not. These
commands, run in a clone, write this page; an interrupted run continues where it stopped:

```
unelisa reproduce ehr --seeds {seeds} --out docs
unelisa reproduce ehr --from docs/study/ehr.json --out docs    # from the stored numbers
```

In each split, 200 of the 435 reviewed charts (the same share of fewer) are used for training and
the others for the test, stratified by class. Numbers are means over the splits and over the seeds;
`docs/study/ehr.json` has standard deviations, each seed, accuracy, and *F*, the harmonic mean of
PPV and NPV. Methods without labels also choose their cut-off without labels. Three protocols:

- **All charts choose the voters**, as in the paper: percentiles .1 to .9 and k-means of every
  feature; those with an AUC between {low} and {high} on all reviewed charts are kept. Since the
  test half takes part in that choice, the numbers are **optimistic because of leakage**. Every
  method that needs no labels sees the same voters; *unElisa, {unlabeled:,} patients* sees their
  votes on that many patients instead of the training half.
- **Training charts choose the voters**: the same without the leak. *penLog, counts* learns from the
  training labels and the log counts of all features, without voters.
- **No labels**: `Phenotyper` learns from the counts of all patients and two named anchors.

Under the first two protocols unElisa, its rivals and penLog see the votes of the training half.
penLog is l1-penalized logistic regression with the penalty chosen by cross-validation. MAP-like and
PheNorm-like are written from the papers' formulas (Liao et al. 2019, Yu et al. 2018); they are not
the authors' programs. The rules cut a sum of log(1 + count) between two means. *Published* rows are
from Table 5.4, on other records: a level for orientation, not a target."""

_PHECAP = """`ehr_phecap` has {patients:,} patients, {features} features and {reviewed} reviewed
charts, {cases} of them cases; its phenotype is not named. It is not a blind test: the approach
(anchors, utilization, a group of weight 1/2, its screening) was found on these labels, and figures
were displayed for about a hundred variants, so the numbers of `Phenotyper` are optimistic there."""

_SELECTED = """## Which features are selected

The datamart has 2 anchors, 8 other codes, 11 core concepts, 26 weak ones and 95 unrelated to the
disease. The paper selected 12 features: the code 714.0, rheumatoid arthritis, morning stiffness,
C-reactive protein, immunosuppressive agents and seven that it does not name. Its recipe sees only
the votes of the reviewed charts. The names are in the archive."""

_RARE = """## A rare phenotype

{cohorts} cohorts of {patients:,} patients with {percent:.0f} % cases, drawn from each simulated
datamart. *Given* is the prevalence passed to `Phenotyper`; it is taken as true within a factor of
1.5 and narrows the interval of the PPV, so that one that is off by a factor of three misleads both.
*Within* counts the cohorts whose estimate is off by a factor of at most 1.5. *Covered* counts the
cohorts whose interval contains the true PPV: without charts the estimate is the model's own and too
high here, and its interval allows for an error that the anchors share.
[Rules and labels, judged](rules.md) has more diseases and prevalences."""
_SHOWN = {"auc": "AUC", "ppv": "PPV", "npv": "NPV"}


def render_ehr(archive: Json) -> str:
    """Return the page in Markdown."""
    simulated = [facts for facts in archive["sets"] if facts["set"].startswith(SIMULATED)]
    others = [facts for facts in archive["sets"] if facts not in simulated]
    seeds = ",".join(facts["set"].removeprefix(SIMULATED) for facts in simulated)
    limits = {"low": share(LOW_AUC, 1), "high": share(HIGH_AUC, 1), "unlabeled": UNLABELED}
    blocks = [_INTRODUCTION.format(seeds=seeds, **limits), "## Table 5.4"]
    blocks += [_PHECAP.format(**facts) for facts in others]
    blocks.append(_show_methods(simulated, others, archive["methods"]))
    if simulated:
        blocks += [_show_everybody(simulated), *map(_draw, archive["sets"])]
        blocks += [_SELECTED, _show_selected(simulated)]
    if archive["rare"]:
        blocks.append(_show_rare(archive["rare"]))
    return join_blocks(*blocks)


def _show_methods(simulated: Sequence[Json], others: Sequence[Json], rows: Sequence[Json]) -> str:
    """Return one table: the means over the simulated datamarts, then each public set."""
    labels = {PAPER: "all charts (leak)", TRAIN: "training charts", NONE: "none"}
    sets = [[facts["set"] for facts in simulated], *([facts["set"]] for facts in others)]
    sets = [some for some in sets if some]
    table = []
    for way in dict.fromkeys((row["protocol"], row["method"]) for row in rows):
        mine = [row for row in rows if (row["protocol"], row["method"]) == way]
        name = f"**{way[1]}**" if way[1] == OURS else way[1]
        cells = [cell for some in sets for cell in _average(mine, some)]
        table.append([name, labels[way[0]], *cells])
    if simulated:
        for name in (UNELISA, PENLOG):
            cells = [share(PUBLISHED[name][key][0]) for key in _SHOWN]
            table.append([f"*published {name}*", labels[PAPER], *cells])
            table[-1] += [""] * (len(_SHOWN) * len(others))
    places = [*(["simulated"] if simulated else []), *(facts["set"] for facts in others)]
    header = [f"{place}: {title}" for place in places for title in _SHOWN.values()]
    return markdown_table(["method", "labels used", *header], table)


def _average(rows: Sequence[Json], names: Sequence[str]) -> list[str]:
    mine = [row["figures"] for row in rows if row["set"] in names]
    found = [[figures[key][0] for figures in mine if key in figures] for key in _SHOWN]
    return [share(float(np.mean(values))) if values else "" for values in found]


def _show_everybody(sets: Sequence[Json]) -> str:
    def average(values: list[float]) -> str:
        return share(float(np.mean(values)))

    listed = ", ".join(
        f"{title} {average([facts['everybody'][key] for facts in sets])}"
        for key, title in _SHOWN.items()
        if all(facts["everybody"].get(key) is not None for facts in sets)
    )
    seconds, found = (
        float(np.mean([facts[k] for facts in sets])) for k in ("seconds", "prevalence")
    )
    return (
        f"On all {sets[0]['patients']:,} patients of a datamart `Phenotyper` has {listed}. It took "
        f"{seconds:.1f} s of CPU time and estimates a prevalence of {share(found)}; the simulation "
        f"draws {share(PREVALENCE)} as cases."
    )


def _draw(facts: Json) -> str:
    caption = f"{facts['set']}: boxes span the central half of the splits, whiskers 90 %"
    if facts["set"].startswith(SIMULATED):
        caption += "; diamonds are the published means"
    return f"![{caption}](images/ehr-{facts['set']}.svg)"


def _show_selected(sets: Sequence[Json]) -> str:
    roles = list(sets[0]["roles"][OURS])
    ways = {PAPER: "unElisa, screened on all labels", OURS: "**Phenotyper**"}
    rows = [
        [facts["set"].removeprefix(SIMULATED), ways[way]]
        + [str(facts["roles"][way][role]) for role in roles]
        for facts in sets
        for way in ways
    ]
    return markdown_table(["seed", "selected by", *roles], rows)


def _show_rare(rows: Sequence[Json]) -> str:
    table = []
    for row in rows:
        mean, low, high = map(share, row["prevalence"])
        total = row["cohorts"]
        counts = {key: f"{row[key]} of {total}" for key in ("within", "covered")}
        ppv = [share(row["ppv"]), share(row["true_ppv"])]
        found = [f"{mean} ({low} to {high})", counts["within"], *ppv]
        given = [share(row["told"], 2), row["charts"] or "-"]
        table.append([*given, *found, counts["covered"], share(row["auc"])])
    header = ["given", f"charts (of {CHARTS})", "prevalence found", "within", "PPV reported"]
    words = _RARE.format(cohorts=COHORTS, patients=PATIENTS, percent=100 * SHARE)
    return join_blocks(words, markdown_table([*header, "true PPV", "covered", "AUC"], table))
