"""The file's layout, byte for byte, and blocks that end where the kernels' chunks do."""

import numpy as np
import pytest

from unelisa.kernels.l1_logistic import CHUNK
from unelisa.votes.blocks import BLOCK_BYTES, MappedBlocks, fitting_items


@pytest.fixture
def mapped(tmp_path):
    """Five items of two voters in blocks of two: within a block one voter after the other."""
    file = tmp_path / "votes.int8"
    file.write_bytes(np.array([1, -1, 0, 1, 1, 1, -1, -1, 0, 1], dtype=np.int8).tobytes())
    return MappedBlocks(file, 5, 2, 2)


def test_a_block_is_a_run_of_bytes_with_one_voter_after_the_other(mapped):
    found = [(block.start, block.votes.tolist()) for block in mapped]
    assert found == [(0, [[1, 0], [-1, 1]]), (2, [[1, -1], [1, -1]]), (4, [[0, 1]])]
    assert all(block.votes.flags.f_contiguous for block in mapped)


def test_nobody_can_write_into_the_file(mapped):
    with pytest.raises(ValueError, match="read-only"):
        mapped.open(0).votes[0, 0] = 1


def test_what_a_place_in_a_file_tells_of_itself(mapped):
    assert (mapped.shape, mapped.place, mapped.whole) == ((5, 2), "in a file", False)


def test_a_file_without_items_has_no_blocks(tmp_path):
    (tmp_path / "none.int8").write_bytes(b"")
    held = MappedBlocks(tmp_path / "none.int8", 0, 2, 4)
    assert (list(held), held.take(np.array([], dtype=np.intp)).shape) == ([], (0, 2))


@pytest.mark.parametrize("n_voters", [1, 50, 1400, 8191, 8192, 8193, 10**6])
def test_a_block_is_as_large_as_it_may_be_in_whole_chunks(n_voters):
    items = fitting_items(n_voters)
    assert items % CHUNK == 0
    assert items * n_voters <= BLOCK_BYTES or items == CHUNK
    step = 8192 if items >= 8192 else CHUNK
    assert items % step == 0
    assert (items + step) * n_voters > BLOCK_BYTES


def test_without_voters_a_block_still_has_items():
    assert fitting_items(0, 1) == CHUNK
    assert fitting_items(0) == BLOCK_BYTES
