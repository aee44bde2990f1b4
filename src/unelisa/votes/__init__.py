"""Votes: what voters said of items, the one gate through which votes enter, and where they live.

`Votes.of` takes tables, frames, arrays and Dask collections; assembly.py and coding.py turn them
into codes, and refuse what could be read in two ways. Everything inside relies on that: items x
voters, int8, -1 / +1 / 0 for two classes and 1, 2, ... for more. blocks/ is where votes live
(memory, file, sparse, Dask), ballots.py how models read them, votes.py their class.
"""

from unelisa.votes.votes import Votes, as_matrix, join_votes, name_unvoted, order_voters

__all__ = ["Votes", "as_matrix", "join_votes", "name_unvoted", "order_voters"]
