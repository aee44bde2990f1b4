"""All errors and warnings of unelisa.

::

    UnelisaError
    ├── VotesError (ValueError)        the votes cannot be read
    │   └── AmbiguousVotesError        the codes have two possible meanings: declare the coding
    ├── ModelError (ValueError)        a model, graph or parameter is invalid
    ├── RecordsError (ValueError)      health records cannot be read or counted
    └── MissingExtraError (ImportError)  an optional package is needed; the message names the extra
    UnelisaWarning (UserWarning)
    ├── VotesWarning                   the votes are usable, but some carry no information
    ├── ExpertsWarning                 no or too few experts: the labels rest on a fallback
    ├── ReliabilityWarning             the labels may be unreliable
    └── ConvergenceWarning             an iteration limit was reached; where scikit-learn is
                                       loaded, its filters take it for its own

Messages are one sentence: what was found, where, and what to do. They name voters (columns) and
row numbers, never items, votes or labels, because those may be patients.
"""

import sys
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

UNRELIABLE = "the labels cannot be relied on"


class Sentence(str):
    """A message that names a few voters; `voters` names all, if there are more."""

    __slots__ = ("voters",)
    voters: tuple[str, ...]

    def __new__(cls, text: str, voters: Iterable[str] = ()) -> Self:
        """Return the sentence."""
        message = super().__new__(cls, text)
        message.voters = tuple(voters)
        return message

    @classmethod
    def listing(cls, text: str, names: Sequence[str], most: int) -> Self:
        """Return a sentence with so many of the names in place of {}."""
        shown, more = ", ".join(names[:most]), len(names) - most
        filled = text.replace("{}", f"{shown} and {more} more" if more > 0 else shown)
        return cls(filled, names if more > 0 else ())


class Hint(NamedTuple):
    """A parameter that resolves an error: Python spells it one way, the command line another."""

    parameter: str
    value: Any
    when: str = ""

    def __str__(self) -> str:
        if isinstance(self.value, dict):  # several at once
            return ", ".join(f"{name}={value!r}" for name, value in self.value.items())
        return f"{self.parameter}={self.value!r} {self.when}".rstrip()


def join_hints(message: str, hints: Sequence[str]) -> str:
    """Return the sentence with what to pass: "...; pass --coding pm1, or --coding snorkel"."""
    return f"{message}; pass {', or '.join(hints)}" if hints else message


class _Hinted:
    """The sentence of an error or warning, with its parameters and further facts by name."""

    def __init__(self, message: str = "", *hints: Hint, **about: Any) -> None:
        text = join_hints(message, [str(hint) for hint in hints])
        super().__init__(text)  # type: ignore[call-arg]
        self.message, self.hints, self.about = message, hints, about


class UnelisaError(_Hinted, Exception):
    """Base class of all errors that unelisa raises."""


class VotesError(UnelisaError, ValueError):
    """The votes cannot be read."""


class AmbiguousVotesError(VotesError):
    """The codes have two possible meanings: the coding must be declared."""


class ModelError(UnelisaError, ValueError):
    """A model, graph or parameter is invalid."""


class RecordsError(UnelisaError, ValueError):
    """Health records cannot be read or counted."""


class MissingExtraError(UnelisaError, ImportError):
    """An optional package is missing; the message names the extra that installs it."""


def missing_extra(need: str, extra: str) -> MissingExtraError:
    """Return the error for a missing optional package, with the command that installs it."""
    return MissingExtraError(
        f'{need}: pip install "unelisa[{extra}]", or in a clone pip install ".[{extra}]"'
    )


class UnelisaWarning(_Hinted, UserWarning):
    """Base class of all warnings of unelisa."""


class VotesWarning(UnelisaWarning):
    """The votes are usable, but some carry no information."""


class ExpertsWarning(UnelisaWarning):
    """No or too few experts were found: the labels rest on a documented fallback."""


class ReliabilityWarning(UnelisaWarning):
    """The labels may be unreliable: `reliable_` is False, or a note says why."""


class ConvergenceWarning(UnelisaWarning):
    """An iteration limit was reached before the tolerance."""


def warn_user(message: str, category: type[UnelisaWarning], *hints: Hint) -> None:
    """Emit a warning that points to the line outside the package that called it."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] == "unelisa":
        frame, level = frame.f_back, level + 1
    if category is ConvergenceWarning and "sklearn.exceptions" in sys.modules:
        category = __getattr__("_SharedWarning")
    warnings.warn(category(message, *hints), stacklevel=level)


def warn_if_unreliable(model: Any) -> None:
    """Warn where the labels of a fit cannot be relied on; older model files do not say."""
    if not getattr(model, "reliable_", True):
        warn_user(f"{UNRELIABLE}: {model.reliability_reason_}", ReliabilityWarning)


def __getattr__(name: str) -> Any:
    """Return `_SharedWarning`, made on demand: it is scikit-learn's `ConvergenceWarning` too."""
    if name != "_SharedWarning":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name not in globals():
        from sklearn.exceptions import ConvergenceWarning as Theirs  # noqa: PLC0415

        globals()[name] = type(name, (ConvergenceWarning, Theirs), {"__module__": __name__})
    return globals()[name]


def replay_warnings(caught: Iterable[warnings.WarningMessage]) -> None:
    """Emit recorded warnings again, where they were first emitted."""
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
