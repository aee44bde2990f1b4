"""The tables of docs/model.md, between their marks, from the rows of benchmarks/latent.py."""

from pathlib import Path

import numpy as np
from marks import fill_marks, table

PAGE = Path(__file__).parents[1] / "docs" / "model.md"
STRUCTURES = ("auto", "plain", "tilt", "discount", "edges")
METHODS = ("oracle", "latent-ising", "unelisa", "dawid-skene", "majority-vote")


def share(value, digits=3):
    return "-" if value is None else f"{value:.{digits}f}".removeprefix("0")


def mean(values):
    values = [value for value in values if value is not None]
    return float(np.mean(values)) if values else None


def group(rows, *names):
    """The rows by the values of some keys, in order of appearance."""
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row["key"][name] for name in names), []).append(row["value"])
    return groups


def broken_table(rows):
    told = ["less the best", "worst trial", "its rarer class", "hit rate", "precision", "trials"]
    out = [["broken", "d0", *METHODS, *told]]
    for (broken, size), values in sorted(group(rows, "broken", "size").items()):
        scores = {name: mean(v["scores"].get(name) for v in values) for name in METHODS}
        others = [v for k, v in scores.items() if k != "latent-ising" and v is not None]
        gap = scores["latent-ising"] - (scores["oracle"] or max(others))
        # no expert found: the precision is 0 / 0 and counts 0, as in the study
        pairs = np.nan_to_num([[v["hit_rate"], v["precision"]] for v in values])
        found = [share(figure, 2) for figure in pairs.mean(axis=0)]
        experts = {"sqrt": 7, "quarter": 13}[size]
        shown = [share(scores[name]) for name in METHODS]
        lag, rarer = min((_lead(v["scores"]), v["rarer_class"]) for v in values)
        worst = [f"{lag:+.3f}", f"{rarer:.1%}"]
        out.append([broken, experts, *shown, f"{gap:+.3f}", *worst, *found, len(values)])
    return table(out)


def _lead(scores):
    """LatentIsing less the oracle, or where there is none less the best other method."""
    others = [value for name, value in scores.items() if name != "latent-ising"]
    return scores["latent-ising"] - scores.get("oracle", max(others))


def parts_table(rows):
    out = [["cells", *STRUCTURES, "oracle"]]
    for level in ("high", "medium", "low"):
        for voters in ("25", "49", "81"):
            cells = [r["value"] for r in rows if r["key"]["cell"].startswith(f"{level}-{voters}-")]
            scores = [mean(v["scores"][name] for v in cells) for name in (*STRUCTURES, "oracle")]
            out.append([f"{level} {voters}", *map(share, scores)])
    return table(out)


def real_table(rows):
    found = {(row["key"]["set"], row["key"]["structure"]): row["value"] for row in rows}
    sets = list(dict.fromkeys(name for name, _ in found))
    out = [["set", "structure kept", "coherence", *STRUCTURES, "balanced (auto)", "CPU s"]]
    for name in sets:
        auto = found[name, "auto"]
        shown = [share(found[name, structure]["accuracy"]) for structure in STRUCTURES]
        facts = [auto["kept"], f"{auto['coherence']:.2f}"]
        out.append([name, *facts, *shown, share(auto["balanced"]), f"{auto['seconds']:.1f}"])
    columns = [mean(found[name, x]["accuracy"] for name in sets) for x in STRUCTURES]
    balanced = share(mean(found[name, "auto"]["balanced"] for name in sets), 4)
    out.append(["**mean**", "", "", *(share(column, 4) for column in columns), balanced, ""])
    return table(out)


def gold_table(rows):
    out = [["set", "without", "with 20 labels", "difference", "worst draw"]]
    for row in rows:
        with_gold, without = np.array(row["value"]["with"]), np.array(row["value"]["without"])
        gain = with_gold - without
        means = [share(with_out, 4) for with_out in (without.mean(), with_gold.mean())]
        out.append([row["key"]["set"], *means, f"{gain.mean():+.4f}", f"{gain.min():+.3f}"])
    return table(out)


def medical_table(rows):
    out = [["thresholds per feature", "accuracy", "balanced", "CPU s"]]
    for row in rows:
        value = row["value"]
        shown = [share(value["accuracy"]), share(value["balanced"]), f"{value['seconds']:.1f}"]
        out.append([row["key"]["thresholds"], *shown])
    return table(out)


def rate_table(rows):
    """Each set with the weight that is best on the mean of all others."""
    rates = sorted({row["key"]["rate"] for row in rows}, reverse=True)
    sets = list(dict.fromkeys(row["key"]["set"] for row in rows))
    found = {(r["key"]["set"], r["key"]["rate"]): r["value"]["accuracy"] for r in rows}
    scores = np.array([[found[name, rate] for rate in rates] for name in sets])
    others = (scores.sum(0) - scores) / (len(sets) - 1)
    left_out = scores[np.arange(len(sets)), others.argmax(1)].mean()
    out = [["weight", *rates, "chosen on the other sets"]]
    out.append(["mean accuracy", *(share(x, 4) for x in scores.mean(0)), share(left_out, 4)])
    return table(out)


def noise_table(rows):
    out = [["share of yes", "sets", "with an expert", "called reliable"]]
    for (yes,), values in group(rows, "share").items():
        claimed = sum(v["experts"] > 0 for v in values)
        out.append([yes, len(values), claimed, sum(v["reliable"] for v in values)])
    return table(out)


def ensembles_table(rows):
    """Accuracy / balanced accuracy, mean over draws; below the better of two by .02, in draws."""
    names = ("latent-ising", "majority-vote", "dawid-skene", "unelisa")
    out = [["voters", "data", *names, "draws better", "draws worse"]]
    for (kind, task), values in group(rows, "kind", "task").items():
        cells = [
            " / ".join(share(mean(v[name][f] for v in values)) for f in ("accuracy", "balanced"))
            for name in names
        ]
        leads = [
            v["latent-ising"]["accuracy"] - max(v[name]["accuracy"] for name in names[1:3])
            for v in values
        ]
        better, worse = (sum(sign * lead > 0.02 for lead in leads) for sign in (1, -1))
        out.append([kind, task, *cells, better, worse])
    return table(out)


TABLES = {
    "broken": broken_table,
    "parts": parts_table,
    "real": real_table,
    "gold": gold_table,
    "medical": medical_table,
    "rate": rate_table,
    "noise": noise_table,
    "ensembles": ensembles_table,
}


def write_page(rows):
    """Put every table that has rows between its marks."""
    mine = {part: [row for row in rows if row["part"] == part] for part in TABLES}
    fill_marks(PAGE, {part: TABLES[part](mine[part]) for part in TABLES if mine[part]})
