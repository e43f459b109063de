"""Drops the oldest versions, by their age and by the size of the file."""

from __future__ import annotations

from memory_core.config.settings import HistorySettings
from memory_core.history.store import rows
from memory_core.stores.sqlite import Connection

DAY_MS = 86_400_000
PRUNE_TO = 0.9  # of the largest size, so that not every sync has to drop something
LEAST_CHECK_MS = DAY_MS // 4  # between two looks at the age of versions


def drop_old(connection: Connection, settings: HistorySettings, *, now_ms: int, asked: bool = False) -> int:
    """Drop what is older or more than the settings allow; return the number of versions dropped.

    Versions that stand are never dropped. Ages are looked at every few hours, or when that is asked for.
    """
    dropped = 0
    if settings.retention_days is not None and (asked or _is_due(connection, now_ms)):
        begin = now_ms - settings.retention_days * DAY_MS
        earlier = [each.id for each in rows.load_moments(connection) if each.at_ms <= begin]
        if earlier:  # the last of them is the state in which the days to keep begin
            dropped += rows.drop_before(connection, earlier[-1])
    limit = settings.limit_bytes
    while limit and (size := rows.measure(connection)) > limit:
        excess, first = size - int(limit * PRUNE_TO), None
        for first, freed in rows.iterate_sizes(connection):  # noqa: B007 -- the moment up to which is dropped
            excess -= freed
            if excess <= 0:
                break
        gone = rows.drop_before(connection, first) if first is not None else 0
        if not gone:
            break
        dropped += gone
    return dropped


def _is_due(connection: Connection, now_ms: int) -> bool:
    last = connection.execute("SELECT value FROM meta WHERE key = 'dropped_at'").get
    if last is not None and 0 <= now_ms - int(last) < LEAST_CHECK_MS:
        return False
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('dropped_at', ?)", (str(now_ms),))
    return True
