"""The review: a local page on which people label the few items that settle the rest.

::

    votes and model, or charts, in some order (pools.py) -> the next item (session.py)
        -> a page for one person (server.py, contents.py, pictures.py)
        -> one row per answer on disk (gold_file.py) -> the progress of the review (pools.py)
"""
