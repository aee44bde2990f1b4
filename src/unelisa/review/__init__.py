"""The review: a local page on which people label the few items that settle the rest.

::

    votes and model, or charts (pools.py) -> which item comes next (order.py, session.py)
        -> a page for one person (server.py, guard.py, contents.py) -> one row per answer on disk
        (gold_file.py) -> where the review stands (standing.py, agreement.py)
"""
