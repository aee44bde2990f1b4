import json
import tracemalloc

import numpy as np
import pytest

from unelisa.aggregators import AGGREGATORS
from unelisa.errors import ModelError, VotesError
from unelisa.memory import LEAST, limit_memory, memory_limit, read_size, refuse_beyond, weigh_json
from unelisa.votes import Votes


def test_sizes_are_read_and_the_nearest_limit_counts(monkeypatch):
    assert read_size("2.5GB") == 2_500_000_000
    assert read_size(" 10 kb ") == 10_000
    for nonsense in ("much", "-3MB", "0", "5 apples"):
        with pytest.raises(VotesError, match="500MB"):
            read_size(nonsense)
    monkeypatch.delenv("UNELISA_MEMORY", raising=False)
    assert memory_limit() == 10**9
    monkeypatch.setenv("UNELISA_MEMORY", "3GB")
    assert memory_limit() == 3 * 10**9
    with limit_memory("2GB"):
        with limit_memory(None):
            assert memory_limit() == 2 * 10**9
        with limit_memory(5):
            assert memory_limit() == 5
        assert memory_limit() == 2 * 10**9
    assert memory_limit() == 3 * 10**9


@pytest.mark.filterwarnings("ignore::unelisa.errors.VotesWarning")
@pytest.mark.parametrize("method", ["unelisa", "spectral-meta-learner"])
def test_pairs_of_more_voters_than_a_machine_holds_are_refused_in_a_sentence(method):
    votes = np.random.default_rng(0).choice(np.array([-1, 1], dtype=np.int8), (3, 300_000))
    with pytest.raises(ModelError, match=r"pairs of voters, and those of \d{3},\d{3} need about"):
        AGGREGATORS[method]().fit(Votes.of(votes))


def test_what_needs_more_is_refused_with_what_to_do():
    with limit_memory("2GB"):
        refuse_beyond(2 * 10**9, "votes.csv")
        with pytest.raises(
            ModelError, match=r"a\.npz needs about 2\.1 GB .* limit of 2\.0 GB; raise"
        ):
            refuse_beyond(2_100_000_000, "a.npz", ModelError)
    with limit_memory(1):
        refuse_beyond(LEAST, "votes.csv")
        with pytest.raises(VotesError, match="UNELISA_MEMORY"):
            refuse_beyond(LEAST + 1, "votes.csv")


@pytest.mark.parametrize(
    "one",
    ["[]", "{}", "[" * 500 + "]" * 500, '{"":' * 500 + "1" + "}" * 500, "[1]", '{"a":999}', "999",
     "1e1", '"ab"', '"\u0101"', '"\\u0101"', f'"{"a" * 5000}\U0001f600"', r'"\\\\"',
     f'"{"a" * 5000}\\ud83d\\ude00"', '{"a":{"b":[{"c":1.5,"d":"some text"},[null,true]]}}'],
    ids=lambda text: text[:12],
)  # fmt: skip
@pytest.mark.parametrize("keyed", [False, True], ids=["list", "record"])
def test_json_takes_no_more_than_its_marks_say(one, keyed):
    """Lists in lists take 48 times their text; text alone 2 to 10 times."""
    times = max(200_000 // len(one), 2)
    parts = (f'"{k:x}":{one}' if keyed else one for k in range(times))
    content = f"{'{' if keyed else '['}{','.join(parts)}{'}' if keyed else ']'}".encode()
    assert weigh_json(content) > 3 * len(content)
    tracemalloc.start()
    try:
        json.loads(bytes(content))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= weigh_json(content) <= 6 * peak
    assert weigh_json(content) >= weigh_json(content.decode())
