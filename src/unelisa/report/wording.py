"""Findings in words: names made safe to show, numbers rounded, headings chosen."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

Findings = Mapping[str, Any]

LONGEST_NAME, LONGEST_LABEL, SHORT_NAME = 80, 40, 17
# the figures of a comparison, in the order of its columns, and their titles
SCORES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced",
    "auc": "AUC",
    "macro_f1": "macro F1",
    "log_loss": "log loss",
    "calibration_error": "ECE",
    "mean_absolute_error": "MAE",
}
LOWER = ("log_loss", "calibration_error", "mean_absolute_error")  # is better
# what a histogram counts items by
MEASURES = {
    "probability": "probability of positive",
    "score": "score",
    "confidence": "probability of the label",
    "lead": "lead over the next class",
}
DASH = "\N{EN DASH}"
UNKNOWN = "cannot be estimated"  # from these votes
FAMILY_COLORS = 7  # in the page's style and script, and in `plots`
OUTSIDE = ("uninformative", "left out", "pruned")  # verdicts on voters that do not count
ROLES = ("expert", "counted", "family", "contrarian", *OUTSIDE)
FAMILY = "family of "  # how the verdict on a voter who repeats another one begins
_FIGURES = re.compile(r" \(([^()]*\b(?:nats|standard deviations|coherence)\b[^()]*)\)")
_MINUS = re.compile(r"(?<![\w.])-(?=[\d.])")


def count_noun(number: int, noun: str, several: str | None = None) -> str:
    """Return a number of things in words; `several` is a plural other than with s."""
    return f"{number:,} {noun if number == 1 else several or f'{noun}s'}"


def list_roles(findings: Findings) -> list[dict[str, Any]]:
    """Return the kinds of voters in the graph, with the table's words for them."""
    present = set(findings["graph"]["roles"])
    return [{"role": role, "outside": role in OUTSIDE} for role in ROLES if role in present]


def number_families(findings: Findings) -> dict[int, int]:
    """Return the number of the family's color for the row of each voter who has a family."""
    families = findings["graph"]["families"]
    return {row: c % FAMILY_COLORS for c, kin in enumerate(families) for row in kin}


def describe_fit(findings: Findings) -> list[tuple[str, str]]:
    """Return how the model was fitted, as (name, words) pairs."""
    fit = findings["fit"]
    settings = dict(fit["settings"])
    rows = [("Method", findings["method"])]
    if "random_state" in settings:
        seed = settings.pop("random_state")
        rows.append(("Seed", "none: the votes determine the result" if seed is None else str(seed)))
    if settings:
        shown = ", ".join(f"{name} = {value}" for name, value in settings.items())
        rows.append(("Settings", shown))
    if fit["rounds"] is not None:
        rise = fit["last_rise"]
        words = "" if rise is None else f", the last of which raised the bound by {rise:.1g}"
        rows.append(("Convergence", f"{fit['rounds']} iterations{words}"))
    if fit["seconds"] is not None:
        rows.append(("Time", show_seconds(fit["seconds"])))
    versions = ", ".join(f"{name} {number}" for name, number in fit["versions"].items())
    return [*rows, ("Versions", versions)]


def choose_scores(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the figures that a comparison has, with their titles; MAE only where it is known."""
    known = any(row.get("mean_absolute_error") is not None for row in rows)
    shown = {key for row in rows[:1] for key in row if key != "mean_absolute_error" or known}
    return {key: title for key, title in SCORES.items() if key in shown}


def find_best(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the best figure of each column of a comparison of two or more methods."""
    best: dict[str, float] = {}
    for key in SCORES:
        found = [row[key] for row in rows if row.get(key) is not None]
        if len(rows) > 1 and found:
            best[key] = min(found) if key in LOWER else max(found)
    return best


def show_name(name: Any, longest: int = LONGEST_NAME) -> str:
    """Return a name as it may be shown: no control characters, not empty, not endless."""
    letters = str(name)[: longest + 1]
    if all(letter.isspace() or unicodedata.category(letter) == "Cf" for letter in letters):
        return "(no name)"  # nothing in it can be seen
    text = "".join("\ufffd" if unicodedata.category(x) in ("Cc", "Cs") else x for x in letters)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def quote(label: Any) -> str:
    """Return a label in quotation marks."""
    text = show_name(label, LONGEST_LABEL)
    if not text.isascii():  # letters that run to the left must not turn the rest of the sentence
        text = f"\N{FIRST STRONG ISOLATE}{text}\N{POP DIRECTIONAL ISOLATE}"
    return f"“{text}”"


def show_verdict(verdict: str) -> str:
    """Return a verdict in one word; the name of a family has a column of its own."""
    return "family" if verdict.startswith(FAMILY) else verdict


def show_percent(share: float | None) -> str:
    """Return a share as a percentage; a dash for None."""
    return DASH if share is None else f"{share:.1%}"


def show_range(low: float, high: float) -> str:
    """Return an interval in words."""
    return f"{low:.1%} to {high:.1%}"


def show_number(value: float | None, form: str = "z.3f") -> str:
    """Return a number with three digits, its minus as printed; a dash for None."""
    return DASH if value is None else show_minus(f"{value:{form}}")


def show_minus(text: str) -> str:
    """Return a text with its minus signs as printed; hyphens within words stay."""
    return _MINUS.sub("\N{MINUS SIGN}", text)


def show_lean(lean: float | None, words: tuple[str, str] = ("lenient", "strict")) -> str:
    """Return a voter's bias in words, from its share of a label minus the estimate."""
    if lean is None:
        return DASH
    points = round(100 * abs(lean))
    if points == 0:
        return "even"
    return f"{words[lean < 0]} by {count_noun(points, 'point')}"


def show_interval(value: float | None, low: float | None = None, high: float | None = None) -> str:
    """Return a share with its interval, or that it is unknown."""
    if value is None:
        return UNKNOWN
    if low is None or high is None:
        return f"{value:.1%}"
    return f"{value:.1%} ({100 * low:.1f} to {100 * high:.1f})"


def show_difference(row: Mapping[str, Any]) -> str:
    """Return by how much one system is ahead of another, or that they may be equal."""
    better, worse = (show_name(row[key], SHORT_NAME * 2) for key in ("better", "worse"))
    points, low, high = (f"{100 * row[key]:z.1f}" for key in ("difference", "low", "high"))
    reach = show_minus(f"{points} points ({low} to {high})")
    if row["holds"]:
        return f"{better} is ahead of {worse} by {reach}"
    return f"{better} and {worse} cannot be told apart: {reach}"


def show_smaller_panel(found: Mapping[str, Any]) -> str:
    """Return which judges can be dropped, and how little that changes."""
    if not found["drop"]:
        return "No judge can be dropped without a visible change of the labels or of their accuracy"
    shown = [show_name(name, SHORT_NAME * 2) for name in found["drop"]]
    names = [f"“{name}”" if "," in name or " and " in name else name for name in shown]
    listed = " and ".join([*([", ".join(names[:-1])] if names[1:] else []), names[-1]])
    change = show_minus(f"{100 * found['accuracy_change']:+z.1f}")
    return (
        f"{listed} can be dropped: {found['labels_kept']:.1%} of the labels stay, expected "
        f"accuracy {change} points"
    )


def show_labels_needed(needed: Mapping[str, Any]) -> str:
    """Return how many human labels would settle whether a panel can be trusted."""
    many = f"About {count_noun(needed['n'], 'human label')} of random items would"
    if needed["settles"] == "readings":
        return f"{many} decide between the two readings"
    return f"{many} measure how often the panel is right, within 5 points"


def take_apart(warning: str) -> tuple[str, str]:
    """Return a warning in plain words, and the figures of the model behind it, if any."""
    return _FIGURES.sub("", warning), "; ".join(_FIGURES.findall(warning))


def show_worth(found: dict[str, Any]) -> str:
    """Return how many independent judges the panel is, and which ones add nothing."""
    n, worth = found["n_judges"], found["effective_judges"]
    who = count_noun(n, "judge")
    if worth is None and n < 3:
        return f"{who}: at least three are needed to estimate what a panel is worth."
    if worth is None:
        return (
            f"{who}: their agreement does not surely exceed chance, so that their worth is unknown."
        )
    low, high = found["effective_judges_low"], found["effective_judges_high"]
    reach = "" if low is None else f" ({low:.1f} to {high:.1f})"
    dropped = [name[:60] for name in found.get("cheaper_panel", {}).get("drop", ())]
    more = f"; {' and '.join(dropped)} add{'s' if len(dropped) == 1 else ''} nothing"
    return f"{who} are worth about {worth:.1f} independent ones{reach}{more if dropped else ''}."


def show_pass_rate(rate: Mapping[str, Any]) -> str:
    """Return the estimated pass rate, or what the labels say where nothing shows their errors."""
    share, low, high = rate["share"], rate["low"], rate["high"]
    if low is None:
        return f"The pass rate cannot be estimated; by the labels as they are it is {share:.1%}"
    return f"Estimated pass rate {share:.1%} ({low:.1%} to {high:.1%})"


def show_rank(rank: Sequence[int] | None) -> str:
    """Return the ranks that a system may have; a dash for None."""
    if rank is None:
        return DASH
    return str(rank[0]) if rank[0] == rank[1] else f"{rank[0]}{DASH}{rank[1]}"


def show_seconds(value: float | None) -> str:
    """Return a time; a dash for None."""
    return DASH if value is None else f"{value:.2f} s"


FILTERS = {
    "worth": show_worth,
    "pass_rate": show_pass_rate,
    "name": show_name,
    "quote": quote,
    "apart": take_apart,
    "word": show_verdict,
    "short": partial(show_name, longest=SHORT_NAME),
    "percent": show_percent,
    "number": show_number,
    "minus": show_minus,
    "lean": show_lean,
    "rank": show_rank,
    "smaller": show_smaller_panel,
    "needed": show_labels_needed,
    "too_often": partial(show_lean, words=("too often", "too rarely")),
    "interval": show_interval,
    "seconds": show_seconds,
    "pick": lambda values, kept: [values[k] for k in kept],
    "first_upper": lambda text: text[:1].upper() + text[1:],
    "thousands": "{:,}".format,
}
