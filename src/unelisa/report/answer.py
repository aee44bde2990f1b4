"""The top of the page: the guarantee, the answer in the user's own words, key figures, cautions."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np

from unelisa.aggregators import Aggregator
from unelisa.aggregators.base import pick_classes
from unelisa.analysis.confusions import measure_agreement
from unelisa.analysis.judged import SURE, Judged
from unelisa.errors import Sentence
from unelisa.report.wording import (
    LONGEST_NAME,
    UNKNOWN,
    count_noun,
    quote,
    show_difference,
    show_interval,
    show_name,
    show_percent,
    show_range,
)
from unelisa.votes import Votes

MOST_NAMED = 20  # voters in a sentence
MARGIN = 2.0  # standard deviations above what weights fitted to noise reach


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
    crowd, among = findings["crowd"], []
    role = "are informative" if _knows_informative(findings) else "count"
    who = f"{crowd['counted']} of {crowd['voters']} voters "
    who += "are experts" if crowd["selects"] else role
    if crowd["families"]:
        inside = sum(len(family["voters"]) for family in crowd["families"])
        many = count_noun(len(crowd["families"]), "family", "families")
        among.append(f"{inside} who repeat each other in {many}")
    if crowd["contrarians"]:
        how = "votes reversed" if findings["by_class"] is None else "mostly wrong"
        among.append(f"{count_noun(crowd['contrarians'], 'contrarian')} ({how})")
    return who + (f", including {' and '.join(among)}" if among else "")


def _knows_informative(findings: Mapping[str, Any]) -> bool:
    """Return whether the voters who count are informative: of noise, no voter is."""
    expected = findings["expected_accuracy"]
    return findings["crowd"]["consensus"] and expected is not None and expected["share"] is not None


def write_opening(findings: Mapping[str, Any]) -> str:
    """Return the first sentence of the page; of a jury, which system wins, and by how much."""
    rate = findings.get("jury", {}).get("pass_rate")
    if rate is None:
        return str(findings["answer"])
    if findings["reliable"] is False and rate["low"] is None:
        return "The pass rate cannot be estimated: these labels cannot be relied on."
    if not rate["differences"]:
        return f"{show_interval(rate['share'], rate['low'], rate['high'])} of the items pass."
    names, shares = zip(
        *((one["system"], one["share"]) for one in rate["systems"][:2]), strict=True
    )
    pair = next(one for one in rate["differences"] if (one["better"], one["worse"]) == names)
    return (
        f"{show_difference(pair)}. Of their answers {' and '.join(map(show_percent, shares))} pass."
    )


def describe_certificate(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return a certificate in words: what is guaranteed, for how many items, from which answers."""
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
        "assumptions": "It assumes nothing about the voters or the model, only the random draw. "
        "Certified are the labels that unelisa certify wrote together with this certificate.",
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


def advise(findings: Mapping[str, Any], saved: str = "") -> str:
    """Return what to do next; `saved` is the model's file, if there is one."""
    if findings["reliable"] is False:
        return "label some items by hand (unelisa review), then fit again with --gold gold.csv"
    left, known = findings["open_votes"], findings.get("next_votes")
    if left == 0 or (known and not known["n"]):
        why = "no single further vote is expected to change a label"
        if left == 0:
            why = "every voter has voted on every item"
        return f"{why}; unelisa certify says how many answers of your own guarantee the labels"
    asked = "" if left is None else "suggest"
    if saved and asked:
        return f"unelisa suggest {saved} VOTES names the votes that would help most"
    if saved:
        return f"unelisa predict {saved} VOTES labels other items"
    commands = "unelisa predict and unelisa suggest" if asked else "unelisa predict"
    return f"--save model.npz keeps the model, for {commands}"


def list_figures(findings: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the figures at the top of the page: a value, what it is, and what qualifies it."""
    items, expected = findings["items"], findings["expected_accuracy"]
    if findings["reliable"] is False:  # no figure rests on labels that cannot be relied on
        unknown = _figure(UNKNOWN, "accuracy of the labels", "the warnings say why")
        return [unknown, *_show_crowd(findings)[:1]]
    shown = []
    if expected is not None:
        alone = " by the votes alone, without the answers" if findings.get("certificate") else ""
        shown.append(_bounded(expected, f"expected accuracy of the labels{alone}"))
    shown += [*_show_rate(findings), *_show_crowd(findings)]
    if items is not None and items["sure"] is not None:
        words = f"of the items decided: a label with probability above {SURE:.0%}"
        shown.append(_figure(show_percent(items["sure"] / items["n"]), words))
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
    found, label = findings["prevalence"], findings["classes"][1]
    if findings["by_class"] is not None:
        rates = findings["by_class"]["shares"]
        if rates[0]["prevalence"] is None:
            return []
        most = max(rates, key=lambda one: one["prevalence"])
        found, label = {**most, "share": most["prevalence"]}, most["label"]
    return [] if found is None else [_bounded(found, f"estimated share of {quote(label)}")]


def _bounded(found: Mapping[str, Any], what: str) -> dict[str, str]:
    if found["share"] is None:
        return _figure(UNKNOWN, what)
    more = f"its interval {UNKNOWN}"
    if found["low"] is not None:
        more = f"90% interval {show_range(found['low'], found['high'])}"
    return _figure(show_percent(found["share"]), what, more)


def _show_crowd(findings: Mapping[str, Any]) -> list[dict[str, str]]:
    crowd, who = findings["crowd"], "judge" if "jury" in findings else "voter"
    role = f"informative {who}s" if _knows_informative(findings) else f"{who}s that count"
    role = "experts" if crowd["selects"] else role
    shown = [_figure(f"{crowd['counted']} of {crowd['voters']}", role)]
    if crowd["effective"] is not None:
        many = f"carry as much information as the {count_noun(crowd['voters'], who)}"
        shown.append(_figure(f"{crowd['effective']:.1f}", f"independent {who}s", many))
    return shown


def list_cautions(
    model: Aggregator, judged: Judged | None, crowd: dict[str, Any], items: dict[str, Any] | None
) -> Iterator[str]:
    """Return all warnings that apply, those about the truth and the experts first."""
    yield from _warn_of_the_truth(model)
    yield from _warn_of_experts(model, crowd)
    if judged is not None:
        yield from _warn_of_voters(model, judged.votes, crowd)
    if judged is not None and items is not None:
        yield from _warn_of_items(judged, items)


def _warn_of_the_truth(model: Aggregator) -> Iterator[str]:
    """Yield warnings where the votes identify no truth, or two, and what the model says itself."""
    cautions: list[Any] = getattr(model, "cautions_", [])
    reason = getattr(model, "reliability_reason_", "")
    for caution in cautions:  # which are lines of their own
        reason = reason.replace(caution, "").removeprefix("; ").removesuffix("; ")
    if reason and not getattr(model, "reliable_", True):
        yield f"The labels cannot be relied on: {reason}."
    names = tuple(str(name) for name in model.voter_names_ if str(name))
    for caution in cautions:
        begin = caution[:1] if caution.startswith(names) else caution[:1].upper()
        sentence = f"{begin}{caution[1:]}."
        for name in names:
            if len(name) > LONGEST_NAME:
                sentence = sentence.replace(name, show_name(name))
        yield Sentence(sentence, getattr(caution, "voters", ()))
    if getattr(model, "two_readings_", False) and not any("two readings" in c for c in cautions):
        yield (
            "The votes allow two readings of the truth; a prior, or at least ten gold labels, can "
            "decide."
        )


def _warn_of_experts(model: Aggregator, crowd: dict[str, Any]) -> Iterator[str]:
    counted, contrarians = crowd["counted"], crowd["contrarians"]
    if crowd["selects"] and counted == 0:
        alike = "all voters have equal weight, as in majority vote"
        why = "no voter is clearly coupled to the truth" if hasattr(model, "reading_") else alike
        yield f"No experts were found: {why}."
    elif crowd["selects"] and counted < 3:
        many = "1 expert was" if counted == 1 else f"{counted} experts were"
        yield f"Only {many} found; with fewer than three, their reliability cannot be estimated."
    by_majority = model.get_params(deep=False).get("orient") == "majority"
    by_majority &= len(model.classes_) == 2 and not crowd["consensus"]
    if by_majority and contrarians and counted - 2 * contrarians <= 1:
        # one voter more or less would have swapped the two labels
        yield (
            f"Which side is {quote(model.classes_[1])} was decided by a bare majority, "
            f"{counted - contrarians} voters against {contrarians}; name an anchor voter or pass "
            "a few gold labels."
        )


def _warn_of_voters(model: Aggregator, votes: Votes, crowd: dict[str, Any]) -> Iterator[str]:
    weights = np.nan_to_num(model.weights_)
    # a method that says how right its labels are has compared them with sets of votes
    asked = not hasattr(model, "expected_accuracy_") and votes.n_classes == 2
    if np.count_nonzero(weights) >= 2 and asked and getattr(model, "reliable_", True):
        found, noise = measure_agreement(votes.blocks, weights)
        if found < noise + MARGIN:
            who = "experts" if len(model.experts_) and crowd["selects"] else "voters"
            yield (
                f"The weighted {who} agree no more than weights fitted to unrelated voters would; "
                "the labels may be no better than chance."
            )
    silent = votes.vote_counts() == 0
    constant = votes.constant() & ~silent
    end = "little information" if weights[constant].any() else "removed"
    for which, noun, words in (
        (silent, "voter", "never voted and got no weight"),
        (constant, "constant voter", f"(always the same vote), {end}"),
    ):
        names = [show_name(name, 40) for name in model.voter_names_[which]]
        if names:
            text = f"{count_noun(len(names), noun)} {words}: {{}}."
            yield Sentence.listing(text, names, MOST_NAMED)


def _warn_of_items(judged: Judged, items: dict[str, Any]) -> Iterator[str]:
    if items["n"] > 1 and len(np.unique(judged.picked)) == 1:
        many = "two " if judged.two_classes else ""
        yield f"Every item got the same label; the votes may not separate the {many}classes."
    if items["unvoted"]:
        yield f"{count_noun(items['unvoted'], 'item')} without any vote."
    if items["ties"]:
        listed = judged.ties is None or np.all(np.diff(judged.ties) > 0)
        rule = f"with the {'first' if listed else 'most frequent'} of the tied classes"
        if judged.two_classes:
            rule = quote(judged.classes[pick_classes(np.zeros(1), judged.ties)[0]])
        yield f"{count_noun(items['ties'], 'item')} tied, labeled {rule}."
