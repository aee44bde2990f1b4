"""Sentences written for Python, in the spelling of the command line."""

import re
from re import Match

_PAIR = re.compile(r"coding=\(([^()]*)\)")
_COLUMN = re.compile(r"\b(coding|item|voter|vote)='([^']*)'")
_SETTING = re.compile(r"\bset (\w+)=(\w+)")


def spell_options(sentence: str) -> str:
    """Return the sentence with options where it names Python's parameters.

    Examples
    --------
    >>> spell_options("if it names the items, say so: item='mrn'")
    'if it names the items, say so: --item mrn'
    >>> spell_options("declare the coding, for example coding=('no', 'yes')")
    'declare the coding, for example --labels no,yes'
    >>> spell_options("voters lean to one side: set fit_intercept=True")
    'voters lean to one side: --set fit_intercept=true'
    """
    sentence = _PAIR.sub(_labels, sentence)
    sentence = _COLUMN.sub(_column, sentence)
    return _SETTING.sub(lambda found: f"--set {found[1]}={found[2].lower()}", sentence)


def _labels(found: Match[str]) -> str:
    pair = (label.strip().strip("'") for label in found[1].split(","))
    return f"--labels {','.join(pair)}"


def _column(found: Match[str]) -> str:
    name = f"'{found[2]}'" if " " in found[2] else found[2]
    return f"--{found[1]} {name}"
