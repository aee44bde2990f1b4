import numpy as np
import pytest

from unelisa.blocks import SparseVotes, WholeTable, blocks_of, in_memory
from unelisa.blocks.mapped import MappedBlocks
from unelisa.errors import VotesError

VOTES = np.array([[1, -1], [0, 1], [1, 1]], dtype=np.int8, order="F")
SPARSE = SparseVotes.of(VOTES)


@pytest.mark.parametrize("votes", [VOTES, SPARSE], ids=["table", "sparse"])
def test_a_pass_sees_all_items_at_once(votes):
    table = WholeTable(votes)
    x, seen = np.arange(3.0), []

    def look(block, per_item, factor):
        seen.append(block)
        return (factor * per_item,)

    assert table.sum(look, 2.0, per_item=(x,), n_threads=4)[0].tolist() == [0.0, 2.0, 4.0]
    assert table.concatenate(look, 3.0, per_item=(x,))[0].tolist() == [0.0, 3.0, 6.0]
    assert all(block.votes is votes and block.start == 0 for block in [*seen, *table])
    assert len(seen) == 2


@pytest.mark.parametrize("votes", [VOTES, SPARSE], ids=["table", "sparse"])
def test_some_items_are_a_table_of_voters_in_runs(votes):
    taken = WholeTable(votes).take(np.array([0, 2]))
    assert taken.tolist() == [[1, -1], [1, 1]]
    assert taken.flags.f_contiguous


def test_a_table_is_whole_and_in_memory():
    table = WholeTable(VOTES)
    assert (table.shape, table.place, table.whole) == ((3, 2), "in memory", True)


def test_who_needs_a_table_gets_it_or_says_why_not(tmp_path):
    assert in_memory(VOTES, "glad") is VOTES
    elsewhere = MappedBlocks(tmp_path / "votes.int8", 3, 2, 3)
    for held, words in ((elsewhere, "in a file"), (SPARSE, "sparse")):
        with pytest.raises(VotesError, match=f"these votes are {words}, and glad needs all"):
            in_memory(held, "glad")


def test_blocks_stay_what_they_are_and_a_table_becomes_one():
    table = WholeTable(VOTES)
    assert blocks_of(table) is table
    for votes in (VOTES, SPARSE):
        assert blocks_of(votes).votes is votes
