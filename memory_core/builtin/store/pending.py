"""Queries for what is still to be computed: texts without embeddings, chunks without token ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from memory_core.builtin.store.encoding import unpack_units
from memory_core.sqlite import Connection
from memory_core.sync.prepared import PendingWindow, slice_units

# The embeddings as e; with tokens, those only that have embeddings of their tokens.
_EMBEDDINGS = ("embedding_cache e", "embedding_cache e JOIN token_bits t ON t.embedding_id = e.id")


def find_pending_windows(
    connection: Connection, space_id: int | None, prefix: str = "", *, tokens: bool = False
) -> Iterator[PendingWindow]:
    """Yield the windows without an embedding in a space, each text once, in file order; all windows for None.

    Args:
        connection: Inside a read transaction.
        space_id: The space.
        prefix: Before the names of the tables, as in `FileRows`.
        tokens: Yield those without embeddings of their tokens, too.
    """
    rows = connection.execute(
        f"SELECT w.hash, w.first, w.last, c.text, c.units FROM {prefix}windows w JOIN {prefix}chunks c ON c.id = w.chunk_id"
        f" WHERE NOT EXISTS (SELECT 1 FROM {_EMBEDDINGS[tokens]} WHERE e.space_id = ? AND e.hash = w.hash)"
        " ORDER BY c.file_id, c.start_line, w.first",
        (space_id,),
    )
    seen: set[bytes] = set()
    for key, first, last, text, blob in rows:
        if key not in seen:
            seen.add(key)
            yield PendingWindow(key, slice_units(text, unpack_units(blob)[first : last + 1]))


def count_pending(connection: Connection, space_id: int | None) -> int:
    """Return the number of texts without an embedding in a space; all of them for None."""
    return int(
        connection.execute(
            "SELECT count(DISTINCT hash) FROM windows w"
            " WHERE NOT EXISTS (SELECT 1 FROM embedding_cache e WHERE e.space_id = ? AND e.hash = w.hash)",
            (space_id,),
        ).get
    )


def find_chunks_without_tokens(connection: Connection, prefix: str = "") -> Iterator[tuple[int, Sequence[str]]]:
    """Yield (chunk id, texts of its units) of every chunk without token ids."""
    for chunk_id, text, blob in connection.execute(
        f"SELECT id, text, units FROM {prefix}chunks WHERE tokens IS NULL ORDER BY id"
    ):
        yield chunk_id, slice_units(text, unpack_units(blob))


def find_embedded(
    connection: Connection, space_id: int, hashes: Iterable[bytes], *, tokens: bool = False
) -> set[bytes]:
    """Return those of some texts that have an embedding in a space; with `tokens`, also embeddings of their tokens."""
    query = f"SELECT 1 FROM {_EMBEDDINGS[tokens]} WHERE e.space_id = ? AND e.hash = ?"
    return {key for key in hashes if connection.execute(query, (space_id, key)).get}
