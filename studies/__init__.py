"""The evidence behind unelisa: the paper's experiments, real votes, health records, docs pages.

Lives beside the package in a clone and is never shipped with it. `unelisa reproduce` runs it.
"""
