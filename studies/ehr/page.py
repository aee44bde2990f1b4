"""docs/phenotyping_study.md, made from the archive: numbers come from there, words from here.

No result is written in this file.
"""

from collections.abc import Mapping, Sequence

from studies.ehr.rare import CHARTS, COHORTS, PATIENTS, SHARE
from studies.ehr.splits import (
    FIGURES,
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
from studies.ehr.tables import PUBLISHED, SIMULATED, TITLES
from studies.markdown import join_blocks, markdown_table, share
from studies.records import Json
from unelisa.ehr.datamart.patients import PREVALENCE

_INTRODUCTION = """# Phenotyping, measured

Table 5.4 of the paper on available data: a simulated datamart of rheumatoid arthritis with the
paper's dimensions, and the public example `ehr_phecap`. The paper's own records are private. Seeds
0 to 4 of the simulation were used in development, the ones below were not. These commands, run in a
clone, write this page; an interrupted run continues where it stopped:

```
unelisa reproduce ehr --seeds {seeds} --out docs
unelisa reproduce ehr --from docs/study/ehr.json --out docs    # from the stored numbers
```

In each split, 200 of the 435 reviewed charts (the same share of fewer) are used for training and
the others for the test, stratified by class. Numbers are means over the splits, with standard
deviations in parentheses. *F* is the harmonic mean of PPV and NPV, as the paper defines it. Methods
without labels also choose their cut-off without labels.

Three protocols:

- **All labels choose the voters**, as in the paper: percentiles .1 to .9 and k-means of every
  feature; those with an AUC between {low} and {high} on all reviewed charts are kept. Since the
  test half takes part in that choice, the numbers are **optimistic because of leakage**. Every
  method that needs no labels sees the same voters; *unElisa, {unlabeled:,} patients* sees their
  votes on that many patients instead of the training half.
- **Training labels choose the voters**: the same without the leak. *penLog, counts* learns from the
  training labels and the log counts of all features, without voters.
- **No labels**: `Phenotyper` learns from the counts of all patients and two named anchors."""

_METHODS = """Under the first two protocols unElisa, its rivals and penLog see the votes of the
training half; unElisa's regressions have intercepts, since cuts at the 10th percentile are far from
balanced. penLog is l1-penalized logistic regression with the penalty chosen by five-fold
cross-validation. MAP-like and PheNorm-like are written from the papers' formulas (Liao et al. 2019,
Yu et al. 2018); they are not the authors' programs, and what the papers leave open is our choice.
The rules cut a sum of log(1 + count) between two means."""

_SELECTED = """## Which features are selected

The datamart has 2 anchors, 8 other codes, 11 core concepts, 26 weak ones and 95 unrelated to the
disease. The paper selected 12 features: the code 714.0, rheumatoid arthritis, morning stiffness,
C-reactive protein, immunosuppressive agents and seven that it does not name. Its recipe sees only
the votes of the reviewed charts."""

_PHECAP = """## ehr_phecap

{patients:,} patients, {features} features, {reviewed} reviewed charts, {cases} of them cases; the
phenotype is not named. This is not a blind test: the approach was found on these labels before this
project (anchors, utilization in the anchor model, a group with weight 1/2, its screening at a
correlation of .1), so the numbers of `Phenotyper` are optimistic. In this project the spreads of
the anchor model became free parameters, the odds of being a case were tied to utilization, the
group was built from ordinal experts with nonnegative weights, and its features were taken from the
anchored graph. The likelihood without labels and the simulated datamarts (seeds 0 to 4) support
these choices, but the figures on these labels were displayed for about a hundred variants."""

_RARE = """## A rare phenotype

{cohorts} cohorts of {patients:,} patients with {percent:.0f} % cases, drawn from each simulated
datamart. *Given* is the prevalence passed to `Phenotyper`. *Within* counts the cohorts whose
estimate is off by a factor of at most 1.5. PPV is the value that the model reports; *covered*
counts the cohorts whose reported interval contains the true share of cases among the flagged
patients. The reported value is the model's own belief and too high here; the interval comes from
leaving out one anchor at a time."""


def render_ehr(archive: Json) -> str:
    """Return the page in Markdown."""
    simulated = [facts for facts in archive["sets"] if facts["set"].startswith(SIMULATED)]
    others = [facts for facts in archive["sets"] if facts not in simulated]
    seeds = ",".join(facts["set"].removeprefix(SIMULATED) for facts in simulated)
    limits = {"low": share(LOW_AUC, 1), "high": share(HIGH_AUC, 1), "unlabeled": UNLABELED}
    blocks = [_INTRODUCTION.format(seeds=seeds, **limits)]
    if simulated:
        blocks += [_show_simulated(simulated, archive["methods"]), _show_selected(simulated)]
    for facts in others:
        table = _show_methods(facts, archive["methods"])
        blocks += [_PHECAP.format(**facts), table, _draw(facts), _list_selected(facts)]
    if archive["rare"]:
        blocks.append(_show_rare(archive["rare"]))
    return join_blocks(*blocks)


def _show_simulated(sets: Sequence[Json], rows: Sequence[Json]) -> str:
    first, blocks = sets[0], []
    for facts in sets:
        seed = facts["set"].removeprefix(SIMULATED)
        blocks += [f"### Seed {seed}", _show_methods(facts, rows), _show_everybody(facts)]
        blocks.append(_draw(facts))
    return join_blocks(
        "## The simulated datamart",
        f"{first['patients']:,} patients, {first['features']} features, {first['reviewed']} "
        f"reviewed charts, {first['cases']} of them cases; one table per seed. Rows marked "
        "*published* are from Table 5.4, on other records: a level for orientation, not a target.",
        _METHODS,
        *blocks,
    )


def _show_methods(facts: Json, rows: Sequence[Json]) -> str:
    mine = [row for row in rows if row["set"] == facts["set"]]
    labels = {PAPER: "all charts (leak)", TRAIN: "training charts", NONE: "none"}
    table = [
        [
            f"**{row['method']}**" if row["method"] == OURS else row["method"],
            labels[row["protocol"]],
            *_cells(row["figures"]),
        ]
        for row in mine
    ]
    if facts["set"].startswith(SIMULATED):
        table += [
            [f"*published {name}*", labels[PAPER], *_cells(PUBLISHED[name])]
            for name in (UNELISA, PENLOG)
        ]
    splits = max((row["splits"] for row in mine), default=0)
    header = [f"{splits} splits", "labels used", *(TITLES[name] for name in FIGURES)]
    return markdown_table(header, table)


def _cells(figures: Mapping[str, Sequence[float]]) -> list[str]:
    return [
        f"{share(figures[name][0])} ({share(figures[name][1])})" if name in figures else ""
        for name in FIGURES
    ]


def _show_everybody(facts: Json) -> str:
    defined = {name: value for name, value in facts["everybody"].items() if value is not None}
    listed = ", ".join(f"{TITLES[name]} {share(value)}" for name, value in defined.items())
    return (
        f"On all {facts['patients']:,} patients `Phenotyper` has {listed}. It took "
        f"{facts['seconds']:.1f} s of CPU time and estimates a prevalence of "
        f"{share(facts['prevalence'])}; the simulation draws {share(PREVALENCE)} as cases."
    )


def _draw(facts: Json) -> str:
    caption = "Boxes span the central half of the splits, whiskers 90 %"
    if facts["set"].startswith(SIMULATED):
        caption += "; diamonds are the published means"
    return f"![{caption}](images/ehr-{facts['set']}.svg)\n\n{caption}."


def _show_selected(sets: Sequence[Json]) -> str:
    roles = list(sets[0]["roles"][OURS])
    ways = {PAPER: "unElisa, screened on all labels", OURS: "**Phenotyper**"}
    rows = [
        [facts["set"].removeprefix(SIMULATED), ways[way]]
        + [str(facts["roles"][way][role]) for role in roles]
        for facts in sets
        for way in ways
    ]
    table = markdown_table(["seed", "selected by", *roles], rows)
    return join_blocks(_SELECTED, table, *map(_list_selected, sets))


def _list_selected(facts: Json) -> str:
    name = facts["set"]
    ours, paper = (", ".join(facts["selected"][way]) or "nothing" for way in (OURS, PAPER))
    return (
        f"{name}: `Phenotyper` selects {ours}.\n\n"
        f"{name}: the paper's recipe, with its screening by labels, selects {paper}."
    )


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
