"""Upkeep of an index file: eviction of unused embeddings, a merged keyword index, free pages given back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from memory_core.errors import SyncBusy
from memory_core.stores.sqlite import INDEX, cut_log, drop_pages, token_bits
from memory_core.stores.sqlite.store import Store
from memory_core.stores.sqlite.vectors import drop_signs

MERGE_PAGES = 500  # of the keyword index that are merged in one step
SMALL_MERGE_PAGES = 64  # after a small change, which takes .5 to .9 ms and leaves 4 pieces of 9 on average
VACUUM_PAGES = 1000  # given back in one step: 8 MB


def evict_embeddings(store: Store, *, keep: int) -> None:
    """Drop the oldest embeddings that no window refers to, beyond `keep`, and all their embeddings of tokens."""
    with store.read() as connection:
        held = int(connection.execute("SELECT count(*) FROM embedding_cache").get)
        used = int(connection.execute("SELECT count(*) FROM windows").get)
        tokens = token_bits.any_stored(connection)
    if tokens:
        with store.write(content=False) as connection:
            token_bits.drop_strays(connection)
    if held - used <= keep:  # at least `held - used` are unused; to find them, all are read
        return
    with store.write(content=False) as connection:
        evicted = connection.execute(
            "DELETE FROM embedding_cache WHERE id IN (SELECT e.id FROM embedding_cache e"
            " WHERE NOT EXISTS (SELECT 1 FROM windows w WHERE w.hash = e.hash)"
            " ORDER BY e.id DESC LIMIT -1 OFFSET ?) RETURNING id",
            (keep,),
        ).fetchall()
        drop_signs(connection, [row[0] for row in cast("list[tuple[int]]", evicted)])


def merge_keywords(store: Store, *, whole: bool) -> Iterator[None]:
    """Merge all pieces of the keyword index into one, yielding after each committed step; or small ones, in one short step.

    A search reads every piece. FTS5 by itself lets sixteen of one size wait where changes are small. See
    https://www.sqlite.org/fts5.html#the_merge_command.
    """
    if not whole:
        with store.write(content=False) as connection:
            if connection.execute("SELECT 1 FROM chunks_fts_config WHERE k = 'usermerge' AND v = 2").get is None:
                connection.execute("INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('usermerge', 2)")
            connection.execute("INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('merge', ?)", (SMALL_MERGE_PAGES,))
        return
    pages = -MERGE_PAGES  # negative: all pieces, not only those of one size
    while True:
        with store.write(content=False) as connection:
            before = connection.total_changes()
            connection.execute("INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('merge', ?)", (pages,))
            if connection.total_changes() - before < 2:
                return
        yield
        pages = MERGE_PAGES


def give_back_space(store: Store) -> None:
    """Return free pages to the file system in steps, and empty the write-ahead log."""
    with store.maintain() as connection:
        while free := int(connection.pragma("freelist_count")):
            connection.execute(f"PRAGMA incremental_vacuum({VACUUM_PAGES})").fetchall()
            if int(connection.pragma("freelist_count")) >= free:
                break
        cut_log(connection)
        drop_pages(connection)


def wipe(store: Store, *, seconds: float) -> bool:
    """Write the index anew, so that nothing is left of what was dropped; return False while another program reads it.

    The keyword index keeps words in its pieces until they are merged, and names between its pages after that.

    Args:
        store: The index.
        seconds: How long to wait for readers of other processes.
    """
    from memory_core.stores.sqlite.files import repeat, rewrite_file

    try:
        with store.write(content=False) as connection:
            connection.execute("INSERT INTO chunks_fts (chunks_fts) VALUES ('optimize')")
        with store.maintain() as connection:
            return repeat(lambda: rewrite_file(connection, INDEX), seconds=seconds)
    except SyncBusy:
        return False
