"""The ages of statements: a question that asks how things are gets the newer ones first, one that asks how they were the older.

- `compare_ages` finds the statements that answer one question, and what their ages add to their ranks. A newer one that gives
  another value of the same kind, as "room 22" after "room 14", comes first. In "who did the books before Nadia?", what is
  older than the notes about Nadia comes first, though it does not name her.
- `find_later` looks for a newer statement that has words of the older one rather than of the question: "Plusway costs more
  from May", after "Broadband: Plusway".
- `find_mention` looks for the last line that tells a change beside the name in an older one: "Heller retires", after "Dentist:
  Paul Heller".
- `mark_replaced` tells in the hits which statement took the place of which.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta

from memory_core.records import Hit, Successor
from memory_core.search.candidates import TermCounts
from memory_core.search.confidence import Confidence
from memory_core.search.copies import is_plain
from memory_core.search.scores import coverage_weight
from memory_core.stores.interface import Reader
from memory_core.stores.values import DateRange, IndexedChunk, Term
from memory_core.text.languages import STOP_WORDS
from memory_core.text.periods import read_time_word
from memory_core.text.tables import PHRASES
from memory_core.text.tense import find_change, tells_change, tells_end, tells_leave, tells_over
from memory_core.text.terms import detect_language, extract_words

# Which statements are about one matter. Each has at least RANKED of the best rank. The share of the question that it holds is at
# most ALIKE below that of the best one, or ALIKE_CHANGED if it tells a change, since such a line says no more than what is new.
# Where even the best one holds less than LEAST, nobody knows what the matter is.
RANKED, ALIKE, ALIKE_CHANGED, LEAST = 0.5, 0.1, 0.5, 0.3
# What is added to ranks, as a share of the best one, at most: to the newest statement if it tells a change, and if it does not;
# to the oldest one, where the question asks how things were.
CHANGED, NEWER, OLDER = 0.3, 0.05, 0.3
# When a later line says the same thing as the best one. In the following, the information of words is the sum of their
# `coverage_weight`. The best line has at most WORDS words, as longer ones tell what has happened. The later one repeats REPEATS
# of its information, or CHANGES of it if it tells a change, and in any case SAID.
WORDS, REPEATS, CHANGES, SAID = 8, 0.5, 0.3, 3.0
# Or it gives another value, as people say in one sentence what changes, and in another how: then its line tells a change, and
# has in common with that of the best unit two words and SHARED of information. That line has at most LINE_WORDS words.
SHARED, LINE_WORDS = 7.0, 40
# Later lines are looked for in CHUNKS chunks, by words that at most HELD chunks hold.
HELD, CHUNKS = 50, 6
# When the name in a statement is looked for: the rank of the statement is at least STATED of the best one, and it has at most
# STATEMENT words. The name has NAMED of information, and is looked for in MENTIONS chunks.
STATED, STATEMENT, NAMED, MENTIONS = 0.7, 16, 2.0, 20
ABOVE, BEHIND = (
    1.01,
    0.99,
)  # of the best rank: the rank of a line that is put before all others, and right behind the best one
_HEADINGS = re.compile(r"\A(?: {0,3}#{1,6}[ \t].*\n\s*)+")
_ADDRESS = re.compile(r"(?<![\w.+-])[\w.+-]++@\w[\w.-]*\w|https?://[^\s)>]+")
_NUMBER = re.compile(r"(?:(?<![^\W\d_])([^\W\d_]++)[ :]{0,2})?(?<![\w.,])(\d+(?:[.,:/-]\d+)*)(?:\s?([^\W\d_]+|%))?")
LETTERS = 5  # by which a word of the question is found in a clause, in another form perhaps
_CLAUSE = re.compile(r"[,;.!?\n](?!\d)")
_BEFORE = re.compile(rf"(?<!\w)(?:{'|'.join(PHRASES['all']['earlier than'].split())})(?!\w)")
_WORD_OR_SIGN = re.compile(r"\w+|:(?=\s)|[,;.()!?]")
_TITLES = frozenset(PHRASES["all"]["titles"].split("; "))
_LABEL = re.compile(r"^[ \t>*+_-]{0,8}([^\W\d_][\w.' -]{0,40})\*{0,2}:", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Recency:
    """The findings about the age of statements.

    Attributes:
        bonuses: What is added to ranks, by the number of the unit.
        newest: The number of the unit that replaces others; None if there is none.
        replaced: The numbers of these.
    """

    bonuses: Mapping[int, float] = field(default_factory=dict)
    newest: int | None = None
    replaced: frozenset[int] = frozenset()


def compare_ages(confidence: Confidence, ranks: Sequence[float]) -> Recency:
    """Find the statements of the matter that is asked about, and what their age adds to their ranks.

    A note without a date is older than all others if the question is about the present. If it is about the past, such a note is
    older than a line that tells a change, and is not compared with others. Lines of a conversation are left out: the words "now"
    and "new" stand everywhere in them.

    Args:
        confidence: Of the units of the search.
        ranks: Of these units.

    Returns:
        Without bonuses for a question about neither present nor past, and for one in CJK.
    """
    question, counts = confidence.question, confidence.counts
    asked = None if question.cjk else question.time
    best = max(ranks, default=0.0)
    if asked is None or best <= 0:
        return Recency()
    if asked == "then" and (bonuses := _prefer_before(confidence, ranks)):
        return Recency(bonuses)
    alike, changes, support = _find_matter(confidence, [rank / best for rank in ranks])
    if not alike:
        return Recency()
    first = max(alike, key=ranks.__getitem__)
    since = alike[first]
    if asked == "then":
        earlier = {unit: day for unit, day in alike.items() if day < since and (day or first in changes)}
        places = _place(earlier.values())
        return Recency({unit: OLDER * best * (1 + 1 / len(places) - places[day]) for unit, day in earlier.items()})
    later = {unit: day for unit, day in alike.items() if day > since}
    places = _place(later.values())
    share = best / (max(support[unit] for unit in alike) or 1.0)
    bonuses = {
        unit: (CHANGED if unit in changes else NEWER) * share * support[unit] * places[day]
        for unit, day in later.items()
    }
    values = _find_values(counts.quote(first)) if later else {}
    words = counts.counts[first].keys()
    comparable = [unit for unit in later if values and (unit in changes or counts.counts[unit].keys() >= words)]
    revalued = [unit for unit in comparable if _differ(values, _find_values(counts.quote(unit)))]
    if revalued:
        last = max(map(later.__getitem__, revalued))
        top = max(rank + bonuses.get(unit, 0.0) for unit, rank in enumerate(ranks))
        bonuses |= {unit: ABOVE * top - ranks[unit] for unit in revalued if later[unit] == last}
    newest = max((*changes, *revalued), key=alike.__getitem__, default=first)
    replaced = [
        unit
        for unit, day in alike.items()
        if "" < day < alike[newest] and counts.counts[unit].keys() == counts.counts[newest].keys()
    ]
    if replaced and (newest not in changes or not _tells_of(confidence, newest)):
        values = _find_values(counts.quote(newest))
        replaced = [unit for unit in replaced if _differ(values, _find_values(counts.quote(unit)))]
    return Recency(bonuses, newest, frozenset(replaced))


def find_later(
    reader: Reader, confidence: Confidence, ranks: Sequence[float], dates: DateRange
) -> tuple[IndexedChunk, int] | None:
    """Find a later line that says the same as the best unit of a question that asks how things are; None if there is none.

    Args:
        reader: Of the index.
        confidence: Of the units of the search.
        ranks: Of these units.
        dates: Those of the notes that are searched.

    Returns:
        Its chunk, and the number of the unit in it.
    """
    best = max(range(len(ranks)), key=ranks.__getitem__)
    index, chunk = confidence.counts.units[best].within, confidence.counts.get_chunk(best)
    if _is_said(chunk, index) or confidence.support(best) < LEAST:
        return None

    said = chunk.quote_unit(index)
    values = _find_values(said)
    stems = {stem: word for word in extract_words(_quote_line(chunk, index)) for stem in reader.stem(word)[:1]}
    stems = {stem: word for stem, word in stems.items() if not word.isdigit()}
    matter = {stem for stem, word in stems.items() if word not in values and _tells_matter(word)}
    said_stems = stems.keys() & {*reader.stem(said)}
    if not matter or len(stems) > LINE_WORDS or (len(said_stems) > WORDS and not values):
        return None
    held = reader.count_by_stem(stems)
    line = {stem: coverage_weight(confidence.question.chunks, held.get(stem, 1)) for stem in stems}
    own = {stem: line[stem] for stem in said_stems}
    whole = sum(own.values())
    changes, repeats = max(SAID, CHANGES * whole), max(SAID, REPEATS * whole)

    def replaces(later: IndexedChunk, place: int) -> float:
        """Return how much a unit repeats, if it says the same thing or gives another value of it; 0 if it does not."""
        unit, around = later.quote_unit(place), {*reader.stem(_quote_line(later, place))}
        if matter.isdisjoint(around):
            return 0.0
        repeated = sum(own[stem] for stem in own.keys() & {*reader.stem(unit)})
        if (
            len(own) <= WORDS
            and repeated >= (changes if tells_change(unit) else repeats)
            and _may_replace(values, unit)
        ):
            return repeated
        if not values:
            return 0.0
        shared = [line[stem] for stem in line.keys() & around]
        if len(shared) < 2 or sum(shared) < SHARED or not tells_change(_quote_line(later, place)):
            return 0.0
        return sum(shared) if _differ(values, _find_values(unit)) else 0.0

    terms = [Term(stems[stem], (stem,), held[stem]) for stem in sorted(line) if 1 < held.get(stem, 0) <= HELD]
    found: list[tuple[float, str, int, IndexedChunk]] = []
    if chunk.date:
        day = min(date.fromisoformat(chunk.date), date.max - timedelta(days=1)) + timedelta(days=1)
        dates = dates._replace(first=max(day, dates.first or day))
    for later in reader.load_chunks(reader.find_by_keyword(terms, dates, CHUNKS)) if terms else ():
        held_here = sum(line[stem] for stem in line.keys() & {*reader.stem(later.text)})
        if later.date and is_plain(later) and held_here >= min(changes, SHARED):
            found += [(much, later.date, -at, later) for at in range(len(later.units)) if (much := replaces(later, at))]
    best_found = max(found, key=lambda each: each[:3], default=None)
    return best_found and (best_found[3], -best_found[2])


def find_mention(
    reader: Reader, confidence: Confidence, ranks: Sequence[float], dates: DateRange
) -> tuple[IndexedChunk, int] | None:
    """Find the last line that tells a change beside the name in the statement of a note without a date that answers the question.

    It may tell who or what is there now, or something else of the same name: it stands behind the statement.

    Returns:
        Its chunk, and the number of the unit in it; None if there is none.
    """
    question, counts = confidence.question, confidence.counts
    least = STATED * max(ranks)
    stated = [
        unit
        for unit, rank in enumerate(ranks)
        if rank >= least and not counts.get_chunk(unit).date and is_plain(counts.get_chunk(unit))
    ]
    best = max(stated, key=ranks.__getitem__, default=None)
    if best is None or confidence.support(best) < LEAST:
        return None
    said = _HEADINGS.sub("", counts.quote(best))
    known = {stem for word in question.words for stem in (word.stems[0], *(form.stem for form in word.forms))}
    names = _find_name(reader, said, known) if len(said.split()) <= STATEMENT else {}
    terms = [
        Term(names[stem], (stem,), count)
        for stem, count in sorted(reader.count_by_stem(names).items())
        if count > 1 and coverage_weight(question.chunks, count) >= NAMED
    ]
    stems = {term.stems[0] for term in terms}
    found = [
        (later.date, later.start_line + unit.first_line, at, later)
        for later in (reader.load_chunks(reader.find_by_keyword(terms, dates, MENTIONS)) if terms else ())
        if later.date and is_plain(later)
        for at, unit in enumerate(later.units)
        if _tells_turn(later.quote_unit(at)) and not stems.isdisjoint(reader.stem(_quote_line(later, at)))
    ]
    last = max(found, key=lambda each: each[:3], default=None)
    return last and (last[3], last[2])


def _tells_turn(text: str) -> bool:
    """Return True if a text says that something changes, is over, or that somebody leaves."""
    told = tells_change(text) or tells_end(text) or tells_over(text)
    return told or tells_leave(text, detect_language(text) or "en")


def _find_name(reader: Reader, statement: str, known: Collection[str]) -> dict[str, str]:
    """Return the words of the first name in a statement, behind its label, by their stems: "Heller" in "Dentist: Dr Heller"."""
    name: dict[str, str] = {}
    for word in _WORD_OR_SIGN.findall(statement):
        lowered = word.lower()
        stem = next(iter(reader.stem(lowered)), "")
        if word == ":":
            name.clear()
        elif (
            len(word) > 1
            and word != lowered
            and lowered not in _TITLES
            and _tells_matter(lowered)
            and stem not in known
        ):
            name[stem] = lowered
        elif name:
            break
    return name


def mark_replaced(
    hits: Sequence[Hit], numbers: Sequence[Collection[int]], recency: Recency, counts: TermCounts
) -> list[Hit]:
    """Return hits, those that the newest statement of one before them replaces with `superseded_by`.

    Args:
        hits: In order.
        numbers: For every hit the numbers of its units and of their copies.
        recency: The ages of statements.
        counts: Of the candidates.
    """
    place = next((place for place, own in enumerate(numbers) if recency.newest in own), None)
    if recency.newest is None or place is None:
        return [*hits]
    chunk = counts.get_chunk(recency.newest)
    line, text = _find_statement(chunk, counts.units[recency.newest].within)
    newer = Successor(chunk.path, line, text, chunk.date, because="newer")
    marked = [*hits]
    for behind in range(place + 1, len(hits)):
        if former := sorted(recency.replaced.intersection(numbers[behind])):
            chunk = counts.get_chunk(former[0])
            line, _ = _find_statement(chunk, counts.units[former[0]].within)
            shown = line if chunk.path == hits[behind].path else None  # not of a copy
            marked[behind] = replace(hits[behind], superseded_by=replace(newer, replaces=shown))
    return marked


def _find_statement(chunk: IndexedChunk, index: int) -> tuple[int, str]:
    """Return the first line of a unit below its headings, and what is said from there."""
    text = chunk.quote_unit(index)
    said = _HEADINGS.sub("", text)
    above = text.count("\n", 0, len(text) - len(said))
    return chunk.start_line + chunk.units[index].first_line + above, " ".join(said.split())


def _prefer_before(confidence: Confidence, ranks: Sequence[float]) -> dict[int, float]:
    """Return what is added to the ranks of lines older than what the question names behind "before"; {} if it names nothing.

    "Who did the books before Nadia?": the newest state is that of the best line about Nadia. The best of what is older, and
    holds most of the other words, comes first.
    """
    question, counts = confidence.question, confidence.counts
    said, *behind = _BEFORE.split(question.text.lower(), maxsplit=1)
    named = {*extract_words(" ".join(behind))} - {*extract_words(said)}
    after = {at for at, word in enumerate(question.words) if word.text in named}
    weights = {at: weight for at, weight in enumerate(question.weights) if at not in after}
    days = [counts.candidates[place.candidate].chunk.date or "" for place in counts.units]
    best = max(range(len(ranks)), key=ranks.__getitem__)
    naming = [
        unit
        for unit, held in enumerate(counts.counts)
        if days[unit] and not after.isdisjoint(held) and (unit == best or not weights.keys().isdisjoint(held))
    ]
    if not naming or not weights:
        return {}
    since = days[max(naming, key=ranks.__getitem__)]
    share = {
        unit: sum(weight for at, weight in weights.items() if at in held or at in counts.above[unit])
        for unit, held in enumerate(counts.counts)
        if days[unit] < since and after.isdisjoint(held) and not weights.keys().isdisjoint(held)
    }
    most = max(share.values(), default=0.0)
    earlier = [unit for unit, much in share.items() if much >= (1 - ALIKE) * most]
    added = ABOVE * max(ranks) - max((ranks[unit] for unit in earlier), default=0.0)
    return dict.fromkeys(earlier, added)


def _tells_of(confidence: Confidence, unit: int) -> bool:
    """Return True if a unit tells a change of what the question names, not in another clause: "Ann is ill, Bo takes over"."""
    held = confidence.counts.counts[unit]
    begins = tuple(word.text[:LETTERS] for at, word in enumerate(confidence.question.words) if at in held)
    changed = [extract_words(clause) for clause in _CLAUSE.split(confidence.counts.quote(unit)) if tells_change(clause)]
    return not begins or any(word.startswith(begins) for clause in changed for word in clause)


def _quote_line(chunk: IndexedChunk, index: int) -> str:
    """Return the lines on which a unit stands."""
    unit = chunk.units[index]
    lines = chunk.text.split("\n")
    return "\n".join(lines[unit.first_line : unit.last_line + 1])


def _find_values(text: str) -> dict[str, set[str]]:
    """Return the numbers of a text by what they count or number, as in "5 mg" and "room 14", its times, weekdays and addresses.

    >>> _find_values("Room 14, 5 mg on Mondays at 9:15") == {"room ": {"14"}, "mg": {"5"}, "": {"9:15"}, "day": {"0"}}
    True
    """
    language = detect_language(text) or "en"
    found: defaultdict[str, set[str]] = defaultdict(set)
    for before, number, behind in _NUMBER.findall(text.lower()):
        if behind and behind not in STOP_WORDS[language]:
            found[behind].add(number)
        elif before and before not in STOP_WORDS[language]:
            found[f"{before} "].add(number)
        elif ":" in number:
            found[""].add(number)
    if addresses := _ADDRESS.findall(text.lower()):
        found["@"].update(addresses)
    for word in extract_words(text):
        symbol, number = read_time_word(word, language) or ("", 0)
        if symbol == "w":
            found["day"].add(str(number))
    return found


def _differ(old: Mapping[str, set[str]], new: Mapping[str, set[str]]) -> bool:
    """Return True if two texts have different values of one kind, each some that the other has not."""
    return any(old[kind] - new[kind] and new[kind] - old[kind] for kind in old.keys() & new.keys())


def _may_replace(old: Mapping[str, set[str]], text: str) -> bool:
    """Return True if a text may take the place of one with some values: it gives values, too, or says that the matter is over.

    An address is replaced by an address only.
    """
    new = _find_values(text)
    return (bool(new or not old) and ("@" in new or "@" not in old)) or tells_end(text)


def _find_matter(
    confidence: Confidence, shares: Sequence[float]
) -> tuple[dict[int, str], set[int], dict[int, float]]:  # fmt: skip
    """Find the statements of the matter that is asked about.

    Args:
        confidence: Of the units of the search.
        shares: For every unit its rank, as a share of the best one.

    Returns:
        By the numbers of their units, the dates of their notes, ISO, "" for a note without one; those that tell a change; and
        the share of the question, 0..1, that they and other units that rank well hold.
    """
    counts = confidence.counts
    support = {at: confidence.support(at) for at, share in enumerate(shares) if share >= RANKED and counts.counts[at]}
    best = max(support, key=support.__getitem__, default=None)
    if best is None or support[best] < LEAST:
        return {}, set(), support
    most, lacking, matter = support[best], confidence.lack_names(best), {*counts.counts[best], *counts.above[best]}
    alike: dict[int, str] = {}
    changes: set[int] = set()
    for unit, share in support.items():
        chunk = counts.get_chunk(unit)
        if share < most - ALIKE_CHANGED or _is_said(chunk, counts.units[unit].within):
            continue
        of_matter = not matter.isdisjoint((*counts.counts[unit], *counts.above[unit]))
        said = counts.quote(unit)
        if of_matter and tells_change(said):
            if confidence.lack_names(unit) > lacking and _names_another(said):
                continue
            changes.add(unit)
        elif share < most - ALIKE:
            continue
        alike[unit] = chunk.date or ""
    return alike, changes, support


def _tells_matter(word: str) -> bool:
    """Return True for a word that can say what a line is about: none of change, of time, or that only builds sentences."""
    return not tells_change(word) and not any(
        word in common or read_time_word(word, language) for language, common in STOP_WORDS.items()
    )


def _names_another(text: str) -> bool:
    """Return True if a line tells the change of somebody with a name: "Frau Maier has a new number"."""
    language = detect_language(text) or "en"
    before = text[: find_change(text)].split()
    return any(word[0].isupper() and not read_time_word(word, language) for word in before[1:])


def _is_said(chunk: IndexedChunk, index: int) -> bool:
    """Return True for lines of a conversation: one has a label that other lines of its chunk have, too."""
    found = _LABEL.search(chunk.text, chunk.units[index].start, chunk.units[index].end)
    return found is not None and chunk.text.count(f"{found[1]}:") > 1


def _place(days: Iterable[str]) -> dict[str, float]:
    """Return the place of each day among some, above 0 for the first, 1 for the last."""
    ordered = sorted({*days})
    return {day: place / len(ordered) for place, day in enumerate(ordered, start=1)}
