"""docs/jury.md, made from the archive: numbers come from there, words from here."""

from collections.abc import Sequence

import numpy as np

from studies.jury.runs import (
    DAWID_SKENE,
    GOLD,
    GOLD_EACH,
    JUDGE,
    LABELS,
    MAJORITY,
    MAPPED,
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

*Judgy-style*, *CJE-style* and *judgepanel-style* estimates are reimplemented from the public
descriptions of these programs (`studies/jury/estimates.py`); the programs themselves were not
run."""

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
inference on the probabilities of `LatentIsing`. The judgy-style estimate uses the panel's
majority as the judge: its pass rate on the other items is corrected by the rates of true passes
and true fails among the gold labels, with a bootstrap over these. The CJE-style estimate maps
the share of judges who pass an item to the gold labels by isotonic regression. The judgepanel-
style estimate uses no gold label: judges who err independently, with a bootstrap over the items,
so that its interval is the same in every draw."""

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
have failed in 15 % of the cases. Without gold labels `unelisa jury` tests for an interaction of
judges and systems at the 5 % level: *flagged* says how often it found one, in which case the
interval covers every judge's view. With gold labels of a random sample of each system nothing is
assumed."""

_REAL = """The same on real systems, the exam takers of TriviaQA, whose true pass rates are known.
Called, wrong and flagged count pairs of systems, pairs called wrongly and systems where an
interaction is found (means over the draws of gold labels); then how often any call is wrong, and
how often the 95 % intervals of differences and the 90 % intervals of rates hold; without gold
labels and with {labels} of each system."""

_PAIRS = """## Preferences

Simulated judges of different reliability compare the answers of six systems: six judges, or three,
who see every pair, or a hundred, of whom every fourth sees one. Spearman's rank correlation of the
strengths with the true ones, by the leaderboard of `unelisa jury` and by a plain Bradley-Terry fit,
and how often the 90 % intervals of strengths, of either, and of the preference for what is shown
first hold. Judges with views of their own see every system otherwise by a random amount. Nothing
was chosen on these draws."""

_REAL_PAIRS = """Real verdicts as preferences: a judge prefers an answer that it passes to one
that it fails. Rank correlation with the true pass rates of the systems, by either method; with a
leaderboard of the human labels on the same pairs; and how often the range of ranks holds the true
one. No log of real preferences about several systems is among the shared data."""


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
        *show_simulated(archive.get("simulated", ()), [x for x in panels if "systems" in x]),
    )


def show_simulated(rows: Sequence[Json], real: Sequence[Json] = ()) -> list[str]:
    """Return the parts on systems and preferences; none where nothing was simulated."""
    if not rows:
        return []
    keys = {
        "systems": ("called", "flagged", "width"),
        "pairs": ("ours", "plain", "coverage", "plain_coverage", "first"),
    }
    found = {
        kind: [
            [row["scenario"], *([row["questions"]] if kind == "systems" else ()),
             *(share(row[key]) if key in row else DASH for key in keys[kind])]
            for row in rows if row["kind"] == kind
        ]
        for kind in keys
    }  # fmt: skip
    systems = ["systems", "questions", "called", "flagged", "width of the interval"]
    pairs = ["judges", "ours", "plain", "strengths hold", "plain ones hold", "first place holds"]
    parts = [_SYSTEMS.format(runs=rows[0]["runs"]), markdown_table(systems, found["systems"])]
    if real:
        parts += [_REAL.format(labels=GOLD_EACH), _show_real_systems(real)]
    parts += [_PAIRS, markdown_table(pairs, found["pairs"])]
    return [*parts, _REAL_PAIRS, _show_real_pairs(real)] if real else parts


def _show_real_systems(panels: Sequence[Json]) -> str:
    table = []
    for row in panels:
        for key, name in (("alone", "none"), ("gold", f"{GOLD_EACH} each")):
            one = row["systems"][key]
            counts = [f"{one[part]:.3g}" for part in ("pairs", "called", "wrong", "flagged")]
            shares = [share(one[part]) for part in ("any_wrong", "coverage", "rates")]
            table.append([row["set"], name, *counts, *shares])
    heads = ["panel", "gold labels", "pairs", "called", "wrong", "flagged", "any wrong"]
    return markdown_table([*heads, "differences hold", "rates hold"], table)


def _show_real_pairs(panels: Sequence[Json]) -> str:
    table = []
    for row in panels:
        one = row["systems"]["pairs"]
        figures = [share(one[key]) for key in ("ours", "plain", "people", "ranks_hold")]
        table.append([row["set"], one["systems"], f"{one['comparisons']:,}", *figures])
    heads = ["panel", "systems", "comparisons", "ours", "plain", "with people", "ranks hold"]
    return markdown_table(heads, table)


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
    methods = [name for name in (RATED, GOLD, JUDGE, MAPPED, PANEL) if name in panels[0]["rates"]]
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
