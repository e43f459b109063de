"""A question to passages: keyword and vector candidates, their units ranked, a calibrated score for what is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory_core import ranking
from memory_core.records import Hit, Mode, Query, Unit
from memory_core.settings import Hybrid
from memory_core.snippets import choose_units, passage
from memory_core.store.connection import Connection, Tokenize, tokenizer
from memory_core.store.rows import END_OF_UNIT, unpack_units
from memory_core.store.vectors import VectorIndex, as_rows
from memory_core.terms import cut_cjk, is_single_cjk, match_expression, question_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory_core.hookspecs import TokenModel

MIN_DEPTH = 50  # chunks a leg, whatever maxResults is
RANKED_CHUNKS = 32  # ranking the units of more changes nothing (R4000 .850 against .850)
MAX_TERMS = 48  # of a question; the rarest stay
COMMON_SHARE = 0.25  # of the chunks: a term in more is left out of the match of a large hybrid search
COMMON_FROM = 1000  # chunks
_BREAK = "\ue000u"  # a word of a private character, which no stemmer changes and no note holds: stands between units


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the question as the keyword index holds it.

    Attributes:
        word: As it stands in the question, lower case.
        stem: As the index holds it.
        documents: In how many chunks it stands.
    """

    word: str
    stem: str
    documents: int


@dataclass(frozen=True, slots=True)
class Question:
    """A question made ready: its terms with their counts in this index."""

    terms: tuple[Term, ...]
    chunks: int

    @property
    def weights(self) -> list[float]:
        """The share of each term in the question."""
        return [ranking.coverage_weight(self.chunks, term.documents) for term in self.terms]


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vector side of one search: the space that serves, the question's embedding, a token model if there is one."""

    space_id: int
    query: NDArray[np.float32]
    tokens: TokenModel | None = None


@dataclass(frozen=True, slots=True)
class _Candidate:
    id: int
    path: str
    source: str
    start_line: int
    context: str
    text: str
    units: Sequence[Unit]
    tokens: bytes | None
    bm25: float
    cosine: float


def search(
    connection: Connection, query: Query, hybrid: Hybrid, *, index: VectorIndex, vectors: Vectors | None
) -> tuple[list[Hit], Mode]:
    """Hits for a query from one moment of the index, best first.

    Args:
        connection: Inside a read transaction.
        vectors: None searches by keyword alone.

    Returns:
        The hits, each scoring at least `query.min_score`, no line of a note twice; and which evidence was used.
    """
    tokenize = tokenizer(connection)
    question = ready(connection, query.text, tokenize)
    mode: Mode = "keyword" if vectors is None else "hybrid" if hybrid.enabled else "vector"
    if not question.terms or not question.chunks:
        return [], mode
    weights = ranking.Weights.normalised(hybrid.vector_weight, hybrid.text_weight)
    if mode == "keyword":
        weights = ranking.Weights(0.0, 1.0)
    elif mode == "vector":
        weights = ranking.Weights(1.0, 0.0)
    depth = max(MIN_DEPTH, query.max_results * hybrid.candidate_multiplier)
    by_text = _keyword_leg(connection, question, query, depth, hybrid=mode == "hybrid") if weights.text else {}
    by_vector = _vector_leg(connection, index, vectors, query, depth) if vectors is not None and weights.vector else {}
    candidates = _load(connection, _best(by_text, by_vector, weights, max(RANKED_CHUNKS, query.max_results)), by_text, by_vector)
    if vectors is not None:
        candidates = [candidate for candidate in candidates if candidate.units]
    return _Ranker(connection, question, tokenize, vectors, weights, mode).hits(candidates, query), mode


def ready(connection: Connection, text: str, tokenize: Tokenize) -> Question:
    """The terms of a question with their counts; of very many words the rarest stay."""
    chunks = int(connection.execute("SELECT count(*) FROM chunks").get)
    terms: dict[str, Term] = {}
    for word in question_words(text):
        stem = "".join(tokenize(cut_cjk(word).encode() if not is_single_cjk(word) else word.encode())[:1])
        if stem and stem not in terms:
            terms[stem] = Term(word, stem, _documents(connection, stem, prefix=is_single_cjk(word)))
    kept = sorted(terms.values(), key=lambda term: (term.documents == 0, term.documents))[:MAX_TERMS]
    return Question(tuple(term for term in terms.values() if term in kept), chunks)


def _documents(connection: Connection, stem: str, *, prefix: bool) -> int:
    where = "term >= ?1 AND term < ?1 || char(1114111)" if prefix else "term = ?1"
    return int(connection.execute(f"SELECT coalesce(max(doc), 0) FROM chunks_terms WHERE {where}", (stem,)).get)


def _dated(query: Query) -> tuple[str, dict[str, str]]:
    """The date filter as SQL on `f.date`, with its bindings."""
    clauses, bindings = "", {}
    for name, comparison, day in (("after", ">=", query.after), ("before", "<=", query.before)):
        if day is not None:
            clauses += f" AND f.date {comparison} :{name}"
            bindings[name] = day.isoformat()
    return clauses, bindings


def _keyword_leg(
    connection: Connection, question: Question, query: Query, depth: int, *, hybrid: bool
) -> dict[int, float]:
    """BM25 of the best chunks, higher is better, by chunk id."""
    terms = [term for term in question.terms if term.documents]
    if hybrid and question.chunks >= COMMON_FROM:
        rare = [term for term in terms if term.documents <= COMMON_SHARE * question.chunks]
        terms = rare if len(rare) >= 2 else sorted(terms, key=lambda term: term.documents)[:2]
    if not terms:
        return {}
    clauses, bindings = _dated(query)
    joined = "JOIN chunks c ON c.id = chunks_fts.rowid JOIN files f ON f.id = c.file_id" if clauses else ""
    rows = connection.execute(
        f"SELECT chunks_fts.rowid, -bm25(chunks_fts) AS score FROM chunks_fts {joined}"
        f" WHERE chunks_fts MATCH :match {clauses} ORDER BY score DESC LIMIT :depth",
        {"match": match_expression(term.word for term in terms), "depth": depth, **bindings},
    )
    return dict(rows)


def _vector_leg(
    connection: Connection, index: VectorIndex, vectors: Vectors, query: Query, depth: int
) -> dict[int, float]:
    """Cosine of the best window of the best chunks, by chunk id."""
    clauses, bindings = _dated(query)
    near = index.nearest(connection, vectors.space_id, vectors.query, depth * (8 if clauses else 3))
    cosines = {window.hash: window.cosine for window in near}
    rows = connection.execute(
        "SELECT w.hash, w.chunk_id FROM windows w CROSS JOIN chunks c ON c.id = w.chunk_id CROSS JOIN files f ON f.id = c.file_id"
        f" WHERE w.hash IN ({','.join(f':h{i}' for i in range(len(near)))}) {clauses}",
        {**{f"h{i}": window.hash for i, window in enumerate(near)}, **bindings},
    )
    found: dict[int, float] = {}
    for key, chunk_id in rows:
        found[chunk_id] = max(found.get(chunk_id, -1.0), cosines[key])
    return dict(sorted(found.items(), key=lambda item: -item[1])[:depth])


def _best(by_text: Mapping[int, float], by_vector: Mapping[int, float], weights: ranking.Weights, count: int) -> list[int]:
    """The chunks whose units are worth ranking."""
    top_text, top_vector = max(by_text.values(), default=1.0), max(by_vector.values(), default=1.0)
    low_vector = min(by_vector.values(), default=0.0)
    span = (top_vector - low_vector) or 1.0

    def fused(chunk_id: int) -> float:
        text = by_text.get(chunk_id, 0.0) / (top_text or 1.0)
        vector = (by_vector.get(chunk_id, low_vector) - low_vector) / span
        return text + vector if weights.text and weights.vector else max(text, vector)

    return sorted({**by_text, **by_vector}, key=fused, reverse=True)[:count]


def _load(
    connection: Connection, ids: Sequence[int], by_text: Mapping[int, float], by_vector: Mapping[int, float]
) -> list[_Candidate]:
    rows = connection.execute(
        "SELECT c.id, f.path, f.source, c.start_line, c.context, c.text, c.units, c.tokens FROM chunks c"
        f" JOIN files f ON f.id = c.file_id WHERE c.id IN ({','.join(map(str, ids))})"
    )
    return [
        _Candidate(
            chunk_id, path, source, start, context, text, unpack_units(units), tokens,
            by_text.get(chunk_id, 0.0), by_vector.get(chunk_id, 0.0),
        )
        for chunk_id, path, source, start, context, text, units, tokens in rows
    ]  # fmt: skip


class _Ranker:
    """Ranks the units of the candidates of one question and fills the passages."""

    def __init__(
        self, connection: Connection, question: Question, tokenize: Tokenize, vectors: Vectors | None,
        weights: ranking.Weights, mode: Mode,
    ) -> None:  # fmt: skip
        self._db = connection
        self._question = question
        self._tokenize = tokenize
        self._vectors = vectors
        self._weights = weights
        self._mode = mode
        self._column = {term.stem: i for i, term in enumerate(question.terms)}
        self._prefixes = any(is_single_cjk(term.word) for term in question.terms)

    def hits(self, candidates: Sequence[_Candidate], query: Query) -> list[Hit]:
        """The best places, each filled with its best units."""
        import numpy as np

        candidates = [candidate for candidate in candidates if candidate.units]
        if not candidates:
            return []
        owner = np.repeat(np.arange(len(candidates)), [len(candidate.units) for candidate in candidates])
        first = np.concatenate(([0], np.cumsum([len(candidate.units) for candidate in candidates])))
        fused = self._fused(candidates, owner)
        found: list[Hit] = []
        order = np.argsort(-fused, kind="stable")
        for place in dict.fromkeys(owner[order].tolist()):
            candidate = candidates[place]
            scores = self._scores(candidate, place)
            if scores[0] < query.min_score:
                continue
            ranked = np.argsort(-fused[first[place] : first[place + 1]], kind="stable").tolist()
            found.append(_hit(candidate, ranked, scores, query.max_snippet_chars))
            if len(found) == query.max_results:
                break
        return found

    def _fused(self, candidates: Sequence[_Candidate], owner: NDArray[np.int64]) -> NDArray[np.float64]:
        import numpy as np

        counts, lengths, self._found = self._count_terms(candidates)
        total = np.zeros(len(owner))
        if self._weights.text:
            idf = np.array([ranking.inverse_document_frequency(self._question.chunks, t.documents) for t in self._question.terms])
            chunk_text = ranking.scaled(np.array([candidate.bm25 for candidate in candidates]))
            unit_text = ranking.scaled(ranking.bm25(counts, lengths, idf))
            total += self._weights.text * (
                ranking.UNIT_TEXT_SHARE * unit_text + (1 - ranking.UNIT_TEXT_SHARE) * chunk_text[owner]
            )
        if self._vectors is not None and self._weights.vector:
            windows, self._cosines = self._window_cosines(candidates)
            tokens = self._token_scores(candidates)
            share = 0.0 if tokens is None else ranking.TOKEN_SHARE
            total += self._weights.vector * (1 - share) * windows
            if tokens is not None:
                total += self._weights.vector * share * tokens
        return total

    def _count_terms(
        self, candidates: Sequence[_Candidate]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], list[list[bool]]]:
        """Term counts and lengths of every unit; and which terms each chunk holds, its headings included."""
        import numpy as np

        counts = np.zeros((sum(len(candidate.units) for candidate in candidates), len(self._column)))
        lengths = np.zeros(len(counts))
        found: list[list[bool]] = []
        row = 0
        for candidate in candidates:
            held = set(self._tokenize(cut_cjk(candidate.context).encode()))
            for stems in self._stems_of_units(candidate):
                lengths[row] = len(stems)
                for stem in self._column.keys() & stems:
                    counts[row, self._column[stem]] = stems.count(stem)
                    held.add(stem)
                if self._prefixes:
                    held.update(stems)
                row += 1
            found.append([_holds(term, held) for term in self._question.terms])
        return counts, lengths, found

    def _stems_of_units(self, candidate: _Candidate) -> Iterator[list[str]]:
        """The stems of every unit, through one call of the tokenizer."""
        text = f" {_BREAK} ".join([candidate.text[unit.start : unit.end] for unit in candidate.units])
        stems = self._tokenize(cut_cjk(text).encode())
        if stems.count(_BREAK) != len(candidate.units) - 1:  # a note that holds the break itself
            yield from (self._tokenize(cut_cjk(candidate.text[unit.start : unit.end]).encode()) for unit in candidate.units)
            return
        start = 0
        for _ in candidate.units[1:]:
            end = stems.index(_BREAK, start)
            yield stems[start:end]
            start = end + 1
        yield stems[start:]

    def _window_cosines(self, candidates: Sequence[_Candidate]) -> tuple[NDArray[np.float64], list[float]]:
        """For every unit the cosine of its window, scaled over all; and for every chunk its best window's cosine."""
        import numpy as np

        assert self._vectors is not None
        place = {candidate.id: number for number, candidate in enumerate(candidates)}
        rows = self._db.execute(
            "SELECT w.chunk_id, w.first, w.last, e.embedding FROM windows w"
            " CROSS JOIN embedding_cache e"  # CROSS: windows first, whatever the planner thinks
            f" WHERE w.chunk_id IN ({','.join(map(str, place))}) AND e.space_id = ? AND e.hash = w.hash",
            (self._vectors.space_id,),
        ).fetchall()
        starts = np.concatenate(([0], np.cumsum([len(candidate.units) for candidate in candidates])))
        units = np.zeros(starts[-1])
        best = [0.0] * len(candidates)
        if rows:
            cosines = as_rows([row[3] for row in rows]) @ self._vectors.query
            for (chunk_id, first, last, _), cosine in zip(rows, cosines.tolist(), strict=True):
                number = place[chunk_id]
                units[starts[number] + first : starts[number] + last + 1] = cosine
                best[number] = max(best[number], cosine)
        return ranking.scaled(units), best

    def _token_scores(self, candidates: Sequence[_Candidate]) -> NDArray[np.float64] | None:
        """Late interaction for every unit, scaled; None without a token model or with chunks that lack their tokens."""
        import numpy as np

        assert self._vectors is not None
        model = self._vectors.tokens
        blobs = [candidate.tokens for candidate in candidates]
        if model is None or any(blob is None for blob in blobs):
            return None
        question, weights = self._question_tokens(model)
        flat = np.frombuffer(b"".join(blob for blob in blobs if blob is not None), dtype="<u2")
        if not len(question):
            return None
        distinct, place = np.unique(flat, return_inverse=True)
        rows = _unit_rows(model.token_vectors(np.where(distinct == END_OF_UNIT, 0, distinct)))
        if distinct[-1] == END_OF_UNIT:
            rows[-1] = 0  # stands for "nothing here", so that no unit is empty
        ends = np.flatnonzero(flat == END_OF_UNIT)
        starts = np.concatenate(([0], ends[:-1] + 1))
        return ranking.scaled(ranking.max_similarity(question, weights, rows, place, starts))

    def _question_tokens(self, model: TokenModel) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Unit vectors of the question's tokens with the weight of their word, shared between its tokens."""
        import numpy as np

        ids = model.token_ids([term.word for term in self._question.terms])
        weights = [weight / len(row) for row, weight in zip(ids, self._question.weights, strict=True) for _ in row]
        flat = np.array([token for row in ids for token in row], dtype=np.uint16)
        return _unit_rows(model.token_vectors(flat)), np.array(weights)

    def _scores(self, candidate: _Candidate, place: int) -> tuple[float, float | None, float | None]:
        """The absolute score of a place, with its vector part and its text part."""
        covered = ranking.coverage(self._question.weights, self._found[place])
        text = ranking.keyword_score(covered)
        if self._vectors is None:
            return text, None, text
        cosine = self._cosines[place]
        vector = ranking.vector_score(cosine)
        if self._mode == "vector":
            return vector, vector, None
        return ranking.hybrid_score(covered, cosine), vector, text


def _holds(term: Term, stems: set[str]) -> bool:
    if is_single_cjk(term.word):
        return any(stem.startswith(term.stem) for stem in stems)
    return term.stem in stems


def _unit_rows(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    import numpy as np

    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


def _hit(
    candidate: _Candidate, ranked: Sequence[int], scores: tuple[float, float | None, float | None], max_chars: int
) -> Hit:
    chosen = choose_units(candidate.units, ranked, max_chars)
    shown = passage(candidate.text, candidate.units, chosen, max_chars)
    score, vector, text = scores
    return Hit(
        path=candidate.path,
        source=candidate.source,
        start_line=candidate.start_line + shown.first_line,
        end_line=candidate.start_line + shown.last_line,
        score=round(score, 4),
        vector_score=None if vector is None else round(vector, 4),
        text_score=None if text is None else round(text, 4),
        snippet=shown.text,
    )
