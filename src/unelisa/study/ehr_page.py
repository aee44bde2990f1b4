"""docs/phenotyping_study.md, made from the archive of `unelisa.study.ehr`.

Numbers come from the archive, words from here: no result is written in this file.
"""

from collections.abc import Sequence

import numpy as np

from unelisa.datamart.patients import PREVALENCE
from unelisa.study.ehr import (
    FIGURES,
    HIGH_AUC,
    LOW_AUC,
    NONE,
    OURS,
    PAPER,
    PENLOG,
    TRAIN,
    UNELISA,
    SetFacts,
)
from unelisa.study.ehr_figures import TITLES
from unelisa.study.ehr_rare import CHARTS, COHORTS, PATIENTS, SHARE, RareSummary
from unelisa.study.ehr_tables import PUBLISHED, SIMULATED, EhrArchive, MethodSummary
from unelisa.study.wording import markdown_table, share

_INTRODUCTION = """# Phenotyping, measured

Table 5.4 of the paper on data that can be had: a simulated datamart of rheumatoid arthritis with
the paper's dimensions, and the public example `ehr_phecap` where it is at hand. The paper's own
records are private. Seeds 0 to 4 of the simulation were used in development, others were not.
Everything here is made by one command, which goes on where it was stopped:

```
unelisa reproduce ehr --seeds {seeds} --out docs
```

In each of the splits 200 of the 435 reviewed charts (the same share of fewer) are for training, the
others for the test; each half has the same share of cases. Numbers are means over the splits, with
standard deviations in brackets. *F* is the harmonic mean of PPV and NPV, as the paper defines it.
What is called a case is decided without labels for methods that have none.

Three protocols:

- **Labels of all charts choose the voters**, as the paper has it: percentiles .1 to .9 and k-means
  of every feature, those kept whose AUC on all reviewed charts is between {low} and {high}. The
  test half has a say in that: the numbers are **too good by leakage**.
- **Training labels choose the voters**: the same without the leak. *penLog, counts* learns from the
  training labels and the log counts of all features, without voters.
- **No labels**: `Phenotyper` learns from the counts of all patients and two named anchors.
"""

_READING = """unElisa and penLog under the first two protocols see the votes of the training half;
regressions have intercepts, as cuts at the 10th percentile are far from balanced. penLog is
l1-penalised logistic regression, its penalty by cross-validation in five folds. MAP-like and
PheNorm-like are written from the papers' formulas (Liao et al. 2019, Yu et al. 2018), not the
authors' programs; what the papers leave open is our choice. The rules cut a sum of log(1 + count)
by two means.
"""

_PHECAP = """## ehr_phecap

{patients:,} patients, {features} features, {reviewed} reviewed charts, {cases} of them cases; the
phenotype is not named. Not blind: before this project, what works was found on these labels
(anchors, utilisation in the anchor model, a group with weight 1/2, its screen at a correlation of
.1), so that the numbers of `Phenotyper` are optimistic. Here the sizes of the anchor model
were freed, the odds of being a case tied to utilisation, the group made of ordinal experts with
weights that are not negative, and its features taken from the anchored graph. The likelihood
without labels and the simulated datamarts (seeds 0 to 4) speak for these, but about a hundred
variants were printed with their figures on these labels beside.
"""

_RARE = """## A rare phenotype

{cohorts} cohorts of {patients:,} patients with {percent:.0f} % cases, drawn from each simulated
datamart. *Told* is the prevalence given to `Phenotyper`. *Within* counts the cohorts whose estimate
is at most a factor 1.5 off. PPV is what the model reports; *covered* counts the cohorts whose
reported interval holds the true share of cases among the flagged patients. The value is what the
model believes of itself, and too high here; the interval leaves out one anchor at a time.
"""


def render_ehr(archive: EhrArchive) -> str:
    """Return the page in Markdown."""
    simulated = [facts for facts in archive["sets"] if facts["set"].startswith(SIMULATED)]
    others = [facts for facts in archive["sets"] if facts not in simulated]
    seeds = ",".join(facts["set"].removeprefix(SIMULATED) for facts in simulated)
    sections = [_INTRODUCTION.format(seeds=seeds, low=share(LOW_AUC, 1), high=share(HIGH_AUC, 1))]
    if simulated:
        sections += [_show_simulated(simulated, archive["methods"]), _show_selected(simulated)]
    for facts in others:
        mine = [row for row in archive["methods"] if row["set"] == facts["set"]]
        sections += [_PHECAP.format(**facts), *_show_methods(mine), "", _draw(facts)]
        sections.append(_name(facts))
    if archive["rare"]:
        sections.append(_show_rare(archive["rare"]))
    return "\n".join(sections)


def _show_simulated(sets: Sequence[SetFacts], rows: Sequence[MethodSummary]) -> str:
    first = sets[0]
    parts = [
        "## The simulated datamart\n",
        f"{first['patients']:,} patients, {first['features']} features, {first['reviewed']} "
        f"reviewed charts, {first['cases']} of them cases; one table per seed. Rows marked "
        "*published* are Table 5.4: other records, so a level to look at, not to match.\n",
        _READING,
    ]
    for facts in sets:
        mine = [row for row in rows if row["set"] == facts["set"]]
        parts += [f"### Seed {facts['set'].removeprefix(SIMULATED)}\n", *_show_methods(mine, True)]
        parts += ["", _show_everybody(facts), _draw(facts)]
    return "\n".join(parts)


def _show_methods(rows: Sequence[MethodSummary], published: bool = False) -> list[str]:
    table = [_row(row) for row in rows]
    if published:
        table += [
            [f"*published {name}*", "all charts (leak)", *_cells(PUBLISHED[name])]
            for name in (UNELISA, PENLOG)
        ]
    splits = max((row["splits"] for row in rows), default=0)
    header = [f"{splits} splits", "labels used", *(TITLES[name] for name in FIGURES)]
    return markdown_table(header, table)


def _row(row: MethodSummary) -> list[str]:
    labels = {PAPER: "all charts (leak)", TRAIN: "training charts", NONE: "none"}[row["protocol"]]
    name = f"**{row['method']}**" if row["method"] == OURS else row["method"]
    return [name, labels, *_cells({key: (x[0], x[1]) for key, x in row["figures"].items()})]


def _cells(figures: dict[str, tuple[float, float]]) -> list[str]:
    return [
        f"{share(figures[name][0])} ({share(figures[name][1])})" if name in figures else ""
        for name in FIGURES
    ]


def _show_everybody(facts: SetFacts) -> str:
    told = [
        f"{TITLES[name]} {share(value)}"
        for name, value in facts["everybody"].items()
        if value is not None
    ]
    return (
        f"On all {facts['patients']:,} patients `Phenotyper` has {', '.join(told)}. It took "
        f"{facts['seconds']:.1f} s of processor time and estimates a prevalence of "
        f"{share(facts['prevalence'])}; {share(PREVALENCE)} of the patients are drawn as cases.\n"
    )


def _draw(facts: SetFacts) -> str:
    told = "Boxes: the middle half of the splits; whiskers: 90 %"
    if facts["set"].startswith(SIMULATED):
        told += "; diamonds: published means"
    return f"![{told}](images/ehr-{facts['set']}.svg)\n\n{told}.\n"


def _show_selected(sets: Sequence[SetFacts]) -> str:
    roles = list(sets[0]["roles"][OURS])
    rows = [
        [facts["set"].removeprefix(SIMULATED), way, *(str(found[role]) for role in roles)]
        for facts in sets
        for way, found in (
            ("unElisa, screened on all labels", facts["roles"][PAPER]),
            ("**Phenotyper**", facts["roles"][OURS]),
        )
    ]
    names = "\n".join(_name(facts) for facts in sets)
    return "\n".join(
        [
            "## Which features are selected\n",
            "The datamart has 2 anchors, 8 other codes, 11 core concepts, 26 weak ones and 95 that "
            "have nothing to do with the disease. The paper selected 12 features: the code 714.0, "
            "rheumatoid arthritis, morning stiffness, C-reactive protein, immunosuppressive agents "
            "and seven it does not name. Its recipe sees the votes of the reviewed charts only.\n",
            *markdown_table(["seed", "selected by", *roles], rows),
            f"\n{names}",
        ]
    )


def _name(facts: SetFacts) -> str:
    told = facts["set"]
    ours, paper = (", ".join(facts["selected"][way]) or "nothing" for way in (OURS, PAPER))
    return (
        f"{told}: `Phenotyper` selects {ours}.\n\n"
        f"{told}: the paper's recipe, with its screen by labels, selects {paper}.\n"
    )


def _show_rare(rows: Sequence[RareSummary]) -> str:
    table = [
        [
            "-" if row["told"] is None else share(row["told"], 2),
            str(row["charts"] or "-"),
            " ".join([share(row["prevalence"][0]), _range(row["prevalence"][1:])]),
            f"{row['within']} of {row['cohorts']}",
            share(row["ppv"]),
            share(row["true_ppv"]),
            f"{row['covered']} of {row['cohorts']}",
            share(row["auc"]),
        ]
        for row in rows
    ]
    header = ["told", f"charts (of {CHARTS})", "prevalence found", "within", "PPV reported"]
    words = _RARE.format(cohorts=COHORTS, patients=PATIENTS, percent=100 * SHARE)
    return "\n".join(
        ["", words, *markdown_table([*header, "true PPV", "covered", "AUC"], table), ""]
    )


def _range(values: Sequence[float]) -> str:
    low, high = np.min(values), np.max(values)
    return f"({share(float(low))} to {share(float(high))})"
