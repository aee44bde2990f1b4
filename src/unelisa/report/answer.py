"""The top of the page: the guarantee, the answer in the user's own words, and the key figures."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from unelisa.aggregators import Aggregator
from unelisa.analysis.judged import SURE, Judged
from unelisa.report.wording import (
    UNKNOWN,
    count_noun,
    quote,
    show_difference,
    show_interval,
    show_name,
    show_percent,
    show_range,
)


def describe_answer(findings: Mapping[str, Any]) -> str:
    """Return how many items got which label, and which voters count, in two sentences."""
    items, by_class = findings["items"], findings["by_class"]
    who = f"{_describe_crowd(findings)}."
    if items is None:
        return who
    labeled = f"{count_noun(items['n'], 'item')} labeled"
    if by_class is None:
        label = quote(findings["classes"][1])
        return f"{items['positive']:,} of {labeled} {label}. {who}"
    most = max(by_class["shares"], key=lambda one: one["labeled"])
    largest = f"{quote(most['label'])} ({most['labeled']:,})"
    return f"{labeled} in {len(findings['classes'])} classes, most often {largest}. {who}"


def _describe_crowd(findings: Mapping[str, Any]) -> str:
    crowd = findings["crowd"]
    role = "are experts" if crowd["selects"] else "count"
    role = "are informative" if crowd["consensus"] else role
    who, among = f"{crowd['counted']} of {crowd['voters']} voters {role}", []
    if crowd["families"]:
        inside = sum(len(family["voters"]) for family in crowd["families"])
        many = count_noun(len(crowd["families"]), "family", "families")
        among.append(f"{inside} who repeat each other in {many}")
    if crowd["contrarians"]:
        how = "votes reversed" if findings["by_class"] is None else "mostly wrong"
        among.append(f"{count_noun(crowd['contrarians'], 'contrarian')} ({how})")
    return who + (f", including {' and '.join(among)}" if among else "")


def write_opening(findings: Mapping[str, Any]) -> str:
    """Return the first sentence of the page; of a jury, which system wins, and by how much."""
    rate = findings.get("jury", {}).get("pass_rate")
    if rate is None:
        return str(findings["answer"])
    if findings["reliable"] is False and rate["low"] is None:
        return "The pass rate cannot be estimated: these labels cannot be relied on."
    if not rate["differences"]:
        return f"{show_interval(rate['share'], rate['low'], rate['high'])} of the items pass."
    first, second = rate["systems"][:2]
    pair = next(
        row
        for row in rate["differences"]
        if (row["better"], row["worse"]) == (first["system"], second["system"])
    )
    shares = " and ".join(show_percent(one["share"]) for one in (first, second))
    return f"{show_difference(pair)}. Of their answers {shares} pass."


def describe_certificate(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return a certificate in words: what is guaranteed, for how many items, from which answers.

    `facts` is what `unelisa certify --certificate` wrote.
    """
    guarantee, drawn, silent = str(facts["guarantee"]), "all items", facts.get("n_unanswered")
    if above := facts.get("drawn_above"):
        drawn = f"the items whose label has a probability of at least {show_percent(above)}"
    unanswered = f", {silent:,} without an answer count as wrong" if silent else ""
    once = facts["looks"] == "once"
    when = "was to be fixed beforehand" if once else "did not have to be fixed beforehand"
    return {
        "guarantee": f"{guarantee[:1].upper()}{guarantee[1:]}.",
        "items": f"{facts['n_certified']:,} of {count_noun(facts['n_items'], 'item')} certified, "
        f"{facts['n_gold']:,} with a gold label, {facts['n_look']:,} need a look.",
        "drawn": f"{count_noun(facts['n_drawn'], 'answer')} on items drawn at random from {drawn}; "
        f"{facts['n_wrong']:,} of their labels were wrong{unanswered}. "
        f"The number of answers {when}.",
        "assumptions": "It assumes nothing about the voters or the model, only the random draw.",
    }


def list_contents(findings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the sections of the page: the address of each, and its title."""
    jury = findings.get("jury")
    sections = [
        ("readings", "Two readings", bool(findings["readings"])),
        ("systems-section", "Systems", bool(jury and (jury["pass_rate"] or {}).get("systems"))),
        ("panel", "Panel", jury is not None),
        ("voters-section", "Judges" if jury else "Voters", True),
        ("classes", "Classes", bool((findings["by_class"] or {}).get("drawn"))),
        ("labels", "Certainty of the labels", findings["histogram"] is not None),
        ("items", "Items to look at", findings["items"] is not None),
        ("next", "What to ask next", "next_votes" in findings),
        ("truth", "Against the truth", bool(findings["truth"] or findings["comparison"])),
        ("fit", "How this was computed", True),
    ]
    return [(address, title) for address, title, there in sections if there]


def list_checks(model: Aggregator, judged: Judged | None) -> list[str]:
    """Return in words what was checked, and would have been a warning."""
    checks = ["the voters agree more than chance explains"]
    if getattr(model, "reading_", "") == "consensus":
        checks += [
            "most of them point the same way",
            "at least three of them, relatives counted as one, can check each other",
            "the votes allow no second reading",
            "the labels are about as right as stated, going by sets of votes with known truth",
        ]
    if judged is not None:
        checks += ["every voter votes and varies", "every item has votes", "labels without ties"]
    return checks


def list_figures(findings: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the figures at the top of the page: a value, what it is, and what qualifies it."""
    items, expected = findings["items"], findings["expected_accuracy"]
    if findings["reliable"] is False:  # no figure rests on labels that cannot be relied on
        unknown = _figure(UNKNOWN, "accuracy of the labels", "the warnings say why")
        return [unknown, *_show_crowd(findings["crowd"])[:1]]
    shown = []
    if expected is not None:
        shown.append(_bounded(expected, "expected accuracy of the labels"))
    shown += _show_rate(findings)
    shown += _show_crowd(findings["crowd"])
    if items is not None and items["sure"] is not None:
        sure = show_percent(items["sure"] / items["n"])
        shown.append(
            _figure(sure, f"of the items decided: a label with probability above {SURE:.0%}")
        )
    elif items is not None:
        shown.append(_figure(f"{items['ties']:,}", "items tied"))
    return shown


def list_origin(findings: Mapping[str, Any], source: str = "") -> list[str]:
    """Return where the page comes from: the file of votes, date, version, method and seed."""
    seed = findings["fit"]["settings"].get("random_state")
    return [
        *([show_name(source)] if source else []),
        datetime.now(UTC).date().isoformat(),
        f"unelisa {findings['fit']['versions']['unelisa']}",
        findings["method"],
        *([] if seed is None else [f"seed {seed}"]),
    ]


def _figure(value: str, what: str, more: str = "") -> dict[str, str]:
    return {"value": value, "what": what, "more": more}


def _show_rate(findings: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the estimated share of the second of two classes, or of the most common of more."""
    found, label = findings["prevalence"], findings["classes"][1]
    if findings["by_class"] is not None:
        rates = findings["by_class"]["shares"]
        if rates[0]["prevalence"] is None:
            return []
        most = max(rates, key=lambda one: one["prevalence"])
        found, label = {**most, "share": most["prevalence"]}, most["label"]
    return [] if found is None else [_bounded(found, f"estimated share of {quote(label)}")]


def _bounded(found: Mapping[str, Any], what: str) -> dict[str, str]:
    """Return a share with its interval, as far as the votes determine them."""
    if found["share"] is None:
        return _figure(UNKNOWN, what)
    more = f"its interval {UNKNOWN}"
    if found["low"] is not None:
        more = f"90% interval {show_range(found['low'], found['high'])}"
    return _figure(show_percent(found["share"]), what, more)


def _show_crowd(crowd: Mapping[str, Any]) -> list[dict[str, str]]:
    role = "experts" if crowd["selects"] else "voters that count"
    role = "informative voters" if crowd["consensus"] else role
    shown = [_figure(f"{crowd['counted']} of {crowd['voters']}", role)]
    if crowd["effective"] is not None:
        many = f"carry as much information as the {count_noun(crowd['voters'], 'voter')}"
        shown.append(_figure(f"{crowd['effective']:.1f}", "independent voters", many))
    return shown
