"""Columns that hold several numbers, units as JSON and vectors as bytes, and what is wrong with a damaged one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from itertools import starmap
from operator import le
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import apsw

from memory_core.config.settings import Vector
from memory_core.embeddings.vectors import to_int8
from memory_core.records import Space, Unit
from memory_core.stores.sqlite.connections import Connection, load_vec0
from memory_core.stores.values import digest_chunk

if TYPE_CHECKING:
    from memory_core.embeddings.vectors import Rows


def pack_units(units: Sequence[Unit]) -> str:
    """Return units as JSON: start, end, first and last line of each."""
    return json.dumps(units, separators=(",", ":"))


def unpack_units(text: str) -> list[Unit]:
    """Return the inverse of `pack_units`.

    Raises:
        DamagedRow: These are no units.
    """
    try:
        return [*starmap(Unit, read_json(text))]
    except TypeError as error:
        raise DamagedRow("units are damaged") from error


def read_json(text: str) -> Any:
    """Return a value that is stored as JSON.

    Raises:
        DamagedRow: It is none.
    """
    try:
        return json.loads(text)
    except ValueError as error:
        raise DamagedRow("a value in it cannot be read") from error


Encoding: TypeAlias = Literal["int8", "float32"]

WRONG_LENGTH = "an embedding has another length than those of its model"


def choose_encoding(space: Space) -> Encoding:
    """Return how the vectors of a space are stored."""
    return "int8" if space.fits_int8 else "float32"


def encode(rows: Rows, encoding: Encoding) -> Iterator[bytes]:
    """Yield each row as it is stored, little-endian."""
    return (row.tobytes() for row in (to_int8(rows)[0] if encoding == "int8" else rows.astype("<f4")))


def decode(blobs: Sequence[bytes], encoding: Encoding, dimensions: int) -> Rows:
    """Return stored vectors as rows of unit length, or zero, shape (n, dimensions).

    Raises:
        DamagedRow: One has another length.
    """
    import numpy as np

    if {*map(len, blobs)} - {dimensions * (1 if encoding == "int8" else 4)}:
        raise DamagedRow(WRONG_LENGTH)
    octets = b"".join(blobs)
    if encoding == "float32":
        return np.frombuffer(octets, "<f4").reshape(len(blobs), dimensions).astype(np.float32, copy=False)
    rows = np.frombuffer(octets, np.int8).reshape(len(blobs), dimensions).astype(np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    np.divide(rows, lengths, out=rows, where=lengths > 0)
    return rows


def write_distance(encoding: Encoding, column: str, query: str = ":query") -> str:
    """Write the SQL for the cosine distance, 0 to 2, of a column and an encoded vector; NULL where either has no direction.

    Args:
        encoding: Of both.
        column: An SQL expression for the stored vectors.
        query: An SQL expression for the vector.
    """
    read = "vec_int8" if encoding == "int8" else ""
    return f"vec_distance_cosine({read}({column}), {read}({query}))"


def load_distances(connection: Connection, settings: Vector) -> None:
    """Give a connection the functions of `write_distance`, unless it has them."""
    with suppress(apsw.SQLError):  # there is no such function
        connection.execute("SELECT vec_int8(x'00')").fetchall()
        return
    if not settings.enabled or load_vec0(connection, settings.extension_path) is not None:
        connection.create_scalar_function("vec_int8", _widen_int8, 1, deterministic=True)
        connection.create_scalar_function("vec_distance_cosine", _find_distance, 2, deterministic=True)


def find_problem(settings: Vector) -> str | None:
    """Return why sqlite-vec does not compare vectors on this machine, with what to do; None if it does."""
    if not settings.enabled:
        return "memorySearch.store.vector.enabled is false"
    with closing(apsw.Connection(":memory:")) as connection:
        return load_vec0(connection, settings.extension_path)


def compare(connection: Connection, statement: str, values: Mapping[str, Any]) -> list[Any]:
    """Return the rows of a statement that compares vectors.

    Raises:
        DamagedRow: A vector has another length than the one that it is compared with.
    """
    try:
        return connection.execute(statement, values).fetchall()
    except apsw.SQLError as error:
        if "vector" not in str(error).lower():
            raise
        raise DamagedRow(WRONG_LENGTH) from error


def _widen_int8(*vectors: Any) -> bytes:
    import numpy as np

    (blob,) = vectors
    return np.frombuffer(blob, np.int8).astype(np.float32).tobytes()


def _find_distance(*vectors: Any) -> float | None:
    import numpy as np

    one, other = vectors
    if len(one) != len(other) or len(one) % 4:
        raise DamagedRow(WRONG_LENGTH)
    first, second = np.frombuffer(one, np.float32), np.frombuffer(other, np.float32)
    # No BLAS, which would wake threads.
    lengths = float(np.einsum("i,i->", first, first)) * float(np.einsum("i,i->", second, second))
    return 1 - float(np.einsum("i,i->", first, second)) / lengths**0.5 if lengths > 0 else None


# Stands in a stored text for what SQLite does not take, so that its digest is that of another text.
_REPLACED = "\ufffd"


class DamagedRow(Exception):
    """A row holds what no sync has written. A store turns this into StoreCorrupt."""


def check_chunk(key: bytes, context: str, text: str, units: Sequence[Unit]) -> None:
    """Check the columns of a chunk that has units.

    Args:
        key: The digest of its context, overlap and text.
        context: The headings above it.
        text: Its lines.
        units: What is ranked.

    Raises:
        DamagedRow: The columns do not belong together.
    """
    size, last = len(text), text.count("\n")
    starts, ends, first_lines, last_lines = zip(*units, strict=True)
    ordered = all(map(le, starts, ends)) and all(map(le, first_lines, last_lines))
    if not ordered or min(starts) < 0 or min(first_lines) < 0 or max(ends) > size or max(last_lines) > last:
        raise DamagedRow("a unit lies outside of its text")
    # The number of lines that overlap is not stored. The first unit begins behind them, or after blank lines that follow.
    overlaps = range(units[0].first_line, -1, -1)
    if _REPLACED not in text and not any(digest_chunk(context, lines, text) == key for lines in overlaps):
        raise DamagedRow("a text is not what was indexed")


def check_window(first: int, last: int, units: int) -> None:
    """Check that a window lies within the units of its chunk.

    Raises:
        DamagedRow: It does not.
    """
    if not 0 <= first <= last < units:
        raise DamagedRow("a window lies outside of its text")
