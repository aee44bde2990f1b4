"""Several reviewers: how well they agree, and what each should look at again."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from unelisa.review.gold_file import Answer


class Agreement(NamedTuple):
    """Two reviewers on the items that both have labeled."""

    first: str
    second: str
    both: int  # items
    same: int  # of these, labeled alike at first sight
    kappa: float | None  # Cohen's; None where it is not defined


def compare_reviewers(answers: Sequence[Answer]) -> list[Agreement]:
    """Return every pair of reviewers with items in common, by their first answers."""
    firsts: dict[str, dict[int, int]] = {}
    for answer in answers:
        if answer.label is not None:
            firsts.setdefault(answer.reviewer, {}).setdefault(answer.item, answer.label)
    found = []
    for (a, one), (b, other) in combinations(sorted(firsts.items()), 2):
        pairs = [(one[item], other[item]) for item in one if item in other]
        if pairs:
            same = sum(x == y for x, y in pairs)
            found.append(Agreement(a, b, len(pairs), same, measure_kappa(pairs)))
    return found


def measure_kappa(pairs: Sequence[tuple[int, int]]) -> float | None:
    """Return Cohen's kappa, (p - c) / (1 - c): p the share of equal labels, c that by chance."""
    n = len(pairs)
    same = sum(x == y for x, y in pairs) / n
    labels = {label for pair in pairs for label in pair}
    shares = [[sum(pair[k] == label for pair in pairs) / n for k in (0, 1)] for label in labels]
    chance = sum(x * y for x, y in shares)
    return None if chance == 1 else (same - chance) / (1 - chance)


def find_open(answers: Sequence[Answer]) -> set[int]:
    """Return the items whose reviewers give different labels, by their last answers."""
    last: dict[int, dict[str, int | None]] = {}
    for answer in answers:
        last.setdefault(answer.item, {})[answer.reviewer] = answer.label
    return {item for item, own in last.items() if len(set(own.values()) - {None}) > 1}


def list_checks(answers: Sequence[Answer], reviewer: str) -> Iterator[int]:
    """Yield the labeled items that a reviewer should check.

    First the reviewer's own on which somebody has disagreed since; then those that only others have
    labeled, disputed ones first. So nobody is asked about an item more than twice.
    """
    disputed = find_open(answers)
    own: set[int] = set()
    again: set[int] = set()
    others: dict[int, None] = {}  # in the order of answering
    for answer in answers:
        if answer.reviewer == reviewer:
            own.add(answer.item)
            if answer.item in others:  # the second look, or the first one at somebody's item
                again.add(answer.item)
        elif answer.label is not None:
            others[answer.item] = None
    yield from (item for item in others if item in (own & disputed) - again)
    fresh = [item for item in others if item not in own]
    yield from sorted(fresh, key=lambda item: item not in disputed)
