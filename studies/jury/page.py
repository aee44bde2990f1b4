"""docs/jury.md, made from the archive: numbers come from there, words from here."""

from collections.abc import Sequence

import numpy as np

from studies.jury.runs import (
    DAWID_SKENE,
    GOLD,
    JUDGE,
    LABELS,
    MAJORITY,
    OURS,
    PANEL,
    RATED,
    REDRAWN,
    SHARE,
)
from studies.markdown import DASH, join_blocks, markdown_table, share
from studies.records import Json

_INTRODUCTION = """# Panels of LLM judges

`LatentIsing`, on which `unelisa jury` rests, on {n} panels of language models with known truth,
beside majority vote, Dawid-Skene, and pass rates as two other programs estimate them. The numbers
that `LatentIsing` takes from experience were learned from these panels among others. No method sees
the truth of a label, except for the gold labels where they are named.

All numbers are in `docs/study/jury.json`. These commands, run in a clone, write this page:

```
unelisa reproduce jury --from docs/study/jury.json --out docs    # from the stored numbers
unelisa reproduce jury --data FOLDER --out docs    # run what is missing
```

*Judgy-style* and *judgepanel-style* estimates are reimplemented from the public descriptions of
these programs (`studies/jury/estimates.py`); the programs themselves were not run."""

_LABELS = """## Labels

Accuracy (a tie counts by its expectation) and, in parentheses, log loss (probabilities clipped at
10^-6; lower is better). The share of yes is (yes + 1) / (votes + 2), the probability that counting
votes implies; Dawid-Skene is crowd-kit's."""

_WORTH = """## What a panel is worth

Effective judges and families, as `unelisa jury` prints them; how many judges it says can be
dropped, the share of the labels that stay, and the accuracy before and after, which it does not
see. Labels needed: how many human labels it asks for where it does not trust the panel."""

_RATES = """## Pass rates with {labels} gold labels

Coverage of the 95 % interval of the pass rate over {draws} draws of {labels} random gold labels;
in parentheses its width, relative to that of the gold labels alone (Wilson's interval), and the
root mean square error of the rate, relative to theirs. `estimate_rate` is prediction-powered
inference on the probabilities of `LatentIsing`. The judgy-style estimate uses the panel's majority
as the judge: its pass rate on the other items is corrected by the rates of true passes and true
fails among the gold labels, with a bootstrap over these. The judgepanel-style estimate uses no gold
label: judges who err independently, with a bootstrap over the items, so that its interval is the
same in every draw."""

_REPEATS = """## A judge twice

The panel with one judge twice and three times; the judges of the largest, the middle and the
smallest weight were taken. Largest change of the effective judges, and the smallest share of labels
that stay. In the last two columns the judge appears twice, and {differ:.0%} of the second one's
answers were drawn at random: not a copy, but a relative, which `LatentIsing` can recognize only by
its votes."""


_SYSTEMS = """## Differences between systems

Two systems that are equally good, compared by seven simulated judges: how often a difference was
called, over {runs} draws. The intervals of all differences hold together with 95 %, so that 5 %
are expected. With one-system leniency four judges pass an answer of one system that they would
have failed in 15 % of the cases; without gold labels `unelisa jury` prints that it assumes no such
judge, and *flagged* says how often it noticed. With gold labels of a random sample of each system
nothing is assumed."""

_PAIRS = """## Preferences

Six simulated judges of different reliability compare the answers of six systems: Spearman's rank
correlation of the strengths with the true ones, by the leaderboard of `unelisa jury` and by a plain
Bradley-Terry fit, and how often the 90 % intervals of strengths and of the preference for what is
shown first hold."""


def render_jury(archive: Json) -> str:
    """Return the page in Markdown."""
    panels = archive["panels"]
    rated = [row for row in panels if "rates" in row]
    draws = max((row["rates"]["draws"] for row in rated), default=0)
    return join_blocks(
        _INTRODUCTION.format(n=len(panels)),
        *(_LABELS, _sum_up(panels), _show_labels(panels), _WORTH, _show_worth(panels)),
        _RATES.format(labels=LABELS, draws=draws),
        _show_rates(rated),
        _REPEATS.format(differ=REDRAWN),
        _show_repeats(panels),
        *show_simulated(archive.get("simulated", ())),
    )


def show_simulated(rows: Sequence[Json]) -> list[str]:
    """Return the parts on simulated systems and preferences; none where nothing was simulated."""
    if not rows:
        return []
    systems = [
        [
            row["scenario"],
            row["questions"],
            *(share(row[key]) for key in ("called", "flagged", "width")),
        ]
        for row in rows
        if row["kind"] == "systems"
    ]
    pairs = [
        [row["scenario"], *(share(row[key]) for key in ("ours", "plain", "coverage", "first"))]
        for row in rows
        if row["kind"] == "pairs"
    ]
    heads = ["systems", "questions", "called", "flagged", "width of the interval"]
    return [
        _SYSTEMS.format(runs=rows[0]["runs"]),
        markdown_table(heads, systems),
        _PAIRS,
        markdown_table(["judges", "ours", "plain", "strengths hold", "first place holds"], pairs),
    ]


def _sum_up(panels: Sequence[Json]) -> str:
    ours = {row["set"]: row["labels"][OURS]["accuracy"] for row in panels}
    told = []
    for name in (MAJORITY, DAWID_SKENE):
        theirs = {r["set"]: r["labels"][name]["accuracy"] for r in panels if name in r["labels"]}
        if theirs:
            below = [panel for panel in theirs if ours[panel] < theirs[panel]]
            worse = f", below it on {' and '.join(below)}" if below else ""
            told.append(f"{name} on {len(theirs) - len(below)} of {len(theirs)} panels{worse}")
    return f"`LatentIsing` is as accurate as the following or more: {'; '.join(told)}."


def _show_labels(panels: Sequence[Json]) -> str:
    methods = [name for name in (OURS, MAJORITY, SHARE, DAWID_SKENE) if name in panels[0]["labels"]]
    table = []
    for row in panels:
        cells = [_write_score(row["labels"][name], name) for name in methods]
        table.append([row["set"], row["classes"], f"{row['items']:,}", row["judges"], *cells])
    means = [
        {key: float(np.mean([row["labels"][name][key] for row in panels])) for key in _FIGURES}
        for name in methods
    ]
    cells = [_write_score(mean, name) for mean, name in zip(means, methods, strict=True)]
    table.append(["mean", "", "", "", *cells])
    return markdown_table(["panel", "classes", "items", "judges", *methods], table)


_FIGURES = ("accuracy", "log_loss")


def _write_score(figures: Json, name: str) -> str:
    accuracy, loss = share(figures["accuracy"]), share(figures["log_loss"])
    return accuracy if name == MAJORITY else f"{accuracy} ({loss})"


def _show_worth(panels: Sequence[Json]) -> str:
    table = []
    for row in panels:
        less, needed = row["smaller"], row["needed"]
        before = share(row["labels"][OURS]["accuracy"])
        dropped = less["dropped"]
        after = [share(less["labels_kept"]), f"{before}, {share(less['accuracy'])}"]
        table.append(
            [
                *(row["set"], row["judges"], f"{row['effective']:.1f}", row["families"], dropped),
                *(after if dropped else [DASH, before]),
                "yes" if row["reliable"] else "no",
                DASH if needed is None else needed["n"],
            ]
        )
    header = ["panel", "judges", "effective", "families", "dropped", "labels stay", "accuracy"]
    return markdown_table([*header, "trusted", "labels needed"], table)


def _show_rates(panels: Sequence[Json]) -> str:
    methods = (RATED, GOLD, JUDGE, PANEL)
    table = []
    for row in panels:
        rates, alone = row["rates"], row["rates"][GOLD]
        cells = []
        for name in methods:
            one = rates[name]
            beside = [share(one[key] / alone[key], 2) for key in ("width", "error")]
            cells.append(f"{share(one['coverage'])} ({', '.join(beside)})")
        table.append([row["set"], share(rates["truth"]), *cells])
    return markdown_table(["panel", "true rate", *methods], table)


def _show_repeats(panels: Sequence[Json]) -> str:
    table = []
    for row in panels:
        cells = []
        for differ in (0.0, REDRAWN):
            own = [one for one in row["repeats"] if one["differ"] == differ]
            change = max(abs(one["effective"] - row["effective"]) for one in own)
            cells += [f"{change:.2f}", share(min(one["labels_kept"] for one in own))]
        table.append([row["set"], f"{row['effective']:.2f}", *cells])
    header = ["panel", "effective", "largest change", "labels stay"]
    return markdown_table([*header, "change, relative", "labels stay, relative"], table)
