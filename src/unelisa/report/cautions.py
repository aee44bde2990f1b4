"""What a reader must know before trusting the labels, in plain sentences."""

from typing import Any

import numpy as np

from unelisa.aggregators import Aggregator
from unelisa.report.chance import measure_agreement
from unelisa.report.plain import count_noun
from unelisa.votes import Votes


def list_cautions(
    model: Aggregator, votes: Votes | None, crowd: dict[str, Any], items: dict[str, Any] | None
) -> list[str]:
    """Return all warnings that apply, those about the experts first."""
    told = [
        *_warn_of_evidence(model),
        *_warn_of_readings(model),
        *_warn_of_experts(model, crowd),
        *_warn_of_sides(model, crowd),
    ]
    if votes is not None:
        told += [*_warn_of_chance(model, votes), *_warn_of_voters(model, votes)]
    if items is not None:
        told += _warn_of_items(items)
    return told


def _warn_of_evidence(model: Aggregator) -> list[str]:
    """Return a warning where the votes cannot tell of a truth; older models do not say."""
    if getattr(model, "reliable_", True):
        return []
    reason = model.reliability_reason_
    return [f"The labels may be no better than chance and cannot be relied on: {reason}."]


def _warn_of_readings(model: Aggregator) -> list[str]:
    """Return a warning where the votes cannot tell two truths apart."""
    if not getattr(model, "two_readings_", False):
        return []
    return ["The votes allow two readings of what is true: a prior, or ten gold labels, decide."]


def _warn_of_experts(model: Aggregator, crowd: dict[str, Any]) -> list[str]:
    if not crowd["selects"] or crowd["counted"] >= 3:
        return []
    if crowd["counted"] == 0 and hasattr(model, "reading_"):
        return ["No expert is claimed: no voter is clearly tied to the truth."]
    if crowd["counted"] == 0:
        return ["No expert was found: all voters count the same, as in majority vote."]
    many = count_noun(crowd["counted"], "expert")
    return [f"Only {many} found: fewer than three leave open how reliable each of them is."]


def _warn_of_sides(model: Aggregator, crowd: dict[str, Any]) -> list[str]:
    """Return a warning where one voter more or less would have swapped the two labels."""
    by_majority = model.get_params(deep=False).get("orient") == "majority"
    straight = crowd["counted"] - crowd["contrarians"]
    if not by_majority or crowd["contrarians"] == 0 or straight - crowd["contrarians"] > 1:
        return []
    return [
        f"Which side is positive rests on a bare majority, {straight} voters against "
        f"{crowd['contrarians']}: name a voter you trust or give a few gold labels."
    ]


def _warn_of_chance(model: Aggregator, votes: Votes) -> list[str]:
    weights = np.nan_to_num(model.weights_)
    if np.count_nonzero(weights) < 2 or not getattr(model, "reliable_", True):
        return []
    who = "experts" if len(model.experts_) and "expert" in model.verdicts else "voters"
    if not measure_agreement(votes.blocks, weights).found_in_noise:
        return []
    return [
        f"The {who}, as they are weighed, agree with each other no more than weights fitted to "
        "unrelated voters would make them: the labels may be no better than chance."
    ]


def _warn_of_voters(model: Aggregator, votes: Votes) -> list[str]:
    silent = votes.vote_counts() == 0
    stuck = votes.constant() & ~silent
    told = []
    if silent.any():
        told.append(f"{count_noun(int(silent.sum()), 'voter')} never voted: no weight.")
    if stuck.any():
        removed = not np.asarray(model.weights_)[stuck].any()
        many = count_noun(int(stuck.sum()), "voter")
        end = "removed as constant" if removed else "this tells little"
        told.append(f"{many} always gave the same vote: {end}.")
    return told


def _warn_of_items(items: dict[str, Any]) -> list[str]:
    told = []
    if items["n"] > 1 and items["positive"] in (0, items["n"]):
        told.append("Every item got the same label: the votes may not tell the two sides apart.")
    if items["unvoted"]:
        told.append(f"{count_noun(items['unvoted'], 'item')} had no vote at all.")
    if items["ties"]:
        told.append(f"{count_noun(items['ties'], 'item')} ended in a tie and count as positive.")
    return told
