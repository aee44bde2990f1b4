import pytest

from studies import fingerprints
from studies.fingerprints import (
    common_code,
    drop_stale,
    hash_code,
    hash_data,
    is_stale,
    root_of,
    stamp_with,
)
from unelisa.aggregators import AGGREGATORS, DawidSkene, LatentIsing, MajorityVote
from unelisa.sources.labels import KnownLabels

KERNEL = """
from toy.numbers import HALF, OTHER


def halve(x):
    \"\"\"Return a half.\"\"\"
    if x is None:
        raise ValueError("there is no x")
    return HALF * x  # of x


def unused(x):
    return OTHER * x
"""
NUMBERS = "HALF = 0.5\nOTHER = 3\n"


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Two modules; returns how they are written and `halve` is hashed."""
    monkeypatch.setitem(fingerprints._PLACES, "toy", tmp_path)
    (tmp_path / "toy").mkdir()

    def write(kernel=KERNEL, numbers=NUMBERS):
        (tmp_path / "toy" / "kernel.py").write_text(kernel)
        (tmp_path / "toy" / "numbers.py").write_text(numbers)
        for cached in (fingerprints.hash_code, fingerprints._read_module):
            cached.cache_clear()
        return hash_code("toy.kernel:halve")

    yield write
    fingerprints.hash_code.cache_clear()
    fingerprints._read_module.cache_clear()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Return a half.", "Return x / 2."),
        ("# of x", "# a comment"),
        ("there is no x", "x is missing: give one"),
        ("def halve(x):", "def halve(x: float) -> float:"),
        ("OTHER * x", "OTHER + x"),
    ],
)
def test_words_annotations_and_other_functions_do_not_count(repository, old, new):
    assert old in KERNEL
    assert repository(KERNEL.replace(old, new)) == repository()


@pytest.mark.parametrize(("old", "new"), [("HALF * x", "HALF + x"), ("is None", "== 0")])
def test_code_counts(repository, old, new):
    assert repository(KERNEL.replace(old, new)) != repository()


def test_what_is_imported_counts_wherever_it_stands(repository):
    before = repository()
    assert repository(numbers=NUMBERS.replace("0.5", "0.25")) != before
    assert repository(numbers=NUMBERS.replace("3", "4")) == before
    moved = KERNEL.replace("from toy.numbers import HALF, OTHER", "HALF = 0.5\nOTHER = 3")
    assert repository(moved) == before
    by_module = KERNEL.replace("HALF * x", "numbers.HALF * x")
    by_module = by_module.replace("from toy.numbers import HALF, OTHER", "from toy import numbers")
    ahead = repository(by_module, NUMBERS)
    assert repository(by_module, NUMBERS.replace("0.5", "0.25")) != ahead
    assert repository(by_module, NUMBERS.replace("3", "4")) == ahead


def test_every_method_has_its_own_code():
    codes = {name: hash_code(root_of(cls)) for name, cls in AGGREGATORS.items()}
    assert len(set(codes.values())) == len(AGGREGATORS)
    with pytest.raises(LookupError, match="no 'missing'"):
        hash_code("unelisa.aggregators.majority:missing")


def test_a_method_depends_on_its_kernels_and_not_on_the_report():
    def reach(cls):
        found, waiting = set(), [(cls.__module__, cls.__name__)]
        while waiting:
            here = waiting.pop()
            if here not in found:
                found.add(here)
                waiting += fingerprints._follow(*here)
        return {module for module, name in found if fingerprints._define(module, name)}

    ours, plain = reach(LatentIsing), reach(MajorityVote)
    assert {
        "unelisa.latent.prior",
        "unelisa.kernels.consensus",
        "unelisa.votes.blocks",
    } <= ours
    assert "unelisa.latent.prior" not in plain | reach(DawidSkene)
    assert not any(module.startswith(("unelisa.report", "unelisa.cli")) for module in ours)


def test_rows_of_other_code_are_stale():
    stamp = stamp_with(root_of(MajorityVote))
    fresh, other = {"code": stamp({})}, {"code": "of other code"}
    assert [is_stale(row, stamp) for row in (fresh, other, {})] == [False, True, True]
    assert drop_stale([fresh, other], stamp) == [fresh]
    assert not is_stale({}, lambda _: None)  # computed elsewhere
    assert common_code([fresh, fresh]) == stamp({})
    assert common_code([fresh, other]) is None


def test_other_votes_or_labels_are_other_data(known):
    votes, signs = known.votes, known.signs
    fewer = KnownLabels(votes, -signs, known.unvoted_items, known.unvoted_signs)
    assert hash_data(fewer) != hash_data(known)
    one = KnownLabels(votes.take_items([0]), signs[:1], known.unvoted_items, known.unvoted_signs)
    assert hash_data(one) not in {hash_data(known), hash_data(fewer)}
