"""What a reader should know before trusting the labels, in sentences."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators import Aggregator
from unelisa.aggregators.base import pick_classes
from unelisa.analysis.confusions import measure_agreement
from unelisa.analysis.judged import Judged
from unelisa.errors import Sentence
from unelisa.report.wording import LONGEST_NAME, count_noun, quote, show_name
from unelisa.votes import Votes

Floats = NDArray[np.float64]

MOST_NAMED = 20  # voters in a sentence
MARGIN = 2.0  # standard deviations above what weights fitted to noise reach


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
    found, noise = np.inf, 0.0
    # a method that says how right its labels are has compared them with sets of votes
    asked = not hasattr(model, "expected_accuracy_") and votes.n_classes == 2
    asked &= getattr(model, "reliable_", True)
    if np.count_nonzero(weights) >= 2 and asked:
        found, noise = measure_agreement(votes.blocks, weights)
    if found < noise + MARGIN:
        who = "experts" if len(model.experts_) and crowd["selects"] else "voters"
        yield (
            f"The weighted {who} agree no more than weights fitted to unrelated voters would; the "
            "labels may be no better than chance."
        )
    silent = votes.vote_counts() == 0
    constant = votes.constant() & ~silent
    if silent.any():
        many = count_noun(int(silent.sum()), "voter")
        yield _name_voters(f"{many} never voted and got no weight: {{}}.", model, silent)
    if constant.any():
        many = count_noun(int(constant.sum()), "constant voter")
        end = "little information" if weights[constant].any() else "removed"
        yield _name_voters(f"{many} (always the same vote), {end}: {{}}.", model, constant)


def _name_voters(text: str, model: Aggregator, which: NDArray[np.bool_]) -> Sentence:
    names = [show_name(name, 40) for name in model.voter_names_[which]]
    return Sentence.listing(text, names, MOST_NAMED)


def _warn_of_items(judged: Judged, items: dict[str, Any]) -> Iterator[str]:
    two = len(judged.classes) == 2
    if items["n"] > 1 and len(np.unique(judged.picked)) == 1:
        many = "two " if two else ""
        yield f"Every item got the same label; the votes may not separate the {many}classes."
    if items["unvoted"]:
        yield f"{count_noun(items['unvoted'], 'item')} without any vote."
    if items["ties"]:
        yield f"{count_noun(items['ties'], 'item')} tied, labeled {_name_tie_rule(judged)}."


def _name_tie_rule(judged: Judged) -> str:
    """Return how tied items are labeled, in words."""
    if judged.two_classes:
        return quote(judged.classes[pick_classes(np.zeros(1), judged.ties)[0]])
    listed = judged.ties is None or np.all(np.diff(judged.ties) > 0)
    return f"with the {'first' if listed else 'most frequent'} of the tied classes"
