"""Feather files of votes: measured by their metadata before anything is decompressed."""

import struct
from pathlib import Path
from typing import Any

import numpy as np

from unelisa.errors import VotesError
from unelisa.memory import refuse_beyond
from unelisa.sources.files import is_text, refuse_nested

_MAGIC = b"ARROW1"
_STREAM = b"\xff\xff\xff\xff"  # how a stream of messages begins, as the library datasets stores it
_KINDS = {"dictionary": 1, "record batch": None}  # type of a message -> its field with the buffers


def open_messages(path: Path) -> Any:
    """Return the file, mapped into memory and positioned at its first message."""
    import pyarrow as pa  # noqa: PLC0415 - only files need it

    with path.open("rb") as start:
        if start.read(4) == b"FEA1":
            raise VotesError(f"{path.name} is in Feather version 1; save it in version 2")
    file = pa.memory_map(str(path))
    content = file.read(len(_MAGIC))
    if content.startswith(_STREAM):
        file.seek(0)
        return file
    file.seek(max(file.size() - len(_MAGIC), 0))
    if content != _MAGIC or file.read() != _MAGIC:
        raise OSError("the magic bytes are absent")
    file.seek(8)
    return file


def measure_feather(path: Path) -> tuple[int, int, list[str]]:
    """Return the rows, the decompressed bytes and the columns, from the metadata of messages."""
    import pyarrow as pa  # noqa: PLC0415 - only files need it

    n_rows = unpacked = 0
    with open_messages(path) as file:
        for message in pa.ipc.MessageReader.open_stream(file):
            if message.type not in _KINDS:
                continue
            try:
                rows, size = _measure_message(message)
            except (struct.error, ValueError):
                raise OSError("the metadata of a message is damaged") from None
            n_rows += rows if message.type == "record batch" else 0
            unpacked += size
    with open_messages(path) as file, pa.ipc.open_stream(file) as reader:
        refuse_nested(reader.schema)
        return n_rows, unpacked, [str(name) for name in reader.schema.names]


def read_feather(path: Path) -> Any:
    """Return a file as an Arrow table whose texts are dictionaries of their distinct values."""
    import pyarrow as pa  # noqa: PLC0415 - only files need it

    with open_messages(path) as file, pa.ipc.open_stream(file) as reader:
        batches = [_encode_texts(batch) for batch in reader]
        if not batches:
            return reader.schema.empty_table()
    return pa.Table.from_batches(batches).unify_dictionaries()


def _encode_texts(batch: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415 - only files need it

    batch.validate(full=True)  # Arrow trusts the offsets in a file
    columns = []
    for column in batch.columns:
        if pa.types.is_string_view(column.type) or pa.types.is_binary_view(column.type):
            # views may overlap: what they show can be far more than what is stored
            lengths = np.frombuffer(column.buffers()[1], "<i4").reshape(-1, 4)[:, 0]
            refuse_beyond(int(lengths.sum(dtype=np.int64)), "a column of text")
        columns.append(column.dictionary_encode() if is_text(column.type) else column)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _measure_message(message: Any) -> tuple[int, int]:
    """Return the rows and decompressed bytes of a message; its metadata is a flatbuffer.

    A compressed buffer begins with its decompressed size, -1 where it is stored as it is.
    """
    about = memoryview(message.metadata)
    table = _follow(about, _field(about, _follow(about, 0), 2))
    if message.type == "dictionary":
        table = _follow(about, _field(about, table, 1))
    rows = _field(about, table, 0)
    n_rows = struct.unpack_from("<q", about, rows)[0] if rows else 0
    start = _follow(about, _field(about, table, 2))
    number = struct.unpack_from("<I", about, start)[0]
    places = np.frombuffer(about, "<i8", 2 * number, start + 4).reshape(-1, 2)
    if not _field(about, table, 3):
        return n_rows, len(message.body)
    body, size = memoryview(message.body), 0
    for offset, length in places[places[:, 1] > 0].tolist():
        held = struct.unpack_from("<q", body, offset)[0]
        size += length if held < 0 else held
    return n_rows, size


def _follow(about: memoryview, place: int) -> int:
    """Return where the offset at some place of a flatbuffer leads."""
    return int(place + struct.unpack_from("<I", about, place)[0])


def _field(about: memoryview, table: int, number: int) -> int:
    """Return the place of a field of a flatbuffer's table, 0 where it is absent."""
    layout = table - struct.unpack_from("<i", about, table)[0]
    if 4 + 2 * number >= struct.unpack_from("<H", about, layout)[0]:
        return 0
    offset = struct.unpack_from("<H", about, layout + 4 + 2 * number)[0]
    return table + offset if offset else 0
