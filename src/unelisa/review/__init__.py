"""The review: a local page on which people label the few items that settle the rest.

::

    votes and model, or charts (pools.py) -> the next item (order.py, session.py, agreement.py)
        -> a page for one person (server.py, guard.py, contents.py, pictures.py)
        -> one row per answer on disk (gold_file.py) -> the progress of the review (pools.py)
"""
