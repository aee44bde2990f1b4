"""How soon the first item of a large review appears: `python -m benchmarks.review`.

A million items with five votes and a text each. The model is fitted to some of them before; reading
the files and weighing all items is the load, after which the page is asked for its first items.
"""

import argparse
import http.client
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from unelisa.aggregators import LatentIsing
from unelisa.storage import save
from unelisa.votes import Votes


def write_files(folder: Path, n_items: int) -> None:
    """Write votes.csv, texts.csv and model.npz."""
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], n_items)
    said = np.where(rng.random((n_items, 5)) < 0.8, truth[:, None], -truth[:, None])
    table = pd.DataFrame(np.where(said > 0, "yes", "no"), columns=list("abcde"))
    table.insert(0, "item", [f"item {i}" for i in range(n_items)])
    table.to_csv(folder / "votes.csv", index=False)
    texts = pd.DataFrame({"item": table["item"], "text": "The text of " + table["item"]})
    texts.to_csv(folder / "texts.csv", index=False)
    save(LatentIsing().fit(Votes.of(table[:2000], item="item")), folder / "model.npz")


def ask(port: int, path: str, cookie: str = "", body: str | None = None) -> tuple[str, bytes]:
    """Return the cookie that a response sets, and its body."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    headers = {"Cookie": cookie, "Origin": f"http://127.0.0.1:{port}"}
    connection.request("GET" if body is None else "POST", path, body, headers)
    response = connection.getresponse()
    found = response.getheader("set-cookie", "").partition(";")[0], response.read()
    connection.close()
    return found


def measure(folder: Path) -> dict[str, float]:
    """Return the seconds of the load, of the first item and of an answer."""
    command = [sys.executable, "-m", "unelisa", "review", "model.npz", "votes.csv"]
    command += ["--items", "texts.csv", "--gold", "gold.csv"]
    start = time.perf_counter()
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        lines = iter(process.stdout.readline, "")
        address = next(line for line in lines if line.startswith("http")).strip()
        loaded = time.perf_counter()
        port, query = int(address.split(":")[2].split("/")[0]), address.partition("/?")[2]
        cookie, _ = ask(port, f"/?{query}")
        for path in ("/", "/page.css", "/page.js"):
            ask(port, path, cookie)
        shown = json.loads(ask(port, "/question", cookie)[1])["question"]
        first = time.perf_counter()
        told = {"item": shown["item"], "label": 1, "seen": None, "answered": False}
        ask(port, "/answer", cookie, json.dumps(told))
        answered = time.perf_counter()
        process.kill()
    return {"load": loaded - start, "first item": first - loaded, "answer": answered - first}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1_000_000)
    n_items = parser.parse_args().items
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as place:
        write_files(Path(place), n_items)
        for what, seconds in measure(Path(place)).items():
            print(f"{what}: {seconds:.3f} s")


if __name__ == "__main__":
    main()
