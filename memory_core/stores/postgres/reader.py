"""The questions of a search, over all tenants that may be read, and of a sync, about the agent's own, as SQL for PostgreSQL."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, LiteralString

from memory_core.embeddings.vectors import unpack_signs
from memory_core.records import Calibration, Space, Unit
from memory_core.stores.interface import Pending, Place, best_of
from memory_core.stores.postgres import NAME, vectors
from memory_core.stores.postgres.stems import Scorer, list_lexemes, quote, read_vector, stem, write_query
from memory_core.stores.postgres.tenants import Cursor, Tenant, fetch_value, load_space
from memory_core.stores.values import (
    ChunkText,
    DateRange,
    IndexedChunk,
    IndexedFile,
    PendingWindow,
    ServingSpace,
    SyncState,
    Term,
    WindowCosine,
    WindowTokens,
    count_rarest,
    pair_forms,
    recall_state,
    slice_units,
    spell,
    to_indexed,
)
from memory_core.text.folding import clean
from memory_core.text.languages import Relation, stem_words
from memory_core.text.terms import cut_cjk

if TYPE_CHECKING:
    from memory_core.embeddings.vectors import Row, Rows

# The windows of some chunks, and their embeddings, one by one: the planner, which knows little of how many rows there are, has
# read every window of a large tenant for each chunk, and compared every window with every embedding, which took minutes.
_ASKED = (
    "WITH asked AS MATERIALIZED (SELECT w.tenant_id, w.chunk_id, w.first, w.last, w.hash FROM chunks c CROSS JOIN LATERAL"
    " (SELECT * FROM windows WHERE tenant_id = c.tenant_id AND chunk_id = c.id OFFSET 0) w"
    " WHERE c.tenant_id = ANY (%(tenants)s) AND c.id = ANY (%(ids)s) AND w.last < cardinality(c.units) / 4)"
)
_OF_ASKED = "embeddings WHERE tenant_id = a.tenant_id AND space_id = %(space)s AND hash = a.hash OFFSET 0"
_FILE = "SELECT id, source, path, hash, error, size, mtime_ns, ctime_ns, inode FROM notes WHERE tenant_id = %(tenant)s"
_CHUNKS = (
    " FROM chunks c JOIN notes n ON n.tenant_id = c.tenant_id AND n.id = c.note_id"
    " WHERE c.tenant_id = ANY (%(tenants)s) AND n.tenant_id = ANY (%(tenants)s)"
)


class PostgresReader:
    """Implements `stores.interface.Reader`.

    Args:
        cursor: Inside a transaction.
        tenants: To search; the first is the agent's own.
        workspace: The agent's, whose notes the first tenant holds.

    Attributes:
        db: The cursor.
        own: The agent's own tenant.
    """

    def __init__(self, cursor: Cursor, tenants: Sequence[Tenant], workspace: str) -> None:
        self.db = cursor
        self.own = tenants[0]
        self._tenants = tenants
        self._ids = [each.id for each in tenants]
        # Of the paths of others' notes, among them those of an own tenant that another workspace has filled.
        others = [each for each in tenants if each is not self.own or each.workspace not in (None, workspace)]
        self._prefixes = {each.id: f"{NAME}/{each.name}/" for each in others}
        self._workspace = workspace
        self._counts: dict[str, int] = {}  # by query, the number of chunks that match: a search asks for many twice

    def holds_notes(self) -> bool:
        """See `Reader`."""
        return bool(self._list(f"SELECT c.id{_CHUNKS} AND n.source <> 'sessions' LIMIT 1"))

    def count_chunks(self) -> int:
        """See `Reader`."""
        return sum(each.chunks for each in self._tenants)

    def load_workspace(self) -> str | None:
        """See `Reader`. Who may read which tenant is the operator's decision, so nothing is refused here."""
        return self._workspace

    def load_serving_space(self) -> ServingSpace | None:
        """See `Reader`. Of the other tenants, those are searched by meaning that have embeddings in the same space."""
        for tenant in self._tenants:
            if tenant.serving is not None:
                return load_space(self.db, tenant.id, tenant.serving)
        return None

    def stem(self, text: str) -> list[str]:
        """See `Reader`."""
        return stem(cut_cjk(clean(text)))

    def count_by_stem(self, stems: Collection[str]) -> Mapping[str, int]:
        """See `Reader`."""
        found = self._count_matches({each: quote(each) for each in stems})
        return {each: found[each] for each in stems if found[each]}

    def find_forms(self, words: Collection[str], languages: Sequence[Relation]) -> Mapping[str, Sequence[str]]:
        """See `Reader`."""
        asked = [each for language in languages for each in stem_words(words, language)]
        if not asked:
            return {}
        rows = self._rows(
            "SELECT DISTINCT f.language, f.stem, f.word FROM word_forms f"
            " JOIN unnest(%(languages)s::text[], %(stems)s::text[]) a (language, stem)"
            " ON f.language = a.language AND f.stem = a.stem WHERE f.tenant_id = ANY (%(tenants)s)",
            {"languages": [language for language, _, _ in asked], "stems": [each for _, each, _ in asked]},
        )
        # The table keeps words that no chunk holds any more.
        held = self._count_matches({word: write_query([word]) or quote(word) for _, _, word in rows})
        return pair_forms(asked, (row for row in rows if held[row[2]]))

    def find_spelt(self, begin: str, end: str, lengths: tuple[int, int]) -> Sequence[str]:
        """See `Reader`."""
        return self._list(
            "SELECT DISTINCT word FROM word_forms WHERE tenant_id = ANY (%(tenants)s) AND length(stem) BETWEEN %(shortest)s"
            " AND %(longest)s AND (language = 'spelt' AND starts_with(stem, %(begin)s)"
            " OR language = 'mirrored' AND starts_with(stem, %(end)s))",
            {"begin": begin, "end": end[::-1], "shortest": lengths[0], "longest": lengths[1]},
        )

    def count_by_prefix(self, prefixes: Collection[str]) -> dict[str, int]:
        """See `Reader`."""
        if not prefixes:
            return {}
        rows = self._rows(
            "SELECT p.prefix, count_prefix(%(tenants)s, p.prefix, p.query::tsquery)"
            " FROM unnest(%(prefixes)s::text[], %(queries)s::text[]) p (prefix, query)",
            {"prefixes": [*prefixes], "queries": [f"{quote(prefix)}:*" for prefix in prefixes]},
        )
        return {prefix: int(documents) for prefix, documents in rows if documents}

    def count_phrase(self, phrase: str) -> int:
        """See `Reader`."""
        return self._count_spellings([phrase])[phrase]

    def find_by_keyword(self, terms: Sequence[Term], dates: DateRange, depth: int) -> dict[int, float]:
        """See `Reader`."""
        spellings = [*spell(terms)]
        count = len(terms) if dates.is_limited else count_rarest(terms, depth)
        query = write_query(spell(terms[:count]))
        if not query:
            return {}
        if count < len(terms):  # as in builtin's expression, where the rarer ones stand twice
            spellings += spell(terms[:count])
        rows = self._find_stems("id, words, found", query, spellings, dates)
        held = self._count_spellings(spellings)
        scorer = Scorer(
            spellings,
            chunks=self.count_chunks(),
            words=sum(each.words for each in self._tenants),
            count=held.__getitem__,
        )
        return best_of(self, {each: scorer.score(words, read_vector(at)) for each, words, at in rows}, depth)

    def find_nearest(self, space_id: int, vector: Row, dates: DateRange, depth: int) -> dict[int, float]:
        """See `Reader`. Of a large tenant, the windows that are nearest by their signs are compared, else all."""
        found = vectors.find_nearest(self.db, self._tenants, space_id, vector, days=_to_days(dates), depth=depth)
        return best_of(self, found, depth)

    def find_by_name(self, name: str, dates: DateRange, limit: int) -> Sequence[int]:
        """See `Reader`. The paths of other tenants' notes are found as they are shown, too."""
        name = name.removeprefix(next((each for each in self._prefixes.values() if name.startswith(each)), ""))
        first, last = _to_days(dates)
        return self._list(
            f"SELECT c.id{_CHUNKS} AND (n.date = %(name)s"
            " OR lower(n.path) = %(name)s OR right(lower(n.path), length(%(name)s) + 1) = '/' || %(name)s)"
            " AND coalesce(c.day, n.day) >= coalesce(%(first)s, '')"
            " AND coalesce(c.day, n.day) <= coalesce(%(last)s, '9999-99-99')"
            ' ORDER BY n.source, n.path COLLATE "C", c.start_line LIMIT %(limit)s',
            {"name": name, "first": first, "last": last, "limit": limit},
        )

    def find_dated(self, first: date, last: date, limit: int) -> Sequence[int]:
        """See `Reader`."""
        return self._list(
            f"SELECT id FROM (SELECT c.id, c.day AS of, n.source, n.path, c.start_line, n.tenant_id{_CHUNKS}"
            " AND c.day BETWEEN %(first)s AND %(last)s UNION ALL SELECT c.id, n.date, n.source, n.path, c.start_line, n.tenant_id"
            f"{_CHUNKS} AND c.day IS NULL AND n.date BETWEEN %(first)s AND %(last)s)"
            ' dated ORDER BY of, source, path COLLATE "C", start_line, tenant_id LIMIT %(limit)s',
            {"first": first.isoformat(), "last": last.isoformat(), "limit": limit},
        )

    def sort_equals(self, ids: Collection[int]) -> Sequence[int]:
        """See `Reader`."""
        return self._list(
            f"SELECT c.id{_CHUNKS} AND c.id = ANY (%(ids)s)"
            " ORDER BY coalesce(c.day, n.date) IS NOT NULL, coalesce(c.day, n.date) DESC, n.source,"
            ' n.path COLLATE "C", c.start_line, n.tenant_id',
            {"ids": list(ids)},
        )

    def load_chunks(self, ids: Collection[int]) -> list[IndexedChunk]:
        """See `Reader`."""
        rows = self._rows(
            "SELECT c.tenant_id, c.id, n.path, n.source, coalesce(c.day, n.date), c.start_line, c.context, c.text, c.units"
            f"{_CHUNKS} AND c.id = ANY (%(ids)s) AND cardinality(c.units) > 0",
            {"ids": list(ids)},
        )
        chunks = []
        for tenant, number, path, source, day, start, context, text, numbers in rows:
            units = unpack_units(numbers)
            if tenant not in self._prefixes:
                chunks.append(IndexedChunk(number, path, source, day, start, context, text, units))
            elif start >= 1 and _has_valid_units(units, text):
                shown = self._prefixes[tenant] + path
                chunks.append(IndexedChunk(number, shown, source, _read_day(day), start, context, text, units))
        return chunks

    def find_phrases(self, phrases: Sequence[str], dates: DateRange) -> Collection[int]:
        """See `Reader`."""
        query = write_query(phrases)
        if not query:
            return ()
        return [row[0] for row in self._find_stems("DISTINCT id", query, phrases, dates)]

    def find_beginnings(self) -> Collection[int]:
        """See `Reader`."""
        return self._list(
            f"SELECT DISTINCT ON (c.tenant_id, c.note_id) c.id{_CHUNKS} AND n.source <> 'sessions'"
            " ORDER BY c.tenant_id, c.note_id, c.start_line, c.id"
        )

    def find_linking(self) -> Collection[int]:
        """See `Reader`."""
        return self._list("SELECT id FROM chunks WHERE tenant_id = ANY (%(tenants)s) AND links")

    def load_texts(self, ids: Collection[int], *, whole: bool) -> Sequence[ChunkText]:
        """See `Reader`."""
        same = (
            "(c.tenant_id, c.note_id) IN (SELECT tenant_id, note_id FROM chunks WHERE tenant_id = ANY (%(tenants)s)"
            " AND id = ANY (%(ids)s))"
        )
        rows = self._rows(
            f"SELECT c.tenant_id, c.id, n.path, n.source, n.date, c.start_line, c.text{_CHUNKS}"
            f" AND {same if whole else 'c.id = ANY (%(ids)s)'} AND n.source <> 'sessions'"
            ' ORDER BY n.source, n.path COLLATE "C", n.tenant_id, c.start_line, c.id',
            {"ids": list(ids)},
        )
        return [
            ChunkText(number, self._prefixes.get(tenant, "") + path, *values) for tenant, number, path, *values in rows
        ]

    def compare_windows(self, space_id: int, vector: Row, chunk_ids: Collection[int]) -> Sequence[WindowCosine]:
        """See `Reader`."""
        rows = self._rows(
            f"{_ASKED} SELECT a.chunk_id, a.first, a.last, {vectors.COSINE} FROM asked a CROSS JOIN LATERAL (SELECT v, h"
            f" FROM {_OF_ASKED}) e WHERE {vectors.COMPARABLE}",
            {
                "vector": vectors.write_vector(vector),
                "space": space_id,
                "ids": list(chunk_ids),
                "dimensions": len(vector),
            },
        )
        return [WindowCosine(*row) for row in rows]

    def load_tokens(self, space_id: int, chunk_ids: Collection[int]) -> Sequence[WindowTokens] | None:
        """See `Reader`."""
        rows = self._rows(
            f"{_ASKED} SELECT a.chunk_id, a.first, a.last, s.dimensions, e.bits FROM asked a JOIN spaces s"
            " ON s.tenant_id = a.tenant_id AND s.id = %(space)s"
            f" LEFT JOIN LATERAL (SELECT bits FROM {_OF_ASKED}) e ON true",
            {"space": space_id, "ids": list(chunk_ids)},
        )
        if not rows or not all(bits for *_, bits in rows):
            return None
        found = []
        for chunk_id, first, last, dimensions, bits in rows:
            with contextlib.suppress(ValueError):  # of another tenant, and of a wrong length
                signs = unpack_signs(bits, units=last - first + 1, dimensions=dimensions)
                found.append(WindowTokens(chunk_id, first, *signs))
        return found

    def load_log_lines(self, source: str, path: str) -> Sequence[int]:
        """See `Reader`."""
        tenant, own = self._find_tenant(path)
        query = "SELECT lines FROM notes WHERE tenant_id = %s AND source = %s AND path = %s"
        return fetch_value(self.db, query, (tenant.id, source, own)) or ()

    def load_text(self, path: str) -> str | None:
        """Return a note's text from its chunks, blank lines as blank as they may be; None if no tenant holds it."""
        tenant, own = self._find_tenant(path)
        rows = self._rows(
            f"SELECT c.start_line, c.text{_CHUNKS} AND n.path = %(path)s AND n.source <> 'sessions' AND n.hash <> ''",
            {"tenants": [tenant.id], "path": own},
        )
        lines: dict[int, str] = {}
        for start, text in rows:
            lines.update(enumerate(text.split("\n"), start))
        return "\n".join(lines.get(number, "") for number in range(1, max(lines) + 1)) if lines else None

    # Files, what is remembered, and what waits for an embedding: of the agent's own tenant.

    def list_files(self) -> list[IndexedFile]:
        """See `Reader`."""
        return [*map(to_indexed, self._rows(_FILE))]

    def find_file(self, source: str, path: str) -> IndexedFile | None:
        """See `Reader`."""
        rows = self._rows(f"{_FILE} AND source = %(source)s AND path = %(path)s", {"source": source, "path": path})
        return to_indexed(rows[0]) if rows else None

    def find_paths(self, hashes: Sequence[bytes]) -> tuple[str, ...]:
        """See `Reader`."""
        found = self._list(
            "SELECT DISTINCT n.path FROM windows w JOIN chunks c ON c.tenant_id = w.tenant_id AND c.id = w.chunk_id"
            " JOIN notes n ON n.tenant_id = c.tenant_id AND n.id = c.note_id"
            " WHERE w.tenant_id = %(tenant)s AND w.hash = ANY (%(hashes)s) ORDER BY n.path",
            {"hashes": list(hashes)},
        )
        return tuple(found)

    def count_indexed(self) -> tuple[int, int]:
        """See `Reader`."""
        return self._count("notes WHERE tenant_id = %(tenant)s AND hash <> ''"), self.own.chunks

    def load_state(self) -> SyncState:
        """See `Reader`."""
        return recall_state(self.own.meta, generation=self.own.generation, workspace=self.own.workspace)

    def list_spaces(self) -> dict[Space, int]:
        """See `Reader`."""
        query = "SELECT id, provider, model, endpoint, input_type, dimensions FROM spaces WHERE tenant_id = %(tenant)s"
        return {Space(*about): number for number, *about in self._rows(f"{query} ORDER BY made, id")}

    def find_pending(self, space_id: int | None, after: Place, limit: int, *, tokens: bool = False) -> Pending:
        """See `Reader`."""
        # One by one, see `_ASKED`: to join the windows of a new tenant with its embeddings took minutes.
        rows = self._rows(
            "SELECT w.chunk_id, w.first, w.last, w.hash, c.units, c.text FROM (SELECT * FROM windows w"
            " WHERE tenant_id = %(tenant)s AND (chunk_id, first) > (%(chunk)s, %(first)s) AND NOT EXISTS (SELECT 1"
            f" FROM {_write_embedded(tokens=tokens)} AND hash = w.hash OFFSET 0) ORDER BY chunk_id, first LIMIT %(limit)s) w"
            " CROSS JOIN LATERAL (SELECT units, text FROM chunks WHERE tenant_id = %(tenant)s AND id = w.chunk_id OFFSET 0) c"
            " ORDER BY w.chunk_id, w.first",
            {"space": space_id, "chunk": after[0], "first": after[1], "limit": limit},
        )
        texts = {
            key: slice_units(text, unpack_units(units)[first : last + 1]) for _, first, last, key, units, text in rows
        }
        windows = [PendingWindow(*each) for each in texts.items()]
        return Pending(windows, rows[-1][:2] if len(rows) == limit else None)

    def count_pending(self, space_id: int | None, *, since: int = 0, tokens: bool = False) -> int:
        """See `Reader`."""
        missing = (
            "SELECT hash FROM windows WHERE tenant_id = %(tenant)s AND chunk_id >= %(since)s"
            f" EXCEPT SELECT hash FROM {_write_embedded(tokens=tokens)}"
        )
        return self._count(f"({missing}) missing", space=space_id, since=since)

    def describe_vectors(self, space_id: int | None) -> tuple[str, str | None]:
        """See `Reader`."""
        if space_id is None:
            return "off", "there are no embeddings yet"
        if space_id in self.own.signed:
            return "signs", f"the {vectors.NEAREST:,} that are nearest by their signs are compared"
        return "exact", f"all are compared; signs choose first where there are more than {vectors.LARGE_WINDOWS:,}"

    def count_windows(self, *, since: int = 0, distinct: bool = False) -> int:
        """See `Reader`."""
        where = "tenant_id = %(tenant)s AND chunk_id >= %(since)s"
        return self._count(f"windows WHERE {where}", "DISTINCT hash" if distinct else "*", since=since)

    def find_embedded(self, space_id: int, hashes: Collection[bytes], *, tokens: bool = False) -> set[bytes]:
        """See `Reader`."""
        found = self._list(
            f"SELECT hash FROM {_write_embedded(tokens=tokens)} AND hash = ANY (%(hashes)s)",
            {"space": space_id, "hashes": list(hashes)},
        )
        return set(found)

    def load_calibration(self, space_id: int) -> tuple[Calibration, int] | None:
        """See `Reader`."""
        query = "SELECT floor, span, judged FROM spaces WHERE tenant_id = %(tenant)s AND id = %(space)s"
        found = self._rows(f"{query} AND floor IS NOT NULL", {"space": space_id})
        return next(((Calibration(floor=floor, span=span), judged) for floor, span, judged in found), None)

    def sample_embeddings(self, space_id: int, limit: int) -> Rows:
        """See `Reader`."""
        import numpy as np

        found = self._list(
            "SELECT coalesce(v::real[], h::vector::real[]) FROM embeddings e"
            " WHERE tenant_id = %(tenant)s AND space_id = %(space)s"
            " AND EXISTS (SELECT 1 FROM windows w WHERE w.tenant_id = e.tenant_id AND w.hash = e.hash OFFSET 0)"
            " ORDER BY hash LIMIT %(limit)s",
            {"space": space_id, "limit": limit},
        )
        return np.array(found, dtype=np.float32).reshape(len(found), -1 if found else 0)

    def _rows(self, query: LiteralString, values: Mapping[str, object] | None = None) -> list[tuple[Any, ...]]:
        """Return what a query finds, for which `%(tenants)s` are those to search, and `%(tenant)s` is the agent's own."""
        return self.db.execute(query, {"tenants": self._ids, "tenant": self.own.id, **(values or {})}).fetchall()

    def _list(self, query: LiteralString, values: Mapping[str, object] | None = None) -> list[Any]:
        """Return the first column of what a query finds."""
        return [row[0] for row in self._rows(query, values)]

    def _find_stems(
        self, columns: LiteralString, query: str, spellings: Sequence[str], dates: DateRange
    ) -> list[tuple[Any, ...]]:
        """Return columns of the chunks that match a query, with the places of the stems of some spellings."""
        lexemes, prefixes = list_lexemes(spellings)
        first, last = _to_days(dates)
        return self._rows(
            f"SELECT {columns} FROM find_stems(%(tenants)s, %(query)s::tsquery, %(lexemes)s, %(prefixes)s, %(first)s, %(last)s)",
            {"query": query, "lexemes": lexemes, "prefixes": prefixes, "first": first, "last": last},
        )

    def _count(self, rows: str, counted: str = "*", **values: object) -> int:
        """Count rows of the agent's own tenant, which `rows` calls `%(tenant)s`."""
        return int(self._list(f"SELECT count({counted}) FROM {rows}", values)[0])

    def _find_tenant(self, path: str) -> tuple[Tenant, str]:
        for tenant in self._tenants:
            if (prefix := self._prefixes.get(tenant.id)) and path.startswith(prefix):
                return tenant, path.removeprefix(prefix)
        return self.own, path

    def _count_spellings(self, spellings: Sequence[str]) -> Mapping[str, int]:
        queries = {each: write_query([each]) for each in spellings}
        return dict.fromkeys(spellings, 0) | self._count_matches(
            {each: query for each, query in queries.items() if query}
        )

    def _count_matches(self, queries: Mapping[str, str]) -> dict[str, int]:
        """Return the number of chunks that match each query, given by any keys."""
        missing = [query for query in dict.fromkeys(queries.values()) if query not in self._counts]
        if missing:
            found = fetch_value(self.db, "SELECT count_matches(%s, %s::text[])", (self._ids, missing))
            self._counts.update(zip(missing, found, strict=True))
        return {key: self._counts[query] for key, query in queries.items()}


def unpack_units(numbers: Sequence[int]) -> list[Unit]:
    """Return units from quadruples."""
    each = iter(numbers)
    return [*map(Unit._make, zip(each, each, each, each, strict=True))]


def _to_days(dates: DateRange) -> tuple[str | None, str | None]:
    return dates.first.isoformat() if dates.first else None, dates.last.isoformat() if dates.last else None


def _has_valid_units(units: Sequence[Unit], text: str) -> bool:
    """Return True if a chunk has units, all lie in its text, and their lines count up from 0."""
    return bool(units) and all(
        0 <= unit.start <= unit.end <= len(text) and 0 <= unit.first_line <= unit.last_line for unit in units
    )


def _read_day(day: str | None) -> str | None:
    """Return an ISO date; None for none, and for what is no date."""
    try:
        return None if day is None else date.fromisoformat(day).isoformat()
    except ValueError:
        return None


def _write_embedded(*, tokens: bool = False) -> str:
    """Return the SQL of the own tenant's embeddings in a space; with `tokens`, of those with embeddings of their tokens."""
    bits = " AND bits IS NOT NULL" if tokens else ""
    return f"embeddings WHERE tenant_id = %(tenant)s AND space_id = %(space)s{bits}"
