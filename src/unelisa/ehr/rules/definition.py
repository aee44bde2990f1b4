"""Rules as text: counts and thresholds, combined by and, or, not, and "2 of (...)".

    rule       = any;  any = all {"or" all};  all = part {"and" part}
    part       = "not" part | "(" any ")" | number "of" "(" any {"," any} ")" | comparison
    comparison = feature [(">=" | ">" | "<=" | "<" | "=") number]

A feature is written as the column of its counts, in quotes if it has "and", "or", "not", "of" as a
word, or a parenthesis, comma or comparison; alone it means that it occurs at all.
"""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.ehr.counts import CountTable
from unelisa.errors import ModelError

Flags = NDArray[np.bool_]
SIGNS = {">=": np.greater_equal, ">": np.greater, "<=": np.less_equal, "<": np.less, "=": np.equal}
_TOKEN = re.compile(
    r"""\s*(?: (?P<mark> >=|<=|>|<|={1,2}|[(),])
          | "(?P<quoted>[^"]+)"
          | (?P<word> (?:and|or|not|of)\b(?!:))
          | (?P<text> (?: (?! \s+(?:and|or|of)\b | [<>=(),"] ) . )+ ) )\s*""",
    re.VERBOSE,
)
DEEPEST = 50  # parentheses or negations inside each other
LONGEST = 10_000  # characters


class Rule(NamedTuple):
    """At least `least` of the parts hold: conditions, or rules; `negated` if not."""

    least: int
    parts: tuple["Rule | Condition", ...]
    negated: bool = False

    def holds(self, table: CountTable) -> Flags:
        """Return whether it holds, per patient."""
        found = np.sum([part.holds(table) for part in self.parts], axis=0) >= self.least
        return np.asarray(~found if self.negated else found)

    def list_features(self) -> list[str]:
        """Return the features that it reads, each once."""
        return list(dict.fromkeys(name for part in self.parts for name in part.list_features()))

    def rename(self, name: Callable[[str], str]) -> "Rule":
        """Return the rule with its features renamed."""
        return self._replace(parts=tuple(part.rename(name) for part in self.parts))


class Condition(NamedTuple):
    """A count compared with a number."""

    feature: str
    sign: str
    number: float

    def holds(self, table: CountTable) -> Flags:
        """Return whether it holds, per patient."""
        place = table.find([self.feature], "part of a rule")[0]
        return np.asarray(SIGNS[self.sign](table.values[:, place], self.number))

    def list_features(self) -> list[str]:
        """Return the feature."""
        return [self.feature]

    def rename(self, name: Callable[[str], str]) -> "Condition":
        """Return the condition with its feature renamed."""
        return self._replace(feature=name(self.feature))


def parse_rule(text: str) -> Rule:
    """Return the rule that a text defines."""
    if len(text) > LONGEST:
        raise ModelError(f"a rule has more than {LONGEST:,} characters; write it more simply")
    reader = _Reader(text)
    rule = reader.read()
    if reader.token is not None:
        raise reader.complain("an end, 'and' or 'or'")
    return rule if isinstance(rule, Rule) else Rule(1, (rule,))


def apply_rules(rules: Mapping[str, Rule], table: CountTable) -> Flags:
    """Return whether each rule holds: patients x rules."""
    return np.column_stack([rule.holds(table) for rule in rules.values()])


class _Reader:
    """Reads one rule, token by token; each token is (kind, text)."""

    def __init__(self, text: str) -> None:
        self._text, self._start, self._place, self._depth = text, 0, 0, 0
        self.token: tuple[str, str] | None = None
        self.advance()

    def advance(self) -> None:
        """Go to the next token; None at the end."""
        found = _TOKEN.match(self._text, self._place)
        if found is None or found.end() == self._place:
            if self._text[self._place :].strip():
                raise self.complain("a feature")
            self.token = None
            return
        self._start, self._place = found.start(), found.end()
        kind = str(found.lastgroup)
        self.token = (kind, found[kind].strip())

    def complain(self, wanted: str) -> ModelError:
        rest = self._text[self._start :].strip()[:40]
        found = "its end" if self.token is None else repr(rest)
        return ModelError(
            f"the rule {self._text[:60]!r} cannot be read: {wanted} was expected, found {found}; "
            'write it like ICD:714.0 >= 2 and (NLP:joint pain or "NLP:nausea and vomiting")'
        )

    def read(self, joined: str = "or") -> Rule | Condition:
        """Read parts joined by "or", each of which is parts joined by "and"."""
        parts: list[Rule | Condition] = []
        while not parts or self.token == ("word", joined):
            if parts:
                self.advance()
            parts.append(self.read("and") if joined == "or" else self._read_part())
        if len(parts) == 1:
            return parts[0]
        return Rule(1 if joined == "or" else len(parts), tuple(parts))

    def _read_part(self) -> Rule | Condition:
        if self.token == ("word", "not"):
            self._deepen()
            self.advance()
            found = Rule(1, (self._read_part(),), negated=True)
            self._depth -= 1
            return found
        if self.token == ("mark", "("):
            return self._read_list(several=False)[0]
        if self.token is None or self.token[0] not in {"text", "quoted"}:
            raise self.complain("a feature")
        kind, name = self.token
        self.advance()
        if kind == "text" and name.isdecimal() and self.token == ("word", "of"):
            self.advance()
            parts = self._read_list()
            if not 1 <= float(name) <= len(parts):
                raise self.complain(f"a number from 1 to {len(parts)} before 'of'")
            return Rule(int(name), tuple(parts))
        return self._read_comparison(name)

    def _read_list(self, *, several: bool = True) -> list[Rule | Condition]:
        self._deepen()
        parts: list[Rule | Condition] = []
        while not parts or (several and self.token == ("mark", ",")):
            self._expect("," if parts else "(")
            parts.append(self.read())
        self._expect(")")
        self._depth -= 1
        return parts

    def _deepen(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise ModelError(f"a rule is nested more than {DEEPEST} times; write it more simply")

    def _expect(self, mark: str) -> None:
        if self.token != ("mark", mark):
            raise self.complain(repr(mark))
        self.advance()

    def _read_comparison(self, feature: str) -> Condition:
        sign = self.token[1].replace("==", "=") if self.token is not None else ""
        if sign not in SIGNS:
            return Condition(feature, ">=", 1.0)
        self.advance()
        number = self.token[1] if self.token is not None else ""
        if not re.fullmatch(r"\d+(\.\d*)?", number):
            raise self.complain(f"a number after {sign}")
        self.advance()
        return Condition(feature, sign, float(number))
