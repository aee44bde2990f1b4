"""Methods by the names a person types."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from unelisa.aggregators import AGGREGATORS, Aggregator
from unelisa.comparison import build_aggregator
from unelisa.errors import ModelError

DEFAULT_METHOD = "latent-ising"


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


def build_method(
    name: str, seed: int, jobs: int, orient: str | None = None, settings: Sequence[str] = ()
) -> Aggregator:
    """Return an unfitted method with the options it knows."""
    method = find_method(name)
    model = build_aggregator(method, random_state=seed, n_jobs=jobs)
    if orient is not None:
        if "orient" not in model.get_params():
            raise ModelError(f"{method} has no sides to settle; leave --orient away")
        model.set_params(orient=orient)
    for setting in settings:
        model.set_params(**_read_setting(setting, method, list(model.get_params())))
    return model


def _read_setting(setting: str, method: str, known: list[str]) -> dict[str, Any]:
    """Return {name: value} of a text name=value."""
    name, equals, text = (part.strip() for part in setting.partition("="))
    if not equals or name not in known:
        listed = ", ".join(known) or "none"
        raise ModelError(f"--set takes name=value with a setting of {method}: {listed}")
    if text.lower() in ("true", "false"):
        return {name: text.lower() == "true"}
    for number in (int, float):
        with suppress(ValueError):
            return {name: number(text)}
    return {name: text}


def _fold(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter not in "-_ ")
