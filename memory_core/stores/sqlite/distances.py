"""Distances of stored vectors in SQL: by the functions of sqlite-vec, or where it cannot be loaded by the same ones in Python.

A column of vectors has one of the two encodings that sqlite-vec reads, for all rows of a space: float32, or numbers of int8 for
models that lose nothing by it. The cosine needs no factor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import apsw

from memory_core.config.settings import Vector
from memory_core.embeddings.vectors import to_int8
from memory_core.records import Space
from memory_core.stores.sqlite import Connection, load_vec0
from memory_core.stores.sqlite.damage import DamagedRow

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Encoding: TypeAlias = Literal["int8", "float32"]
T = TypeVar("T")

WRONG_LENGTH = "an embedding has another length than those of its model"


def choose_encoding(space: Space) -> Encoding:
    """Return how the vectors of a space are stored."""
    return "int8" if space.fits_int8 else "float32"


def encode(rows: NDArray[np.float32], encoding: Encoding) -> Iterator[bytes]:
    """Yield each row as it is stored, little-endian."""
    return (row.tobytes() for row in (to_int8(rows)[0] if encoding == "int8" else rows.astype("<f4")))


def decode(blobs: Sequence[bytes], encoding: Encoding, dimensions: int) -> NDArray[np.float32]:
    """Return stored vectors as rows of unit length, or zero, shape (n, dimensions).

    Raises:
        DamagedRow: One has another length.
    """
    import numpy as np

    if {*map(len, blobs)} - {dimensions * (1 if encoding == "int8" else 4)}:
        raise DamagedRow(WRONG_LENGTH)
    octets = b"".join(blobs)
    if encoding == "float32":
        return np.frombuffer(octets, "<f4").reshape(-1, dimensions).astype(np.float32, copy=False)
    rows = np.frombuffer(octets, np.int8).reshape(-1, dimensions).astype(np.float32)
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
    if connection.execute("SELECT 1 FROM pragma_function_list WHERE name = 'vec_int8'").get is not None:
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


def ask(question: Callable[[], T]) -> T:
    """Return the answer to a question that compares vectors.

    Raises:
        DamagedRow: A vector has another length than the one that it is compared with.
    """
    try:
        return question()
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
