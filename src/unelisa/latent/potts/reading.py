"""What a consensus over K classes says: of items, of voters and of all items together."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from unelisa.blocks import ItemBlocks
from unelisa.em import bound_share
from unelisa.latent.ballots import Ballots, Floats, Sums, fill_silence, keep_voters
from unelisa.latent.consensus.checks import COUNTED
from unelisa.latent.consensus.model import GRID
from unelisa.latent.consensus.reading import MOST_CERTAIN, SURE_ERRORS
from unelisa.latent.potts.crowd import code_silence
from unelisa.latent.potts.model import ClassConsensus, infer
from unelisa.latent.potts.pool import ClassPool, answer_each, mix, share_branches
from unelisa.latent.reading import LEAST_CLEAR, Links, Reading, count_effective
from unelisa.schema import stored


@stored(
    shares="share[classes]",
    share_bounds="share[2, classes]",
    expected_accuracy="share",
    expected_interval="many(2) share",
    labels="share[classes]",
    confusions="float[voters, classes, classes]",
    votes="finite[voters, classes]",
)
class ClassAnswers(NamedTuple):
    """What a reading says of all items together, and of every voter."""

    # shares, share_bounds: mean P(class) of items with votes, and 95 % intervals (two rows)
    shares: Floats
    share_bounds: Floats
    # expected_accuracy, expected_interval: mean P(label is right), and its range
    expected_accuracy: float
    expected_interval: tuple[float, float]
    labels: Floats  # share of the items with each label
    confusions: Floats  # P(says c | class k) per voter: voters x classes x classes
    votes: Floats  # expected number of a voter's votes on items of each class

    def describe_labels(self, classes: NDArray[Any]) -> dict[str, float]:
        """Return the share of every label, as columns of `readings_`."""
        shares = zip(classes, self.labels, strict=True)
        return {f"share_{label}": float(share) for label, share in shares}


@stored(model="ClassConsensus", pool="ClassPool", answers="ClassAnswers | None")
@dataclass(frozen=True, eq=False, kw_only=True)
class ClassReading(Reading):
    """The class of an item is what the voters agree on."""

    name: str = "consensus"
    model: ClassConsensus  # the member of the pool with the largest weight
    pool: ClassPool

    @property
    def field(self) -> Floats:  # type: ignore[override]
        """Log-probability of each class on an item without votes."""
        return np.log(self.pool.unheard)

    @property
    def links(self) -> Links:
        """Who repeats whom: voters of one family, with the product of how far each repeats it."""
        return Links.within(self.family, self.model.repeats)

    @property
    def effective_voters(self) -> float:
        """(sum |a|)^2 / sum a^2 over branches: how many equally good independent voters."""
        if not np.array_equal(self.family, self.model.family):
            return float(self.branches)
        rows = np.concatenate([self.model.lone, np.ones(self.model.n_families, dtype=np.bool_)])
        return count_effective(self.model.branches.weights[rows])

    def score(self, ballots: ItemBlocks) -> Floats:
        """Return the log-probability of every class: items x classes."""
        return ballots.concatenate(score_classes, self.pool, self.silence)

    def measure_ease(self, ballots: ItemBlocks) -> Floats:
        """Return E d per item under the member with ease: 1 an ordinary item, 0 nobody can tell."""
        easing = [one for one in self.pool.members if one.has_ease]
        if not easing:
            return super().measure_ease(ballots)
        best = max(easing, key=lambda one: one.evidence)
        kept = ballots.view(keep_voters, self.pool.kept)
        return kept.concatenate(_expect_ease, best, self.silence)

    def list_shares(self, ballots: ItemBlocks) -> Floats:
        """Return the mean P(class) under every part of the pool that counts."""
        (sums,) = ballots.sum(_sum_parts, self.pool, self.silence)
        return np.asarray(sums[self.pool.parts > COUNTED] / ballots.n_items)

    def is_upside_down(self, ballots: ItemBlocks, prior_odds: Floats) -> bool:  # noqa: ARG002
        """Return False: classes have names, and no two sides that could be swapped."""
        return False

    def turned(self) -> "ClassReading":
        """Return the reading itself: see `is_upside_down`."""
        return self

    def answering(self, ballots: ItemBlocks) -> "ClassReading":
        """Return the same reading with what it says of all items together."""
        if self.answers is not None:
            return self
        sums = ballots.sum(sum_classes, self.pool, self.silence)
        answers = describe_classes(sums, self.pool)
        if self.branches < LEAST_CLEAR:
            # nobody can be checked by two others: how good each is cannot be told
            unknown = np.full_like(answers.confusions, np.nan)
            answers = answers._replace(confusions=unknown)
            return replace(self, answers=answers, experts=np.zeros_like(self.experts))
        experts = find_class_experts(answers) & self.experts
        return replace(self, answers=answers, experts=experts)


def score_classes(ballots: Ballots, pool: ClassPool, silence: NDArray[np.int8]) -> Floats:
    """Return the pooled log-probabilities per item, with the prior odds. A pass."""
    pooled = mix(answer_each(ballots, pool, silence), pool)
    logs = np.log(np.maximum(pooled, MOST_CERTAIN))
    known = ballots.prior_odds
    return np.asarray(log_softmax(logs + (known if known.ndim == 2 else known[:, None]), axis=1))


def sum_classes(ballots: Ballots, pool: ClassPool, silence: NDArray[np.int8]) -> Sums:
    """Return what `ClassAnswers` and the checks need. A pass.

    Items and items with votes; per class P and P^2 over the latter, and labels over all; per part
    of the pool P(label), in the share with one more vote for all classes together; per voter votes
    by class, votes equal to the label, and all votes.
    """
    each = answer_each(ballots, pool, silence)
    pooled = mix(each, pool)
    labels = pooled.argmax(axis=1)
    read = keep_voters(ballots, pool.kept)
    heard, n_voters, n_classes = read.counts > 0, len(pool.family), pool.n_classes
    answers = read.answers
    same = np.bincount(read.voters[answers == labels[read.items]], minlength=n_voters)
    votes = np.bincount(read.voters, minlength=n_voters)
    by_class = [np.bincount(read.voters, pooled[read.items, k], n_voters) for k in range(n_classes)]
    chosen = np.arange(len(labels)), labels
    # with one more vote for each of many classes the share of few votes says nothing
    plain = share_branches(read, pool.family, n_classes, 1 / n_classes)
    return (
        np.array([len(labels), np.count_nonzero(heard), pooled[chosen].sum()]),
        np.stack([pooled[heard].sum(axis=0), (pooled[heard] ** 2).sum(axis=0)]),
        np.bincount(labels, minlength=n_classes).astype(np.float64),
        np.append(each[chosen[0], :-1, labels].sum(axis=0), plain[chosen].sum()),
        np.stack(by_class, axis=1),
        np.stack([same, votes]).astype(np.float64),
    )


def _sum_parts(ballots: Ballots, pool: ClassPool, silence: NDArray[np.int8]) -> Sums:
    """Return the sum of P(class) under every part of the pool. A pass."""
    return (answer_each(ballots, pool, silence).sum(axis=0),)


def describe_classes(sums: Sums, pool: ClassPool) -> ClassAnswers:
    """Return what the pool says of all items, of the sums of `sum_classes`."""
    (n_items, n_heard, sure), (total, squares), labels, chances, votes, _ = sums
    shares = np.clip(total / max(n_heard, 1), 1e-9, 1 - 1e-9)
    spread = np.maximum(squares - 2 * shares * total + n_heard * shares**2, 1e-9)
    bounds = [bound_share(float(s), float(v)) for s, v in zip(shares, spread, strict=True)]
    expected = np.append(chances[pool.parts > COUNTED], sure) / n_items
    return ClassAnswers(
        np.asarray(shares / shares.sum()),
        np.array(bounds).T,
        float(sure / n_items),
        (float(expected.min()), float(expected.max())),
        labels / n_items,
        pool.confusions,
        votes,
    )


def find_class_experts(answers: ClassAnswers) -> NDArray[np.bool_]:
    """Return who is clearly better than the crowd, by two standard errors of its accuracy."""
    right = np.einsum("skk->sk", answers.confusions) @ answers.shares
    votes = answers.votes.sum(axis=1)
    crowd = float(votes @ right) / max(float(votes.sum()), 1.0)
    errors = np.sqrt(right * (1 - right) / np.maximum(votes, 1))
    return np.asarray((votes > 0) & (right - crowd > SURE_ERRORS * errors))


def _expect_ease(ballots: Ballots, model: ClassConsensus, silence: NDArray[np.int8]) -> Floats:
    """Return E d per item; NaN without votes. A pass."""
    filled = fill_silence(ballots, code_silence(silence, model.n_classes))
    posterior = infer(filled._replace(prior_odds=np.zeros(ballots.n_items)), model.factors)
    ease = posterior.reshape(ballots.n_items, model.n_classes, -1).sum(axis=1) @ GRID
    return np.where(ballots.counts > 0, ease, np.nan)
