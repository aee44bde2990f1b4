"""The crowd of a K-class consensus: whose votes are read, what silence says, samples of items."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.blocks import ItemBlocks
from unelisa.latent.ballots import Ballots, Floats, Sums, fill_silence, keep_voters, take_ballots
from unelisa.latent.crowd import Sample, draw_for_votes
from unelisa.one_sided import COMMON_SIDE, ONE_SIDED, ONE_SIDED_VOTES


class ClassCrowd(NamedTuple):
    """The votes to be read, and what is known of them before."""

    ballots: ItemBlocks  # all items, with rules' silence as one more answer
    spoken: ItemBlocks  # all items, without what silence says
    silence: NDArray[np.int8]  # 1: the voter's silence is an answer
    answers: Floats  # counts per voter and class
    kept: NDArray[np.bool_]  # whose votes are read: not of those who always say the same

    @classmethod
    def of(cls, ballots: ItemBlocks, n_classes: int) -> "ClassCrowd":
        """Return the crowd of some ballots."""
        (counts,) = ballots.sum(count_answers, ballots.n_voters, n_classes)
        silence, kept = read_class_roles(counts, ballots.n_items)
        spoken = ballots if kept.all() else ballots.view(keep_voters, kept)
        filled = spoken
        if silence.any():
            filled = spoken.view(fill_silence, code_silence(silence, n_classes))
        return cls(filled, spoken, silence, counts * kept[:, None], kept)

    @property
    def votes(self) -> Floats:
        """Number of votes per voter."""
        return np.asarray(self.answers.sum(axis=1))

    def draw_votes(self, most: int) -> tuple[Sample, Sample]:
        """Return items for `draw_for_votes`: as voted, and with silence filled in."""
        n_items, n_voters = self.spoken.n_items, self.spoken.n_voters
        items = draw_for_votes(n_items, float(self.votes.sum()), most)
        spoken = Sample(take_ballots(self.spoken, items), n_voters)
        if not self.silence.any():
            return spoken, spoken
        code = code_silence(self.silence, self.answers.shape[1])
        return spoken, Sample(fill_silence(spoken.ballots, code), n_voters)


def read_class_roles(counts: Floats, n_items: int) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """Return who is a rule, whose silence is an answer, and whose votes are read.

    `counts` holds how often each voter named each class.
    """
    silence = find_rules(counts, n_items)
    votes, constant = counts.sum(axis=1), np.count_nonzero(counts, axis=1) <= 1
    kept = ~constant | (votes < ONE_SIDED_VOTES) | (silence != 0)
    kept &= ~(constant & (votes == n_items))
    if not (kept & (votes > 0)).any():
        kept[:] = True
    return silence, kept


def count_answers(ballots: Ballots, n_voters: int, n_classes: int) -> Sums:
    """Return how often each voter named each class: voters x classes. A pass."""
    cells = ballots.voters.astype(np.int64) * n_classes + ballots.answers
    counts = np.bincount(cells, minlength=n_voters * n_classes)
    return (counts.reshape(n_voters, n_classes).astype(np.float64),)


def find_rules(counts: Floats, n_items: int) -> NDArray[np.int8]:
    """Return 1 for rules, whose silence is an answer: see `one_sided.read_silence`.

    `counts` holds how often each voter named each class.

    Examples
    --------
    >>> counts = np.array([[40.0, 0, 0], [0, 30, 0], [0, 0, 50], [3, 4, 2]])
    >>> find_rules(counts, n_items=200)
    array([1, 1, 1, 0], dtype=int8)
    """
    votes = counts.sum(axis=1)
    own, most = counts.max(axis=1) / np.maximum(votes, 1), counts.argmax(axis=1)
    common = (counts.sum(axis=0) / max(counts.sum(), 1))[most]
    rules = (own > ONE_SIDED) & (common <= COMMON_SIDE)
    rules &= (votes >= ONE_SIDED_VOTES) & (votes < n_items)
    if votes[rules].sum() <= votes.sum() / 2:
        rules[:] = False
    return np.asarray(rules, dtype=np.int8)


def code_silence(silence: NDArray[np.int8], n_classes: int) -> NDArray[np.int8]:
    """Return the vote that each voter's silence stands for, the answer after the classes; or 0."""
    return np.where(silence != 0, n_classes + 1, 0).astype(np.uint8).view(np.int8)
