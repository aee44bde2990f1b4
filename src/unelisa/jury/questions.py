"""The question that annotators answered, where a project asks several."""

from unelisa.errors import Hint, VotesError


class Question:
    """The one question whose answers are read: as declared, or the only one that occurs."""

    def __init__(self, declared: str | None) -> None:
        self._declared, self._met = declared, declared

    def includes(self, name: object) -> bool:
        """Return whether answers to a question are wanted; raise an error at a second one."""
        if self._declared is None and self._met is None:
            self._met = str(name)
        if self._declared is None and str(name) != self._met:
            raise VotesError(
                "annotators answered more than one question; declare which one to read",
                *(Hint("question", asked[:60]) for asked in (str(self._met), str(name))),
            )
        return str(name) == self._met
