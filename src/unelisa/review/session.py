"""One reviewer's session: which item comes next, what was answered, and the progress so far.

Every fifth question is a check if there are several reviewers: an item on which they disagree, or
one that only others have labeled. All others follow the order of the pool.
"""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from unelisa.errors import ModelError
from unelisa.jury.panel import compute_kappa
from unelisa.outputs import make_plain
from unelisa.review.contents import Contents
from unelisa.review.gold_file import Answer, GoldFile, clean_note
from unelisa.review.pools import EVERY, Facts, Known, Study
from unelisa.sources.labels import RANDOM, list_last, settle_answers

SAMPLES = "rate", "certify"  # aims with a random sample
CHECK = 5  # questions, of which the last is a check
LONGEST_LIST = 40  # voters that are named for each label


class Session:
    """The state of a review by one person; all of it can be rebuilt from the file."""

    def __init__(
        self, pool: Any, gold: GoldFile, contents: Contents, reviewer: str, show_votes: bool = False
    ) -> None:
        self.pool, self.gold, self.contents = pool, gold, contents
        self.reviewer, self.show_votes = reviewer, show_votes
        self._counted: list[Answer] = []  # the answers that count for the aim
        self._last: dict[int, Answer] = {}  # the reviewer's last answer on each item, in order
        self._done: set[int] = set()  # items that the order need not ask about
        self._checked: set[int] = set()  # items that were asked about as checks
        for answer in gold.answers:
            if answer.reviewer != reviewer and answer.reviewer.casefold() == reviewer.casefold():
                raise ModelError(
                    f"{gold.path.name} has answers of a reviewer whose name differs only in upper "
                    "and lower case; spell --reviewer as before"
                )
            self._note(answer)
        self._study: Study = pool.study(self.collect())
        self.coming: Future[Study] = Future()  # the latest study, which may be under way
        self.coming.set_result(self._study)

    @property
    def count(self) -> int:
        """How many items the reviewer has answered or skipped."""
        return len(self._last)

    def _note(self, answer: Answer) -> None:
        # a random sample asks again about items that were chosen because they are useful
        if self.pool.aim in SAMPLES and answer.chosen != self.pool.describe_choice(answer.item):
            return
        self._counted.append(answer)
        self._done.add(answer.item)
        if answer.reviewer == self.reviewer:
            self._last.pop(answer.item, None)
            self._last[answer.item] = answer

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Note what was answered in other processes meanwhile, and keep them from writing."""
        with self.gold.turn() as others:
            for answer in others:
                self._note(answer)
            yield

    def collect(self) -> Known:
        """Return the label of every item on which the reviewers agree."""
        labels = np.full(len(self.pool.items), -1, dtype=np.intp)
        for item, label in self._settle().items():
            labels[item] = -1 if label is None else label
        sampled = np.zeros(len(labels), dtype=np.bool_)
        kind = self.pool.describe_choice(0) if self.pool.aim == "certify" else RANDOM
        sampled[[x.item for x in self.gold.answers if x.chosen == kind]] = True
        return Known(labels, sampled)

    def _settle(self) -> dict[int, int | None]:
        return settle_answers((x.item, x.label, x.reviewer) for x in self.gold.answers)

    def find_next(self) -> int | None:
        """Return the item to ask about; None when there is nothing left."""
        with self._turn():
            pass
        if len(self._last) % CHECK == CHECK - 1:
            check = self._find_check()
            if check is not None:
                return check
        left = (item for item in map(int, self._study.ranking) if item not in self._done)
        item = next(filter(self.gold.claim, left), None)
        return self._find_check() if item is None else item

    def _find_check(self) -> int | None:
        item = next(list_checks(self._counted, self.reviewer), None)
        if item is not None:
            self._checked.add(item)
        return item

    def find_previous(self, item: int | None) -> int | None:
        """Return the item that was answered before this one, or last."""
        answered = list(self._last)
        place = answered.index(item) if item in self._last else len(answered)
        return answered[place - 1] if place else None

    def describe(self, item: int) -> Facts:
        """Return what the page shows of an item: votes only if it was answered."""
        last = self._last.get(item)
        return {
            "item": item,
            "name": str(self.pool.items[item]),
            **self.contents.show(item),
            "label": None if last is None else last.label,
            "answered": last is not None,
            "note": "" if last is None else last.note,
            "again": last is not None and item in find_open(self._counted),
            "votes": self.reveal(item) if last is not None or self.show_votes else None,
        }

    def reveal(self, item: int) -> Facts:
        """Return who voted for what on an item, and the probability of each class."""
        opinions = [
            {"label": label, "voters": voters[:LONGEST_LIST], "count": len(voters)}
            for label, voters in self.pool.list_opinions(item)
        ]
        return {"opinions": opinions, "chances": self._study.chances[item].round(4).tolist()}

    def answer(self, item: int, label: int | None, note: str, seen: int | None, new: bool) -> bool:
        """Put an answer on disk; False if the page showed an answer that is no longer the last."""
        with self._turn():
            last, chosen = self._last.get(item), str(self.pool.describe_choice(item))
            if item in self._checked or last is not None:  # a check does not choose it anew
                chosen = next(x.chosen for x in self._counted if x.item == item)
            answer = Answer(item, label, self.reviewer, chosen, clean_note(note))
            if answer == last and item not in self._checked:
                return True
            if (last is None) != new or (last is not None and last.label != seen):
                return False
            self.gold.add(answer)
        self._note(answer)
        self._checked.discard(item)
        if self.count % EVERY == 0 and last is None:
            self._begin_study()
        return True

    def _begin_study(self) -> None:
        known, coming = self.collect(), Future[Study]()
        before, self.coming = self.coming, coming
        coming.set_running_or_notify_cancel()  # a tab that is closed must not cancel it for others

        def work() -> None:
            try:
                before.exception()  # one after the other
                self._study = self.pool.study(known)
                coming.set_result(self._study)
            except BaseException as error:
                coming.set_exception(error)

        threading.Thread(target=work, daemon=True).start()

    def sum_up(self, study: Study) -> Facts:
        """Return the facts of the side panel."""
        return {
            **study.facts,
            "labeled": sum(label is not None for label in self._settle().values()),
            "skipped": sum(answer.label is None for answer in self._last.values()),
            "agreement": [pair._asdict() for pair in compare_reviewers(self._counted)],
            "disputed": len(find_open(self._counted)),
        }


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
            same, labels = sum(x == y for x, y in pairs), np.array(pairs)
            kappa = compute_kappa(labels[:, 0], labels[:, 1], np.unique(labels).tolist()).value
            found.append(Agreement(a, b, len(pairs), same, make_plain(kappa)))
    return found


def find_open(answers: Sequence[Answer]) -> set[int]:
    """Return the items whose reviewers give different labels, by their last answers."""
    last = list_last((x.item, x.label, x.reviewer) for x in answers)
    return {item for item, own in last.items() if len(set(own.values()) - {None}) > 1}


def list_checks(answers: Sequence[Answer], reviewer: str) -> Iterator[int]:
    """Yield the labeled items to check: the reviewer's own that are disputed, then others'."""
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
