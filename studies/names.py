"""Names in a comma-separated list, as commands take them."""

from collections.abc import Iterable

from unelisa.errors import ModelError


def pick_names(listed: str | None, known: Iterable[str], refusal: str) -> tuple[str, ...]:
    """Return the names in a list, each once and in the order of those known; all for None.

    Examples
    --------
    >>> pick_names("c, a", ("a", "b", "c"), "there is no")
    ('a', 'c')
    """
    names = tuple(known)
    wanted = names if listed is None else tuple(name.strip() for name in listed.split(","))
    for name in wanted:
        if name not in names:
            raise ModelError(f"{refusal} {name[:60]!r}; choose from {', '.join(names)}")
    return tuple(name for name in names if name in wanted)
