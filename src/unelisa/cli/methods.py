"""Methods by the names a person types."""

from unelisa.aggregators import AGGREGATORS, Aggregator
from unelisa.errors import ModelError
from unelisa.study.comparison import build_aggregator

DEFAULT_METHOD = "unelisa"


def find_method(name: str) -> str:
    """Return the registered name of a method, given that or its class's name in any case.

    Examples
    --------
    >>> find_method("MajorityVote"), find_method("majority_vote")
    ('majority-vote', 'majority-vote')
    """
    for registered, cls in AGGREGATORS.items():
        if _fold(name) in (_fold(registered), _fold(cls.__name__)):
            return registered
    raise ModelError(f"there is no method {name[:60]!r}; choose {', '.join(AGGREGATORS)}")


def find_methods(names: str | None) -> list[str]:
    """Return the registered names of a comma-separated list, each once; all of them for None."""
    if names is None:
        return list(AGGREGATORS)
    return list(dict.fromkeys(find_method(name) for name in names.split(",")))


def build_method(name: str, seed: int, jobs: int, orient: str | None = None) -> Aggregator:
    """Return an unfitted method with the options it knows."""
    method = find_method(name)
    model = build_aggregator(method, random_state=seed, n_jobs=jobs)
    if orient is not None:
        if "orient" not in model.get_params():
            raise ModelError(f"{method} has no sides to settle; leave --orient away")
        model.set_params(orient=orient)
    return model


def _fold(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter not in "-_ ")
