"""One class against the rest: a method of two classes, once for every class."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit, logsumexp

from unelisa.aggregators.base import Aggregator, Floats, map_chances
from unelisa.base import available_if, clone
from unelisa.errors import UNRELIABLE, ModelError, UnelisaWarning, VotesWarning, warn_user
from unelisa.estimator import Takes
from unelisa.progress import each
from unelisa.schema import stored
from unelisa.votes import Votes
from unelisa.votes.coding import encode_classes

NEVER = -1e3  # log-odds of a class that nobody voted


def _gives_chances(model: Any) -> bool:
    return hasattr(model.estimator, "predict_proba")


@stored(
    estimator="unfitted | Aggregator",
    classes_="label[all]",
    voted_="index(all)[fits]",
    models_="many(fits) Aggregator",
)
class OneVsRest(Aggregator):
    """Any method for more than two classes: one fit per class, that class against all others.

    Where the method gives probabilities P_k that class k is the truth, they are normalized, and the
    score of a class is log P_k / (P_1 + ... + P_K); otherwise it is the method's own score. With
    two classes it is the method itself.

    Which classes a voter confuses is lost; `DawidSkene` and `LatentIsing` model it themselves.

    Parameters
    ----------
    estimator
        An aggregator such as ``UnElisa()``; it is cloned, not fitted.

    Attributes
    ----------
    models_
        The fitted methods, one per class that anybody voted; one alone for two classes.
    voted_
        The indices of these classes in `classes_`; other classes are never predicted.
    weights_
        The mean of the methods' weights.

    Examples
    --------
    >>> import unelisa as ue
    >>> votes = [["cat", "cat", "owl"], ["dog", "cat", "dog"], ["owl", "owl", "owl"]]
    >>> ue.OneVsRest(ue.MajorityVote()).fit_predict(votes)
    array(['cat', 'dog', 'owl'], dtype='<U3')
    """

    takes = Takes(any_class=True, gold="side")
    models_: list[Aggregator]
    voted_: NDArray[np.int64]

    def __init__(self, estimator: Aggregator) -> None:
        self.estimator = estimator

    @available_if(_gives_chances)
    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of every class per item of X, in the order of `classes_`."""
        return map_chances(self.decision_function(X))

    def _learn(self, votes: Votes, gold: NDArray[np.int8] | None, _prior: Floats | None) -> None:
        if not isinstance(self.estimator, Aggregator):
            raise ModelError(
                "estimator must be an aggregator such as UnElisa(), found a "
                f"{type(self.estimator).__name__}"
            )
        self.voted_ = np.flatnonzero(votes.answers.sum(axis=1)).astype(np.int64)
        if votes.n_classes == 2:
            self.voted_ = np.array([1])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UnelisaWarning)
            self.models_ = [self._fit_class(votes, gold, k) for k in each(self.voted_.tolist())]
        self.weights_ = np.mean([model.weights_ for model in self.models_], axis=0)
        _pass_on(caught)

    def _fit_class(self, votes: Votes, gold: NDArray[np.int8] | None, k: int) -> Aggregator:
        two = _set_apart(votes, k)
        model = clone(self.estimator)
        if gold is None:
            return model.fit(two)
        code = encode_classes(votes.n_classes)[k]
        signs = np.where(gold == 0, 0, np.where(gold == code, 1, -1)).astype(np.int8)
        return model.fit(two, two.name_codes(signs))

    def _score(self, votes: Votes) -> Floats:
        pairs = zip(self.models_, self.voted_.tolist(), strict=True)
        found = [model.decision_function(_set_apart(votes, k)) for model, k in pairs]
        if votes.n_classes == 2:
            return found[0]
        scores = np.full((votes.n_items, votes.n_classes), NEVER)
        scores[:, self.voted_] = np.column_stack(found)
        if not _gives_chances(self):
            return scores
        logs = log_expit(scores)
        return np.asarray(logs - logsumexp(logs, axis=1, keepdims=True))


def _pass_on(caught: list[warnings.WarningMessage]) -> None:
    """Give the warnings of the fits once, and the first of those about their labels."""
    # that a voter never says a class is no fault of the votes
    kept = [one for one in caught if not issubclass(one.category, VotesWarning)]
    messages = {str(one.message): one.category for one in kept}
    doubts = [message for message in messages if message.startswith(UNRELIABLE)]
    for message, category in messages.items():
        if message not in doubts[1:] and issubclass(category, UnelisaWarning):
            more = (
                f" ({len(doubts)} fits of one class against the rest, of which this is the first)"
            )
            warn_user(message + more * (len(doubts) > 1 and message == doubts[0]), category)


def _set_apart(votes: Votes, k: int) -> Votes:
    return votes if votes.n_classes == 2 else votes.one_against_rest(k)
