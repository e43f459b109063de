"""Ranks of units and scores of candidates: the evidence of words and of vectors together."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import add
from typing import TYPE_CHECKING, NamedTuple

from memory_core.embeddings.protocols import is_calibrated
from memory_core.embeddings.vectors import DEFAULT_CALIBRATION, calibrate
from memory_core.search import scores
from memory_core.search.candidates import Candidate, TermCounts, add_up
from memory_core.search.confidence import BY_KEYWORD, WITH_CONTEXT, WITH_TABLE, Confidence
from memory_core.search.copies import is_reported, only_asks, tells
from memory_core.search.question import Question
from memory_core.search.recency import Recency, compare_ages
from memory_core.sources.session_logs import SOURCE
from memory_core.stores.interface import Reader
from memory_core.stores.values import IndexedChunk, ServingSpace
from memory_core.text.folding import fold
from memory_core.text.markdown import looks_like_row
from memory_core.text.terms import detect_language, find_cjk_share
from memory_core.text.tokens import WORD

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory_core.embeddings.protocols import EmbeddingProvider, TokenEmbedding, TokenModel
    from memory_core.records import Calibration
    from memory_core.search.similarity import TokenNearness

LONG_TABLE = 12  # rows in one chunk, from which on each is ranked by itself
WINDOWS = 3  # a chunk: those of the judged sets have 1 to 4
# Candidates, and characters of each, that tell how a table cuts the words of the notes.
READ_CHUNKS, READ_CHARS = 4, 300


class VectorQuery(NamedTuple):
    """The vector side of one search.

    Attributes:
        space_id: The space that serves.
        vector: The question's embedding in it.
        calibration: Tells what its cosines mean.
        tokens: The question's parts with their tokens, where the provider offers them.
        table: The provider's table of tokens, where it offers one.
    """

    space_id: int
    vector: NDArray[np.float32]
    calibration: Calibration
    tokens: TokenEmbedding | None = None
    table: TokenModel | None = None


_Counted = tuple[dict[int, float], int]  # the terms that a text holds, by their numbers; and its length in words


class Score(NamedTuple):
    """The absolute score of a chunk, 0..1: in all, by meaning, by keyword."""

    whole: float
    vector: float | None
    text: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The ranks of units and the scores of candidates, with the parts that they are made of.

    Attributes:
        ranks: For every unit the whole value.
        scores: The score of every candidate.
        text_ranks: For every unit its value by words, with the bonus of its note's name, and for holding much of the question.
        cosines: Of the best window of every candidate; empty without vectors.
        window_shares, token_shares: What was added for every unit; empty without vectors.
        period_bonus: What was added for units of the period that the question names.
        confidence: Tells how surely units answer; None where meaning alone counts.
        recency: What the age of statements has added to the ranks.
    """

    ranks: list[float]
    scores: list[Score]
    text_ranks: list[float]
    cosines: Sequence[float] = ()
    window_shares: Sequence[float] = ()
    token_shares: Sequence[float] = ()
    period_bonus: float = 0.0
    confidence: Confidence | None = None
    recency: Recency = field(default_factory=Recency)

    def rate(self, unit: int, candidate: int) -> float:
        """Return the score that a hit of one unit shows, given the unit's number and that of its candidate."""
        evidence = self.scores[candidate].whole
        return evidence if self.confidence is None else self.confidence.rate(unit, evidence)


def _find_weak(counts: TermCounts) -> Iterator[float]:
    """Yield for every unit how weak it is, by its number: 0, 1 in a report, `ONLY_ASKS` where it only asks the question again.

    A unit of a note counts as such if it holds most of the words, and neither it nor the next unit tells anything: in a list of
    questions and answers, the next unit is the answer.
    """
    words = {fold(word.text) for word in counts.question.words}
    for (number, index), held in zip(counts.units, counts.counts, strict=True):
        chunk = counts.candidates[number].chunk
        if chunk.source == SOURCE:
            asks = only_asks(chunk.quote_unit(index), words)
        else:
            asks = 2 * len(held) > len(words) and not any(
                tells(chunk.quote_unit(each)) for each in range(index, min(index + 2, len(chunk.units)))
            )
        yield scores.ONLY_ASKS if asks else is_reported(chunk, index)


def choose_calibration(serving: ServingSpace, provider: EmbeddingProvider) -> Calibration:
    """Return the provider's calibration if it knows it, else the one that the index has estimated."""
    if is_calibrated(provider):
        return provider.calibration
    return serving.calibration or DEFAULT_CALIBRATION


def judge(reader: Reader, counts: TermCounts, *, weights: scores.Weights, vectors: VectorQuery | None) -> Judgement:
    """Rank every unit and score every candidate.

    Args:
        reader: Of the index that is searched.
        counts: Of the candidates of the question.
        weights: Of the two sides.
        vectors: The question as a vector; None judges by keyword alone.
    """
    question, candidates = counts.question, counts.candidates
    others = [*map(max, find_other_speakers(question, candidates, counts.units), _find_weak(counts))]
    rows = _find_rows(counts)
    text_ranks = _rank_by_text(counts, weights, others=others, rows=rows)
    covered = [question.certainty * scores.coverage(question.weights, held) for held in counts.found]
    if question.characters:
        before = len(question.words) + len(question.phrases)
        held = counts.best_shares([0.0] * before + question.rarities[before:])
        covered = [share + scores.CHARACTER_EVIDENCE * single for share, single in zip(covered, held, strict=True)]
    least = [
        max(scores.IDENTIFIED * identified, scores.OF_DAY * question.is_of_day(candidate.chunk))
        for identified, candidate in zip(counts.identified, candidates, strict=True)
    ]
    texts = [
        max(scores.score(share + scores.BEST_UNIT * (question.certainty * best - share), question.exponent), floor)
        for share, best, floor in zip(covered, counts.best_shares(question.weights), least, strict=True)
    ]
    if vectors is None or not candidates:
        ranks, bonus = _prefer_period(text_ranks, counts)
        points = None if question.cjk else BY_KEYWORD
        return Judgement(
            ranks=ranks, scores=[Score(text, None, text) for text in texts], text_ranks=text_ranks, period_bonus=bonus,
            confidence=Confidence(counts, others, points=points),
        )  # fmt: skip
    from memory_core.search import similarity

    chunks = [candidate.chunk for candidate in candidates]
    of_units, of_chunks = similarity.compare_windows(reader, vectors.space_id, vectors.vector, chunks)
    by_token, (window_share, token_share) = (
        _compare_tokens(reader, question, chunks, vectors) if weights.vector else (None, scores.WITHOUT_TOKENS)
    )
    share_by_meaning = weigh_vectors(question, vectors)
    window_share *= weights.vector * share_by_meaning
    # With a table, late interaction knows half of the characters in CJK.
    token_share *= weights.vector * (1.0 - (1.0 - scores.TABLE_TOKEN_SHARE) * _find_spelt(question, vectors.table))
    near = scores.spread(of_units)
    alike = scores.scale(by_token.units) if by_token else [0.0] * len(near)
    for row in rows if weights.text else ():  # the meaning of a window, which holds many rows, says little of one
        by_words = min(text_ranks[row] / weights.text, 1.0)
        near[row], alike[row] = max(near[row], by_words), max(alike[row], by_words)
    window_shares = [window_share * window for window in near]
    token_shares = [token_share * token for token in alike]
    ranks = [sum(parts) for parts in zip(text_ranks, window_shares, token_shares, strict=True)]
    ranks, bonus = _prefer_period(ranks, counts)
    unknown = _are_words_unknown(question, vectors.table)
    calibration = _calibrate_question(question, vectors, chunks)
    near = [scores.vector_score(cosine, calibration, unknown_words=unknown) for cosine in of_chunks]
    conclude = partial(
        Judgement, ranks=ranks, text_ranks=text_ranks, cosines=of_chunks, window_shares=window_shares,
        token_shares=token_shares, period_bonus=bonus,
    )  # fmt: skip
    if not weights.text:
        return conclude(scores=[Score(vector, vector, None) for vector in near])
    expected = scores.EXPECTED if vectors.table else scores.expect(question.kind, calibration)
    foreign_cone = scores.FOREIGN_CONE * (detect_language(question.text) not in (None, "en"))
    # Of chunks without a word of the question.
    without_word = _widen_cone(calibration, foreign_cone, question, vectors)
    find_nearness = partial(
        scores.nearness, kind=question.kind, unknown_words=unknown, expected=expected,
        reworded=any(word.asked or word.in_part for word in question.words),
    )  # fmt: skip
    by_meaning = [
        find_nearness(cosine, calibration if share else without_word, covered=share)
        for share, cosine in zip(covered, of_chunks, strict=True)
    ]
    if question.cjk and vectors.table is None:
        by_meaning = _doubt_ideographs(question, chunks, by_meaning)
    evidence = [share + share_by_meaning * value for share, value in zip(covered, by_meaning, strict=True)]
    whole = [max(scores.score(each, question.exponent), floor) for each, floor in zip(evidence, least, strict=True)]
    of_unit = _widen_cone(calibration, scores.find_cone(vectors.calibration), question, vectors)

    def score_window(unit: int) -> float:
        return share_by_meaning * scores.vector_score(of_units[unit], of_unit, unknown_words=unknown)

    measured = WITH_TABLE if vectors.table is not None else WITH_CONTEXT if vectors.tokens is not None else None
    confidence = Confidence(
        counts, others, score_window, by_token and by_token.words, None if question.cjk else measured
    )
    return conclude(scores=[*map(Score, whole, near, texts)], confidence=confidence)


def _prefer_period(ranks: Sequence[float], counts: TermCounts) -> tuple[list[float], float]:
    """Return ranks with the bonus of units that belong to the period of the question, and that bonus."""
    question = counts.question
    period = question.period
    dated = [question.is_dated(candidate.chunk) for candidate in counts.candidates]
    if period is None or not any(dated):
        return list(ranks), 0.0
    bonus = scores.period_bonus((period.last - period.first).days + 1, max(ranks))
    return [rank + bonus * dated[chunk] for rank, (chunk, _) in zip(ranks, counts.units, strict=True)], bonus


def prefer_matter(judgement: Judgement) -> Judgement:
    """Return a judgement in which those lines rank higher that are about the very matter of the question.

    In this order: what no evidence speaks for loses, what holds more of the question gains, what lacks a name of the question
    loses, and the age of statements counts; see `compare_ages`.
    """
    confidence = judgement.confidence
    if confidence is None:
        return judgement
    ranks, counts, question = judgement.ranks, confidence.counts, confidence.question
    added = [0.0] * len(ranks)
    if question.kind != "statement":
        supported = [score.whole > 0 for score in judgement.scores]
        units = zip(ranks, counts.units, strict=True)
        ranks = [rank if supported[chunk] else min(rank, scores.UNSUPPORTED * rank) for rank, (chunk, _) in units]
        if not question.cjk:  # whose words are pairs of characters
            best = max(ranks, default=0.0)
            least, most = scores.SUPPORTED_FROM * best, scores.SUPPORT * best
            added = [most * confidence.support(unit) if rank >= least else 0.0 for unit, rank in enumerate(ranks)]
            ranks = [*map(add, ranks, added)]
    if confidence.names:
        taken = scores.LACKS_NAME * max(ranks, default=0.0)
        ranks = [rank - taken * confidence.lack_names(unit) for unit, rank in enumerate(ranks)]
    recency = compare_ages(confidence, ranks)
    if recency.bonuses:
        ranks = [rank + recency.bonuses.get(unit, 0.0) for unit, rank in enumerate(ranks)]
    return replace(judgement, ranks=ranks, text_ranks=[*map(add, judgement.text_ranks, added)], recency=recency)


def put_at(judgement: Judgement, unit: int, candidate: int, share: float) -> Judgement:
    """Return a judgement in which a unit has a share of the best rank, if not more, and its candidate the best one's evidence.

    Args:
        judgement: The one before.
        unit, candidate: Their numbers.
        share: Above 1 for a line that is newer than the best one.
    """
    added = max(share * max(judgement.ranks) - judgement.ranks[unit], 0.0)
    ranks = [rank + added * (place == unit) for place, rank in enumerate(judgement.ranks)]
    bonuses = {**judgement.recency.bonuses, unit: judgement.recency.bonuses.get(unit, 0.0) + added}
    scored = [*judgement.scores]
    scored[candidate] = scored[candidate]._replace(whole=max(score.whole for score in scored))
    return replace(judgement, ranks=ranks, scores=scored, recency=replace(judgement.recency, bonuses=bonuses))


def _rank_by_text(
    counts: TermCounts, weights: scores.Weights, *, others: Sequence[float], rows: Mapping[int, _Counted]
) -> list[float]:
    """Return for every unit its weighted keyword value, with the bonus of its note's name.

    Args:
        counts: Of the candidates.
        weights: Of the two sides.
        others: For every unit how weak it is; see `Confidence.others`.
        rows: See `_find_rows`.
    """
    question, candidates = counts.question, counts.candidates
    own = scores.scale(scores.bm25(counts.counts, counts.lengths, question.rarities))
    lengths = [*counts.chunk_lengths, *(length for _, length in rows.values())]
    held = [*counts.chunk_counts, *(terms for terms, _ in rows.values())]
    average = sum(counts.chunk_lengths) / max(len(counts.chunk_lengths), 1)
    chunks = scores.scale(scores.bm25(held, lengths, question.rarities, average=average))
    place = dict(zip(rows, range(len(candidates), len(held)), strict=True))
    bonus = [scores.NAMED_BONUS * candidate.is_named for candidate in candidates]
    share = scores.UNIT_SHARE
    return [
        bonus[chunk]
        - scores.OTHER_SPEAKER * other
        + weights.text * (share * unit + (1 - share) * chunks[place.get(number, chunk)])
        for number, (unit, (chunk, _), other) in enumerate(zip(own, counts.units, others, strict=True))
    ]


def _find_rows(counts: TermCounts) -> dict[int, _Counted]:
    """Return the rows of long tables that hold the rarest word of a question, by the numbers of their units.

    Each comes with the terms of its own, of what stands above the table, and of the table's head. These are the context of a
    row, and not its chunk, whose other rows tell of other things.
    """
    candidates = counts.candidates
    known = [(word.documents, number) for number, word in enumerate(counts.question.words) if word.documents]
    tables = ["|" in candidate.chunk.text for candidate in candidates]
    in_table = Counter(at for at, index in counts.units if tables[at] and _is_row(candidates[at].chunk, index))
    if not known or max(in_table.values(), default=0) < LONG_TABLE:
        return {}
    rarest = min(known)[1]
    rows: dict[int, _Counted] = {}
    head: _Counted = {}, 0
    for unit, (number, index) in enumerate(counts.units):
        if in_table[number] < LONG_TABLE:
            continue
        chunk = candidates[number].chunk
        span, is_row = chunk.units[index], _is_row(chunk, index)
        if not index or not is_row:
            head = {}, 0
        if is_row and span.last_line > span.first_line:
            head = counts.counts[unit], counts.lengths[unit]
        elif is_row and rarest in counts.counts[unit]:
            above = dict.fromkeys(counts.above[unit], 1.0)
            length = counts.lengths[unit] + len(WORD.findall(chunk.context)) + head[1]
            rows[unit] = add_up([counts.counts[unit], above, head[0]]), length
    return rows


def _is_row(chunk: IndexedChunk, index: int) -> bool:
    return looks_like_row(chunk.quote_unit(index))


def _compare_tokens(
    reader: Reader, question: Question, chunks: Sequence[IndexedChunk], vectors: VectorQuery
) -> tuple[TokenNearness | None, tuple[float, float]]:
    """Return the findings of late interaction, and the shares of a unit's window, and of its tokens, in its rank."""
    from memory_core.search import similarity

    if vectors.table is not None:
        found, shares = similarity.compare_table(vectors.table, question, chunks), scores.WITH_TABLE
    else:
        found = similarity.compare_tokens(reader, vectors.space_id, vectors.tokens, question, chunks)
        shares = scores.WITH_CONTEXT
    return found, shares if found else scores.WITHOUT_TOKENS


def _doubt_ideographs(question: Question, chunks: Sequence[IndexedChunk], values: Sequence[float]) -> list[float]:
    """Return what nearness says for chunks, less for those in CJK where the notes hold little of a question in CJK.

    A question in one script about notes in another has no pair of characters in common with them, and is trusted.
    """
    doubt = question.cjk * (1 - scores.trust(question.known, question.chunks, question.kind))
    if not doubt:
        return list(values)
    return [
        value * (1 - doubt * min(2 * find_cjk_share(chunk.text), 1.0)) if value > 0 else value
        for value, chunk in zip(values, chunks, strict=True)
    ]


def weigh_vectors(question: Question, vectors: VectorQuery) -> float:
    """Return what cosines count for this question, 0..1: nothing for a number alone, since another number is not near to it.

    A table of tokens knows few ideographs, and few words of some alphabets. It spells the others in bytes or letters, which
    all texts of a script share.
    """
    if question.misses_number:
        return 0.0
    return 1.0 - (1.0 - scores.TABLE_SHARE) * _find_spelt(question, vectors.table)


def _calibrate_question(question: Question, vectors: VectorQuery, chunks: Sequence[IndexedChunk]) -> Calibration:
    """Return the calibration for one question: that of the space, unless the model is a table of tokens.

    Texts that a table cuts into small pieces or letters are near each other, whatever they say. The more of the question and of
    the notes it cuts so, the narrower is the cone of the calibration.

    Args:
        question: The question.
        vectors: Its vectors.
        chunks: The candidates.
    """
    table = vectors.table
    if table is None:
        return vectors.calibration
    pieces = scores.find_pieces(table, [word.text for word in question.words])
    if pieces:
        notes = " ".join([chunk.text[:READ_CHARS] for chunk in chunks[:READ_CHUNKS]])
        pieces = min(pieces, scores.find_pieces(table, WORD.findall(notes)))
    return calibrate(scores.TABLE_CONE * max(_find_spelt(question, table), pieces), WINDOWS * question.chunks)


def _widen_cone(calibration: Calibration, cone: float, question: Question, vectors: VectorQuery) -> Calibration:
    """Return a calibration for a cone of at least this size if the model is a table of tokens; any other as it is.

    To a table of English tokens, all texts in another language are alike.
    """
    if vectors.table is None:
        return calibration
    return calibrate(max(cone, scores.find_cone(calibration)), WINDOWS * question.chunks)


def _find_spelt(question: Question, table: TokenModel | None) -> float:
    """Return the share of a question that a table spells in bytes or letters, 0..1; 0 without a table."""
    if table is None or question.text.isascii():
        return 0.0
    return scores.find_spelt(table, [word.text for word in question.words], question.cjk)


def _are_words_unknown(question: Question, table: TokenModel | None) -> bool:
    """Return True if the index holds none of the words, and the model's table, if there is one, must spell them out.

    Other models need no such excuse: free paraphrases pass all the same (30 of 30 in tests/data/retrieval), and nonsense of
    real words does so more often with it (.037 instead of .010). A list of words about a code that no chunk holds counts as
    unknown, too: notes about another code are near it.
    """
    if question.misses_identifier and not question.is_sentence:
        return True
    if any(word.documents for word in question.words):
        return False
    words = [word.text for word in question.words]
    return table is None or sum(map(len, table.token_ids(words))) > scores.SPELT_TOKENS * len(words)


MAX_LABEL = 48  # characters of a line within which its label ends
_LABEL = re.compile(r"[\s>*+_-]{0,8}([^\W\d_][\w.' -]{0,40})\*{0,2}:")


def find_other_speakers(
    question: Question, candidates: Sequence[Candidate], units: Sequence[tuple[int, int]]
) -> list[bool]:
    """Return True for every unit that the other one of two speakers says than the question names.

    What a question asks of one of two, that one tells. In a meeting of more, others tell it as well: those are left alone. So are
    labels that stand once in a file, such as "Phone:", and questions that name both.

    Args:
        question: Names are found in it with their capitals, unless it has none.
        candidates: The chunks.
        units: (number of the candidate, number of the unit in it) of every unit.

    Returns:
        One value for each unit.
    """
    text = question.text if question.text != question.text.lower() else question.text.title()
    asked = WORD.findall(text)
    if not any(word[0].isupper() for word in asked):
        return [False] * len(units)
    labels: list[tuple[str, str, str] | None] = [None] * len(units)
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for place, (number, index) in enumerate(units):
        chunk = candidates[number].chunk
        start = chunk.units[index].start
        end = chunk.text.find(":", start, start + MAX_LABEL) + 1
        if end and (found := _LABEL.match(chunk.text, start, end)) is not None:
            name = found[1].strip("_ ")
            labels[place] = chunk.source, chunk.path, name
            counts[chunk.source, chunk.path][name] += 1
    others = set()
    for file, names in counts.items():
        speakers = [name for name, count in names.items() if count > 1]
        silent = [name for name in speakers if not _holds(asked, WORD.findall(name))]
        if len(speakers) == 2 and len(silent) == 1:
            others.add((*file, silent[0]))
    return [label in others for label in labels]


def _holds(words: list[str], name: list[str]) -> bool:
    """Return True if the words of a name stand among others, side by side."""
    return any(words[at : at + len(name)] == name for at in range(len(words) - len(name) + 1))
