"""Everything unelisa raises or warns of.

::

    UnelisaError
    ├── VotesError (ValueError)        the votes cannot be read as votes
    │   └── AmbiguousVotesError        the codes can be read two ways: declare the coding
    ├── ModelError (ValueError)        a model, graph or setting contradicts itself
    ├── RecordsError (ValueError)      health records cannot be read or counted
    └── MissingExtraError (ImportError)  an optional package is needed; the message names the extra
    UnelisaWarning (UserWarning)
    ├── VotesWarning                   the votes are usable, but some of them say nothing
    ├── ExpertsWarning                 no or too few experts: the labels rest on a fallback
    └── ConvergenceWarning (scikit-learn's)  an iteration limit was reached

Messages are one sentence: what was found, where, and what to do. They name voters (columns) and
row numbers, never items, votes or labels, because those may be patients.
"""

import sys
import warnings

from sklearn.exceptions import ConvergenceWarning as _SklearnConvergenceWarning


class UnelisaError(Exception):
    """Base of every error that unelisa raises on purpose."""


class VotesError(UnelisaError, ValueError):
    """The votes cannot be read as votes."""


class AmbiguousVotesError(VotesError):
    """The codes can be read two ways: the coding must be declared."""


class ModelError(UnelisaError, ValueError):
    """A model, graph or setting contradicts itself."""


class RecordsError(UnelisaError, ValueError):
    """Health records cannot be read, or cannot be counted as asked."""


class MissingExtraError(UnelisaError, ImportError):
    """An optional package is missing; the message names the extra that brings it."""


def missing_extra(need: str, extra: str) -> MissingExtraError:
    """Return the error that says what is needed, and how an extra of this package brings it.

    Examples
    --------
    >>> print(missing_extra("reports need jinja2", "report"))
    reports need jinja2: pip install "unelisa[report]", or in a clone pip install ".[report]"
    """
    return MissingExtraError(
        f'{need}: pip install "unelisa[{extra}]", or in a clone pip install ".[{extra}]"'
    )


class UnelisaWarning(UserWarning):
    """Base of every warning that unelisa gives."""


class VotesWarning(UnelisaWarning):
    """The votes are usable, but some of them say nothing."""


class ExpertsWarning(UnelisaWarning):
    """No or too few experts were found: the labels rest on a stated fallback."""


class ConvergenceWarning(UnelisaWarning, _SklearnConvergenceWarning):  # type: ignore[misc]
    """An iteration limit was reached before the stated tolerance."""


def warn_user(message: str, category: type[Warning]) -> None:
    """Give a warning that points to the line outside the package whose call led to it."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _is_ours(str(frame.f_globals.get("__name__"))):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _is_ours(module: str) -> bool:
    return module == "unelisa" or module.startswith("unelisa.")
