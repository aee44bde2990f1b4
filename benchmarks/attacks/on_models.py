"""Model files: damaged, forged and sealed again, and bombs of every format."""

import copy
import gzip
import hashlib
import io
import json
import os
import signal
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from ground import ANCHORS, blame, fresh, run, spell
from pyarrow import feather, parquet

import unelisa as ue
from unelisa.aggregators import AGGREGATORS
from unelisa.ehr.datamart import simulate_ehr
from unelisa.errors import ModelError, UnelisaError
from unelisa.schema import SCHEMAS
from unelisa.simulation.designs import simulate_classes
from unelisa.storage import MARK, _seal

Outcomes = Iterator[tuple[str, str]]
DAMAGES, FORGERIES = 40, 60  # per model
BOMB_LIMIT = 200_000_000  # bytes, of --memory


def list_models() -> Iterator[tuple[str, Any, Any]]:
    """Yield a fitted model of every class, and what it labels."""
    votes = ue.simulate_votes(12, 4, "high", 300, random_state=0).votes
    more = simulate_classes(3, 8, 200, random_state=0).votes
    for name, method in AGGREGATORS.items():
        yield name, method().fit(votes), votes
        try:
            yield f"{name} on 3 classes", method().fit(more), more
        except UnelisaError:
            continue
    counts = simulate_ehr(300, random_state=3).counts
    model = ue.Phenotyper(ANCHORS, utilization="note_count", random_state=0)
    yield "phenotyper", model.fit(counts), counts


def attack_damaged(ground: Path, place: Path, rng: np.random.Generator) -> Outcomes:  # noqa: ARG001
    """Flip, cut, repeat and mix bytes of a model of every class: always refused."""
    place.mkdir()
    file = place / "model.npz"
    for name, model, _ in list_models():
        ue.save(model, file)
        whole = file.read_bytes()
        for count in range(DAMAGES):
            a, b = sorted(rng.integers(0, len(whole), 2).tolist())
            other = bytes([whole[a] ^ int(rng.integers(1, 256))])
            ways = [whole[:a], whole[:a] + whole[b + 1 :], whole[:b] + whole[a:]]
            ways += [whole[:a] + other + whole[a + 1 :]]
            file.write_bytes(ways[count % len(ways)])
            trouble = "a damaged model was read"
            try:
                ue.load(file, type(model))
            except ModelError as error:
                trouble = "" if "\n" not in str(error) else "more than one line"
            yield f"{name}: damage {count}", trouble


def attack_forged(ground: Path, place: Path, rng: np.random.Generator) -> Outcomes:  # noqa: ARG001
    """Replace arrays and values inside a model of every class, with a right checksum."""
    place.mkdir()
    file = place / "model.npz"
    for name, model, data in list_models():
        ue.save(model, file)
        with np.load(file) as archive:
            arrays = {key: archive[key] for key in archive.files}
        text, shape = str(arrays.pop("model")), model.decision_function(data).shape
        for count in range(FORGERIES):
            forged = _forge(text, arrays, rng)
            archive = io.BytesIO()
            np.savez(archive, **forged)
            file.write_bytes(_seal(archive.getvalue()))
            trouble = ""
            try:
                scores = ue.load(file, type(model)).decision_function(data)
                if scores.shape != shape or not np.isfinite(scores).all():
                    trouble = "scores of another shape, or not finite"
            except UnelisaError:
                pass
            except Exception as error:
                trouble = repr(error)[:200]
            yield f"{name}: forgery {count}", trouble


def _forge(text: str, arrays: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Return the parts of a model file with one array or one value replaced."""
    if arrays and rng.random() < 0.5:
        key = str(rng.choice(list(arrays)))
        array = arrays[key]
        ways = [
            array[:0],
            np.concatenate([array, array]),
            array[None],
            np.zeros(array.shape),
            np.array("x"),
        ]
        if array.dtype.kind in "iufb":
            ways += [array.astype(kind) for kind in (str, np.float32, complex)]
            ways += [np.full(array.shape, value) for value in (np.nan, 1e300, -(2**31))]
        return {"model": np.array(text), **arrays, key: ways[int(rng.integers(len(ways)))]}
    described = json.loads(text)
    places = list(_list_places(described))
    *above, last = places[int(rng.integers(len(places)))]
    inside = described
    for key in above:
        inside = inside[key]
    strange = [None, True, -1, 10**30, 1e308, float("nan"), "x", "", [], {}, {"list": []}]
    strange += [{"tuple": []}, {"tuple": [{"list": []}]}, {"names": []}, {"dict": []}]
    strange += [{"array": "a0", "columns_first": True}, {"array": "zz"}]
    strange += [{"class": cls.__name__, "state": {}} for cls in SCHEMAS]
    names = [cls.__name__ for cls in SCHEMAS]
    value = str(rng.choice(names)) if last == "class" else strange[int(rng.integers(len(strange)))]
    if rng.random() < 0.15 and isinstance(inside, dict):
        inside.pop(last)
    else:
        inside[last] = copy.copy(value)
    return {"model": np.array(json.dumps(described)), **arrays}


def _list_places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for key, value in node.items() if isinstance(node, dict) else enumerate(node):
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from _list_places(value, (*path, key))


def attack_bombs(ground: Path, place: Path, rng: np.random.Generator) -> Outcomes:  # noqa: ARG001
    """Give every command small files that expand: memory stays near the limit."""
    for bomb, (suffix, write) in BOMBS.items():
        with fresh(ground, place) as folder:
            path = folder / f"bomb{suffix}"
            write(path)
            for command, name in SLOTS[suffix]:
                arguments = [*spell(command, folder, **{name: path}), "--memory", str(BOMB_LIMIT)]
                trouble = _run_measured(arguments)
                yield f"{command}: {bomb} as {name} ({path.stat().st_size:,} bytes)", trouble


def _run_measured(arguments: list[str]) -> str:
    """Run a command in a child; return what is wrong, or that it took too much memory."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        Path("/proc/self/clear_refs").write_text("5")
        before = _measure("VmRSS")
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the child, whatever it does
        told = blame(run(arguments))
        grown = _measure("VmHWM") - before
        if not told and grown > 2 * BOMB_LIMIT:
            told = f"{grown / 1e6:,.0f} MB of memory"
        os.write(write, told.encode() or b"ok")
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read, "rb") as file:
        told = file.read().decode() or "the process died"
    return "" if told == "ok" else told


def _measure(line: str) -> int:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return 1024 * int(status.partition(f"{line}:")[2].split()[0])


def _gzip(piece: bytes, times: int, start: bytes = b"") -> Any:
    def write(path: Path) -> None:
        with gzip.open(path, "wb", compresslevel=9) as file:
            file.write(start)
            for _ in range(times):
                file.write(piece)

    return write


def _parquet(rows: int, times: int, name: str = "w0") -> Any:
    def write(path: Path) -> None:
        same = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), ["yes"])
        table = pa.table({"item": same, name: same})
        with parquet.ParquetWriter(path, table.schema, write_statistics=False) as writer:
            for _ in range(times):
                writer.write_table(table)

    return write


def _long_texts(path: Path) -> None:
    text = pa.DictionaryArray.from_arrays(np.zeros(200_000, np.int32), ["x" * 10_000])
    items = [str(i) for i in range(200_000)]
    parquet.write_table(pa.table({"item": items, "w0": text}), path, store_schema=False)


def _feather(path: Path) -> None:
    columns = {"item": np.zeros(50_000_000, np.int64), "w0": np.zeros(50_000_000, np.int64)}
    feather.write_feather(pd.DataFrame(columns), path, compression="zstd", chunksize=10**8)


def _model(path: Path) -> None:
    archive = io.BytesIO()
    text = json.dumps({"format": 1, "model": {"array": "a0", "columns_first": False}})
    np.savez_compressed(archive, model=np.array(text), a0=np.zeros(80_000_000))
    path.write_bytes(_seal(archive.getvalue()))


def _model_lists(path: Path) -> None:
    archive = io.BytesIO()
    np.savez_compressed(archive, model=np.array(LISTS))
    path.write_bytes(_seal(archive.getvalue()))


def _model_parts(path: Path) -> None:
    """Two million parts of one small content: a zip file of many names."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for k in range(60_000):
            file.writestr(f"a{k}.npy", b"")
    body = archive.getvalue()[:-2] + (len(MARK) + 64).to_bytes(2, "little")
    path.write_bytes(body + MARK + hashlib.sha256(body).hexdigest().encode())


def _eval(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", '{"eval": {"model": "m"}}')
        archive.writestr("samples/1_epoch_1.json", '{"a": [' + "[]," * 8_000_000 + "[]]}")


LISTS = "[" + "[]," * 8_000_000 + "[]]"
BOMBS: dict[str, tuple[str, Any]] = {
    "blank lines": (".csv.gz", _gzip(b"\n" * 1_000_000, 300)),
    "spaces": (".csv.gz", _gzip(b" " * 1_000_000, 300, b"item,w0\n")),
    "one row over and over": (".csv.gz", _gzip(b"i0,yes\n" * 150_000, 300, b"item,w0\n")),
    "a quote that never ends": (".csv.gz", _gzip(b"a" * 1_000_000, 300, b'item,w0\n"')),
    "columns": (".csv.gz", _gzip(b"a,b,c,d,e,f,g," * 70_000, 300)),
    "rows of one run": (".parquet", _parquet(1_000_000, 150)),
    "a long text, repeated": (".parquet", _long_texts),
    "zeros": (".feather", _feather),
    "zeros in a model": (".npz", _model),
    "lists in a model": (".npz", _model_lists),
    "names in a model": (".npz", _model_parts),
    "lists in a log": (".jsonl", lambda path: path.write_text(f'{{"a": {LISTS}}}\n')),
    "lists in a list": (".json", lambda path: path.write_text(f'[{{"a": {LISTS}}}]')),
    "lists in an archive": (".eval", _eval),
}  # fmt: skip
_TABLES = [("fit", "votes.csv"), ("fit", "truth.csv"), ("fit with gold", "gold.csv"),
           ("predict", "votes.csv"), ("compare", "truth.csv"), ("rate", "gold.csv"),
           ("suggest", "costs.csv"), ("update", "late.csv"), ("update", "votes.csv"),
           ("review", "texts.csv"), ("jury", "gold.csv")]  # fmt: skip
_PACKED = [
    *_TABLES,
    ("pattern tables", "site.csv"),
    ("rules", "charts.csv"),
    ("phenotype", "charts.csv"),
]
_MODELS = [
    (name, "model.npz") for name in ("predict", "report", "rate", "suggest", "update", "review")
]
_LOGS = [("jury", "log.jsonl")]
SLOTS = {".csv.gz": _PACKED, ".parquet": [*_TABLES, *_LOGS], ".feather": _TABLES[:8],
         ".npz": _MODELS, ".jsonl": _LOGS, ".json": _LOGS, ".eval": _LOGS}  # fmt: skip
