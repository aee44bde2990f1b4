"""Small files as the programs write them, and votes spelled out."""

from collections.abc import Callable
from pathlib import Path

import pytest

from unelisa.jury import read_jury

FIXTURES = Path(__file__).parent / "fixtures"
SECRET = "Xylophon7"  # noqa: S105 - stands for the text of an item


def spell(jury):
    """What every judge said: {(item, judge): label}."""
    labels = jury.name_codes(jury.values)
    return {
        (str(item), str(judge)): labels[i, s]
        for i, item in enumerate(jury.items)
        for s, judge in enumerate(jury.voters)
        if labels[i, s] is not None
    }


@pytest.fixture
def logs() -> Path:
    """The folder of the examples."""
    return FIXTURES


@pytest.fixture
def said() -> Callable[..., dict]:
    """Read a file or text and spell the votes."""

    def call(path, **settings):
        return spell(read_jury(path, **settings))

    return call


@pytest.fixture
def refuse(tmp_path) -> Callable[..., str]:
    """Write text or bytes as a file, expect one sentence that quotes no item, and return it."""

    def call(content, name="log.json", **settings):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(ValueError) as caught:  # noqa: PT011 - the caller looks at the message
            read_jury(path, **settings)
        told = str(caught.value)
        assert type(caught.value).__module__ == "unelisa.errors"
        assert "\n" not in told
        assert SECRET not in told
        return told

    return call
