"""Finds the nearest windows of one vector space in SQL. Nothing stays in memory between two searches.

While a space is small, all of its embeddings are compared. A large one has their signs beside them, one bit a dimension, in
blocks: a search reads these, picks the embeddings whose signs are most like the question's, and compares those. Signs are taken
of the vector less a mean that is found once for each space, since the vectors of some models all lie in one narrow cone. They are
written in the transaction that writes the embeddings, and dropped in the one that drops them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from memory_core.config.settings import Vector
from memory_core.embeddings.vectors import unpack_signs
from memory_core.stores.sqlite.connections import Connection
from memory_core.stores.sqlite.encoding import (
    DamagedRow,
    Encoding,
    compare,
    decode,
    encode,
    find_problem,
    load_distances,
    write_distance,
)
from memory_core.stores.values import WindowCosine, WindowTokens

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory_core.embeddings.vectors import Row, Rows

VectorSearch = Literal["exact", "signs", "off"]

EXACT_LIMIT = 12_000  # embeddings that are all compared; of more, as many as follow are picked by their signs
PICKED = 3_200  # recall at 10 and 100 and times of both: tests/benchmarks/recall.py
BLOCK = 1_000  # embeddings whose signs stand in one row
_MEAN_OF = 4_096  # embeddings, about
_READ = 4_096  # embeddings in memory at once where signs are made of them
_MOST_EQUAL = 1_000  # windows as near as the last one wanted: their texts differ in what a model does not see


class NearWindow(NamedTuple):
    """A window's hash with the cosine of its embedding and the query."""

    hash: bytes
    cosine: float


class Layout(NamedTuple):
    """The way in which the vectors of a space are stored, from its row; `mean` is set once there are signs."""

    id: int
    dimensions: int
    encoding: Encoding
    mean: Row | None


class VectorIndex(NamedTuple):
    """The vector side of an index file. It holds settings only; every method works on a connection inside a transaction.

    Attributes:
        settings: Of sqlite-vec.
        exact_limit: The most embeddings of a space that have no signs.
    """

    settings: Vector
    exact_limit: int = EXACT_LIMIT

    def find_nearest(self, connection: Connection, space_id: int, query: Row, limit: int) -> list[NearWindow]:
        """Find the windows most similar to a query, best first, and all that equal the last; none without direction."""
        load_distances(connection, self.settings)
        space = load_layout(connection, space_id)
        count = 2 * limit
        while True:
            near = _find(connection, space, query, count)
            is_parted = len(near) > limit and near[-1].cosine < near[limit - 1].cosine
            if is_parted or _count(connection, space.id, count + 1) <= count:
                break
            count *= 4  # texts that no note holds any more, or equals, are among them
        least = near[:limit][-1].cosine if near else 0.0
        return [each for each in near[: limit + _MOST_EQUAL] if each.cosine >= least]

    def compare(
        self, connection: Connection, space_id: int, query: Row, chunk_ids: Collection[int]
    ) -> list[WindowCosine]:
        """Return the cosines of the windows of some chunks, 0 without direction; windows without an embedding are left out."""
        load_distances(connection, self.settings)
        space = load_layout(connection, space_id)
        distance = write_distance(space.encoding, "e.embedding")
        statement = (
            f"SELECT w.chunk_id, w.first, w.last, coalesce(1 - {distance}, 0.0) FROM windows w"
            " CROSS JOIN embedding_cache e"  # CROSS: windows first, whatever the planner thinks
            " WHERE w.chunk_id IN (SELECT value FROM json_each(:ids)) AND e.space_id = :space AND e.hash = w.hash"
        )
        values = {"ids": json.dumps([*chunk_ids]), "space": space_id, "query": _encode_query(space, query)}
        return [*map(WindowCosine._make, compare(connection, statement, values))]

    def describe(self, connection: Connection, space_id: int | None) -> tuple[VectorSearch, str | None]:
        """Return how the vectors of a space are searched, and why not by sqlite-vec; None if they are.

        Args:
            connection: Of the index.
            space_id: The space that serves; None where none does.
        """
        if space_id is None:
            return "off", "there are no embeddings yet"
        return "exact" if load_layout(connection, space_id).mean is None else "signs", find_problem(self.settings)

    def add_signs(self, connection: Connection, space_id: int) -> None:
        """Write the signs that embeddings of a space lack, if it is large or has some, inside a write transaction."""
        space = load_layout(connection, space_id)
        if space.mean is None:
            if _count(connection, space_id, self.exact_limit + 1) <= self.exact_limit:
                return
            space = _put_mean(connection, space)
        _append_signs(connection, space)


def drop_signs(connection: Connection, ids: Sequence[int]) -> None:
    """Drop the signs of embeddings that were deleted, inside the transaction that has deleted them."""
    import numpy as np

    if not ids:
        return
    blocks = connection.execute("SELECT s.rowid, s.ids, s.bits FROM signs s").fetchall()
    for number, packed_ids, bits in cast("list[tuple[int, bytes, bytes]]", blocks):
        own, words = _unpack(packed_ids, bits)
        kept = ~np.isin(own, ids)
        if not kept.any():
            connection.execute("DELETE FROM signs WHERE rowid = ?", (number,))
        elif not kept.all():
            left = own[kept]
            values = int(left[0]), left.tobytes(), np.ascontiguousarray(words[:, kept]).tobytes(), number
            connection.execute("UPDATE signs SET first = ?, ids = ?, bits = ? WHERE rowid = ?", values)


def load_layout(connection: Connection, space_id: int) -> Layout:
    """Return how the vectors of a space are stored."""
    row = connection.execute("SELECT dimensions, encoding, mean FROM spaces WHERE id = ?", (space_id,)).get
    dimensions, encoding, mean = cast("tuple[int, Encoding, bytes | None]", row)
    return Layout(space_id, dimensions, encoding, None if mean is None else decode([mean], "float32", dimensions)[0])


def _count(connection: Connection, space_id: int, most: int) -> int:
    query = "SELECT count(*) FROM (SELECT 1 FROM embedding_cache WHERE space_id = ? LIMIT ?)"
    return int(connection.execute(query, (space_id, most)).get)


def _encode_query(space: Layout, query: Row) -> bytes:
    return next(encode(query[None], space.encoding))


def _find(connection: Connection, space: Layout, query: Row, count: int) -> list[NearWindow]:
    """Return the windows among the `count` nearest embeddings, best first."""
    values: dict[str, int | str | bytes] = {"query": _encode_query(space, query), "count": count}
    if space.mean is None:
        # The + keeps it off the index, whose order is not the table's.
        among = "embedding_cache WHERE +space_id = :space"
        values["space"] = space.id
    else:
        among = "json_each(:ids) j CROSS JOIN embedding_cache e ON e.id = j.value"
        values["ids"] = json.dumps(_pick(connection, space, query, max(PICKED, count)))
    nearest = (
        f"SELECT hash, {write_distance(space.encoding, 'embedding')} AS distance FROM {among}"
        " ORDER BY distance NULLS LAST LIMIT :count"
    )
    statement = (
        f"SELECT hash, 1 - distance FROM ({nearest}) n WHERE distance IS NOT NULL"
        " AND EXISTS (SELECT 1 FROM windows w WHERE w.hash = n.hash) ORDER BY distance"
    )
    return [*map(NearWindow._make, compare(connection, statement, values))]


def _pick(connection: Connection, space: Layout, query: Row, count: int) -> list[int]:
    """Return the ids of the embeddings that agree with the query in the signs of most dimensions, more than `count` if equal."""
    import numpy as np

    asked = _make_signs(space, query[None])
    ids: list[NDArray[np.int64]] = []
    differing: list[NDArray[np.uint16]] = []
    for packed_ids, bits in connection.execute("SELECT ids, bits FROM signs WHERE space_id = ?", (space.id,)):
        own, words = _unpack(packed_ids, bits)
        if len(words) != len(asked):
            raise DamagedRow("the signs of embeddings are damaged")
        ids.append(own)
        differing.append(np.bitwise_count(words ^ asked).sum(axis=0, dtype=np.uint16))
    if not ids:
        return []
    together, distances = np.concatenate(ids), np.concatenate(differing)
    if len(together) > count:
        within = np.cumsum(np.bincount(distances))  # a third of the time of a partition, as the distances are few
        together = together[distances <= np.searchsorted(within, count)]
    return np.sort(together).tolist()  # type: ignore[no-any-return]


def _unpack(ids: bytes, bits: bytes) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return the ids of a block, shape (n,), and its signs, shape (ceil(dimensions / 64), n).

    Raises:
        DamagedRow: They do not belong together.
    """
    import numpy as np

    if len(ids) % 8 or not ids or len(bits) % len(ids):
        raise DamagedRow("the signs of embeddings are damaged")
    own = np.frombuffer(ids, "<i8")
    return own, np.frombuffer(bits, "<u8").reshape(-1, len(own))


def _make_signs(space: Layout, rows: Rows) -> NDArray[np.uint64]:
    """Return a bit for each dimension of some rows, set above the mean, shape (ceil(dimensions / 64), n)."""
    import numpy as np

    assert space.mean is not None
    octets = np.packbits(rows > space.mean, axis=1, bitorder="little")
    padded = np.ascontiguousarray(np.pad(octets, ((0, 0), (0, -octets.shape[1] % 8))))
    return np.ascontiguousarray(padded.view("<u8").T)


def _put_mean(connection: Connection, space: Layout) -> Layout:
    """Find the mean of some embeddings of a space and store it, in whose row it stays."""
    step = max(_count(connection, space.id, 2**31) // _MEAN_OF, 1)
    rows = connection.execute(
        "SELECT embedding FROM embedding_cache WHERE +space_id = ? AND id % ? = 0", (space.id, step)
    ).fetchall()
    sample = decode([row[0] for row in cast("list[tuple[bytes]]", rows)], space.encoding, space.dimensions)
    mean = sample.mean(axis=0)
    connection.execute("UPDATE spaces SET mean = ? WHERE id = ?", (mean.astype("<f4").tobytes(), space.id))
    return space._replace(mean=mean)


def _append_signs(connection: Connection, space: Layout) -> None:
    """Add the signs of embeddings with higher ids than those that have some: ids only grow, and are never used twice."""
    import numpy as np

    query = "SELECT first, ids, bits FROM signs WHERE space_id = ? ORDER BY first DESC LIMIT 1"
    held = cast("tuple[int, bytes, bytes] | None", connection.execute(query, (space.id,)).fetchone())
    ids, words = np.empty(0, np.int64), np.empty((-(-space.dimensions // 64), 0), np.uint64)
    if held is not None:
        ids, words = _unpack(*held[1:])
    found = connection.execute(
        "SELECT id, embedding FROM embedding_cache WHERE id > ?"
        " AND +space_id = ? ORDER BY id",  # the + keeps it off the index of spaces, which would be read whole
        (int(ids[-1]) if len(ids) else 0, space.id),
    )
    while rows := cast("list[tuple[int, bytes]]", [*islice(found, _READ)]):
        ids = np.concatenate([ids, [row[0] for row in rows]])
        vectors = decode([row[1] for row in rows], space.encoding, space.dimensions)
        words = np.concatenate([words, _make_signs(space, vectors)], axis=1)
        while True:
            block = ids[:BLOCK].tobytes(), np.ascontiguousarray(words[:, :BLOCK]).tobytes()
            connection.execute("INSERT OR REPLACE INTO signs VALUES (?, ?, ?, ?)", (space.id, int(ids[0]), *block))
            if len(ids) <= BLOCK:
                break
            ids, words = ids[BLOCK:], words[:, BLOCK:]


def load_tokens(connection: Connection, space_id: int, chunk_ids: Iterable[int]) -> list[WindowTokens] | None:
    """Return the tokens of all windows of some chunks, in any order; None when some are missing."""
    found = connection.execute(
        "SELECT w.chunk_id, w.first, w.last - w.first + 1, s.dimensions, t.bits FROM windows w"
        " JOIN spaces s ON s.id = ? LEFT JOIN embedding_cache e ON e.space_id = s.id AND e.hash = w.hash"
        f" LEFT JOIN token_bits t ON t.embedding_id = e.id WHERE w.chunk_id IN ({','.join(map(str, chunk_ids))})",
        (space_id,),
    )
    rows = cast("list[tuple[int, int, int, int, bytes | None]]", found.fetchall())
    if not rows or not all(bits for *_, bits in rows):
        return None
    return [
        WindowTokens(chunk_id, first, *_unpack_tokens(bits, units, dimensions))
        for chunk_id, first, units, dimensions, bits in rows
        if bits
    ]


def _unpack_tokens(bits: bytes, units: int, dimensions: int) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
    """Unpack the signs of one window.

    Raises:
        DamagedRow: They are not those of so many units.
    """
    try:
        counts, signs = unpack_signs(bits, units=units, dimensions=dimensions)
    except ValueError as error:
        raise DamagedRow("tokens are cut off") from error
    if int(counts.sum()) != len(signs):
        raise DamagedRow("tokens are not those of their text")
    return counts, signs
