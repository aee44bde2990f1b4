"""Small reviews: a crowd on a few items, and a session on it."""

import http.client
import json
import threading
from contextlib import contextmanager
from functools import cache

import numpy as np

from unelisa.aggregators import LatentIsing
from unelisa.review.contents import Contents
from unelisa.review.gold_file import open_gold
from unelisa.review.pools import VotesPool
from unelisa.review.server import KEY, ReviewServer
from unelisa.review.session import Session
from unelisa.votes import Votes

N_ITEMS = 80
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (3).to_bytes(4, "big") + (2).to_bytes(4, "big")


@cache
def small_crowd():
    """Seven independent voters on eighty items, the truth and a fitted model."""
    rng = np.random.default_rng(0)
    truth = rng.choice(np.array([-1, 1], dtype=np.int8), N_ITEMS)
    accuracy = np.array([0.9, 0.85, 0.8, 0.8, 0.75, 0.7, 0.7])
    said = np.where(rng.random((N_ITEMS, 7)) < accuracy, truth[:, None], -truth[:, None])
    names = np.array([f"item {i}" for i in range(N_ITEMS)], dtype=object)
    voters = np.array([f"voter {s}" for s in range(7)], dtype=object)
    votes = Votes.of_values(np.asfortranarray(said), names, voters, ("ham", "spam"))
    return votes, (truth > 0).astype(int), LatentIsing().fit(votes)


def small_pool(aim="labels"):
    votes, _, model = small_crowd()
    return VotesPool(model, votes, aim)


@contextmanager
def review(path, reviewer="ann", aim="labels", **more):
    """A session that writes into a file."""
    pool = small_pool(aim)
    with open_gold(path, pool.items, pool.classes, pool.header) as gold:
        yield Session(pool, gold, Contents(pool.items), reviewer, **more)


def say(session, item, label, note=""):
    """Answer as the page does: with what it showed."""
    shown = session.describe(item)
    return session.answer(item, label, note, shown["label"], not shown["answered"])


@contextmanager
def serving(session):
    """A real server for a session, in a thread."""
    server = ReviewServer(session)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join()


class Browser:
    """What a browser sends, without one."""

    def __init__(self, server):
        self.port, self.key = server.port, server.address.partition("#")[2]
        status, _, content = self.ask("/enter", b"")
        assert status == 200
        self.key = content.decode()

    def ask(self, path, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        sent = {KEY: self.key, **{k.replace("_", "-"): v for k, v in headers.items()}}
        if body is not None:
            sent.setdefault("Origin", f"http://127.0.0.1:{self.port}")
        text = body if body is None or isinstance(body, bytes) else json.dumps(body)
        connection.request("GET" if body is None else "POST", path, text, sent)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response.status, {k.lower(): v for k, v in response.getheaders()}, content

    def json(self, path, body=None):
        status, _, content = self.ask(path, body)
        return status, json.loads(content)


def answer_to(shown, label, **more):
    told = {"item": shown["item"], "label": label, "note": "", "seen": shown["label"]}
    return {**told, "answered": shown["answered"], **more}
