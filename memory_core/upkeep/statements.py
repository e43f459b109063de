"""Statements of notes: their sentences, with the words, values and names in them; pure.

What states nothing is left out: code, quotes within a sentence, tasks, questions, and what is wished, supposed or denied.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, chain, pairwise
from pathlib import PurePosixPath
from typing import NamedTuple, cast

from memory_core.sources.roots import LONGTERM_NAMES
from memory_core.text import languages
from memory_core.text.folding import strip_marks
from memory_core.text.languages import STEMMERS, STOP_WORDS, Language
from memory_core.text.markdown import Line, find_front_matter, parse_heading, scan, split_lines
from memory_core.text.periods import read_time_word
from memory_core.text.succession import find_key
from memory_core.text.tables import join_lines
from memory_core.text.tense import find_stance, find_turns, is_past, list_words, tells_change, tells_leave, tells_past
from memory_core.text.units import find_sentence_starts, split_units

UNDATED = "0000-00-00"  # sorts before every day: MEMORY.md and topic files may be as old as the notebook
MOST_CHARS = 400  # of a sentence that is read; a longer one tells a story
MOST_LINES = 20_000  # of a note
LEAST_WORDS = 12  # of a note that tells its language
PREFIX = 6  # letters of a stem by which words are compared, so that "insured" and "insurance" are one
COMPOUND_PREFIX = 9  # where words are put together
MOST_DIALLED = 15  # digits of a telephone number: a longer run is that of a card or an account

_MARK = re.compile(r"^[ \t>]*+(?:[-*+]|\d{1,3}[.)](?!\d))?[ \t]*+(\[.\][ \t])?")
_SEEN = re.compile(r"\(until \d{4}-\d\d-\d\d, see [^)]+\)\s*$")  # as `proposals` marks a line
_QUOTED = re.compile(r"\"[^\"\n]{12,}\"|“[^”\n]{12,}”|«[^»\n]{12,}»|„[^“”\n]{12,}[“”]")
_TIMED = re.compile(r"\d{1,2}[:.h]\d\d\b")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_PLAIN = re.compile(r"https?://\S+|`[^`]*`|\*\*|__|~~|\(since \d{4}-\d\d-\d\d, see [^)]+\)\s*$")
_NUMBER = r"\d{1,3}(?:[.,  ]\d{3})+(?:[.,]\d{1,2})?|\d++(?:[.,]\d++)?"
_VALUE = re.compile(
    r"(?P<iso>\d{4}-\d\d-\d\d)"
    r"|(?P<dotted>(?<![\d.])\d{1,2}\.\s?(?:1[0-2]|0?[1-9])\.(?:\s?20\d\d|\d\d(?!\d))?)"
    r"|(?P<email>(?<![\w.+-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+)"
    r"|(?P<account>(?<!\w)[A-Z]{2}\d\d(?:\ ?[A-Z\d]{4}){2,7}(?:\ ?[A-Z\d]{1,3})?(?!\w))"
    r"|(?P<phone>(?<![\w.,])\+?\d[\d /-]{7,}\d(?!\w))"
    r"|(?P<clock>(?<![\d.,])(?:[01]?\d|2[0-4])(?:(?::|\s?h\s?)[0-5]\d(?!\d)|\s?(?:Uhr|o'clock|[ap]\.?m\b|h(?!\w))))"
    rf"|(?P<before>[£€$]\s?(?:{_NUMBER}))"
    rf"|(?P<behind>(?<!\d)(?:{_NUMBER})\s?(?:[€£$]|p\b|(?i:{join_lines('currencies')}|{join_lines('hundredths')})\b))"
    r"|(?P<mixed>(?<![\w.,-])(?:\d+[A-Za-z]+|[A-Za-z]{1,4})-?\d[\dA-Za-z-]*(?!\w))"
    rf"|(?P<number>(?<![\w.,:])(?:{_NUMBER})(?![\d.,:]*\d))"
)
_read_time, _is_common = lru_cache(50_000)(read_time_word), lru_cache(50_000)(languages.is_common)
_LINKS = ("", "s", "es", "n", "en")  # between the parts of a compound
_PENCE = re.compile(rf"\d\s?(?:p|{join_lines('hundredths')})\Z", re.IGNORECASE)
_TITLES, _WITH, _EVERY, _PER, _DETERMINERS = (
    frozenset(list_words("all", name)) for name in ("titles", "with", "every", "per", "determiners")
)
_CONFLICT = re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE)  # of a merge that nobody has finished
NAMES = re.compile(rf"(?<!\w)(?:{join_lines('to be')})(?!\w)|:(?!\d)", re.IGNORECASE)
_COLON = re.compile(r":(?!\d)")
_NEW = re.compile(rf"(?<!\w)(?:{join_lines('new')})(?!\w)", re.IGNORECASE)
_OPENS_NEW = re.compile(
    rf"\s*(?:[^\W\d_]{{1,5}}\s|\w+['’]s\s)?{_NEW.pattern}", re.IGNORECASE
)  # "Our new code is", "Ann's new"
_REASON = re.compile(rf"(?<=[\w,])\s(?:{join_lines('because')})", re.IGNORECASE)
_UNCHANGED = re.compile(rf"(?<!\w)(?:{join_lines('unchanged')})(?!\w)", re.IGNORECASE)
_BREAK = re.compile(r"[.:;!?(\n|–—]|(?<!\d),(?!\d)")
_SINCE = re.compile(rf"(?<!\w)(?:{join_lines('since')})(?: the| dem| el| le| il)? ?\Z", re.IGNORECASE)
_DAY = re.compile(r" (?:der |le |the )?\d{1,2}(?![.,:]?\d|\s?[:%h])")
_DIGIT = re.compile(r"\d")
_LISTED = re.compile(rf"\s?(?:[,+&/]|,?\s(?:{join_lines('and')}))\s?", re.IGNORECASE)
_NEXT_WORD = re.compile(r"(?<= )[^\W\d_]+")
_UNTIL = re.compile(rf"\s{{0,9}}+(?:{join_lines('until')}|[-–—])(?!\w)", re.IGNORECASE)
# Minutes by which words before or behind an hour move it; "halb neun" is half an hour before nine.
_MOVED = {
    "half": 30,
    "quarter past": 15,
    "quarter to": -15,
    "and a half": 30,
    "and a quarter": 15,
    "less a quarter": -15,
}
_BEFORE_HOUR, _AFTER_HOUR = ("|".join(map(join_lines, names)) for names in ([*_MOVED][:3], [*_MOVED][3:]))
# "at seven", "um halb neun", "a las siete y media", and "half five" alone.
_HOUR = re.compile(
    rf"(?<!\w)(?:(?:{join_lines('at hour')})\s((?:{_BEFORE_HOUR})\s)?|((?:{_BEFORE_HOUR})\s))(\d{{1,2}}|[^\W\d_]+)"
    rf"(\s(?:{_AFTER_HOUR}))?(?=\s?[.,;()!](?!\d)|\s(?:{join_lines('behind hour')})\s|\Z)",
    re.IGNORECASE,
)
# "from 8 to 1", "open 8 to 18", "de 9 a 12": without "from" only where "to" can be nothing else.
_HOURS = re.compile(
    rf"(?<![\w.,:])(?:(?:{join_lines('from hour')}) (\d{{1,2}}) (?:{join_lines('to hour')})|(\d{{1,2}}) (?:to|bis|tot))"
    r" (\d{1,2})(?![\w€£$%]|[.,:]\d|\s[€£$%])",
    re.IGNORECASE,
)


class Value(NamedTuple):
    """A value in a sentence.

    Attributes:
        kind: "money", "clock", "weekday", "date", "month", "phone", "email", "account" for an IBAN; "number:" with the stem of
            the word that it counts, "label:" with that of the word which it numbers, as in "room 5", or "code:" with its pattern.
        text: As it is compared.
        start, end: Its characters in the line.
        rate: What it is paid or counted for: a unit of time, or the stem of a word; "week" for a day that comes every week,
            "once" for one with
            its number, "every" for the time between two of a kind; "" without one.
    """

    kind: str
    text: str
    start: int
    end: int
    rate: str = ""


class Statement(NamedTuple):
    """A sentence of a note that states something.

    Attributes:
        path: Of the note.
        line: From 1.
        date: The note's day; `UNDATED` for MEMORY.md and topic files.
        text: The sentence.
        language: Of the note.
        own: The stems of its words, in order.
        head: Those before the first "is", colon or value: what the sentence is about; without "with Ann".
        filler: The first word with a capital letter behind "is" or the colon; "" without one.
        near: The stems of the sentence before and of the heading.
        title: Those of the note's name: whom or what its lines are about.
        context: Those of what stands before it in its line, as far as a sentence may be long.
        values: In order.
        names: The words that may be names, folded.
        flags: Of "opens" for the first sentence of a line, "change", "new", "event", "leave", "state", "unsure", "1" and "3" for
            mine and theirs.
    """

    path: str
    line: int
    date: str
    text: str
    language: str
    own: tuple[str, ...]
    head: tuple[str, ...]
    filler: str
    near: tuple[str, ...]
    title: tuple[str, ...]
    context: tuple[str, ...]
    values: tuple[Value, ...]
    names: tuple[str, ...]
    flags: tuple[str, ...]


def read_statements(path: str, date: str | None, text: str, usual: Language = "en") -> Iterator[Statement]:
    """Yield the statements of a note that may be outdated or tell what has changed.

    Args:
        path: Of the note.
        date: Its day, YYYY-MM-DD; None for one without.
        text: As `notes.read_note` returns it.
        usual: The language of a note that is too short to tell.
    """
    lines = split_lines(text)[:MOST_LINES]
    body = "\n".join(lines)
    if not _CONFLICT.search(body):
        language = detect_language(body) or usual
        for sentence in _split_sentences(lines, body, dated=date is not None):
            yield from _read_sentence(path, date or UNDATED, sentence, language)


class _Told(NamedTuple):
    """A sentence, and where it stands.

    Attributes:
        line: From 1.
        said: The sentence.
        first: The first line of its item or paragraph.
        heading: Above it; "" without one.
        before: The sentence before it in its item or paragraph; "" without one.
        context: What stands before it in its line, as far as a sentence may be long.
    """

    line: int
    said: str
    first: str
    heading: str
    before: str
    context: str


def _split_sentences(lines: list[str], body: str, *, dated: bool) -> Iterator[_Told]:
    """Yield the sentences of a note but for those of code, headings, tasks, and tables of logs."""
    starts = [
        0,
        *accumulate(len(line) + 1 for line in lines),
    ]  # of every line in the text, and of the one behind the last
    heading, before = "", ""
    width = max(map(len, lines), default=0)
    kinds = scan(lines)
    seen = {number for number, line in enumerate(lines) if _SEEN.search(line)}
    for unit in split_units(body, skip_lines=find_front_matter(lines)):
        start = unit.start
        for number in range(unit.first_line, unit.last_line + 1):
            if kinds[number] is Line.HEADING:
                heading = (parse_heading(lines[number]) or (0, ""))[1]
                start = max(start, starts[number + 1]) if start < unit.end else start
                before = ""
        opened = bisect_right(starts, start) - 1
        first = lines[opened] if start < unit.end else ""
        mark = _MARK.match(first)
        if kinds[unit.last_line] in (Line.CODE, Line.OPEN, Line.CLOSE, Line.HEADING):
            continue
        if dated and first.lstrip().startswith("|"):  # a log
            continue
        if opened in seen or (mark and mark[1]):  # a task may never have been done
            continue
        inner = range(unit.first_line, unit.last_line)
        full = all(_is_full(lines[number], lines[number + 1], width) for number in inner)
        breaks = [
            starts[number + 1]
            for number in inner
            if start < starts[number + 1] and not (lines[number].endswith(",") or (full and _goes_on(lines, number)))
        ]
        bounds = sorted({start, *find_sentence_starts(body, start, unit.end), *breaks, unit.end})
        before = before if mark and start - starts[opened] > mark.end() else ""  # of a paragraph in several units
        for begin, end in pairwise(bounds):
            said = body[begin:end].strip()
            if said:
                line = bisect_right(starts, begin)
                context = body[max(starts[line - 1], begin - MOST_CHARS) : begin]
                yield _Told(line, said, first, heading, before, context)
                before = said


def _is_full(line: str, following: str, width: int) -> bool:
    """Return True if the first word of the next line had no place in a line of a text's width."""
    return len(line) + len(next(iter(following.split()), "")) >= max(width, 60)


def _goes_on(lines: Sequence[str], number: int) -> bool:
    """Return True if a sentence may go on behind a line, in lower case."""
    return lines[number + 1].lstrip()[:1].islower() and lines[number][-1:] not in ".!?"


def _read_sentence(path: str, date: str, sentence: _Told, language: Language) -> Iterator[Statement]:
    """Yield the statement of a sentence, unless it states nothing that could be outdated or replace something."""
    line, said, first, heading, before, context = sentence
    if len(said) > MOST_CHARS or said.endswith(("?", "？")):
        return
    bare = _MARK.sub("", said, count=1)
    plain = _QUOTED.sub(lambda quoted: " " * len(quoted[0]), _PLAIN.sub(lambda each: " " * len(each[0]), bare))
    plain = _REASON.split(plain, maxsplit=1)[0]
    values = tuple(_find_values(plain, language))
    for same in _UNCHANGED.finditer(plain):  # "an assessment costs £66 from May, follow-ups unchanged"
        start = max((each.end() for each in _BREAK.finditer(plain, 0, same.start())), default=0)
        stop = _BREAK.search(plain, same.end())
        end = stop.start() if stop else len(plain)
        if any(start <= value.start < end for value in values):
            start, end = same.span()
        plain = plain[:start] + " " * (end - start) + plain[end:]
    words = [*_WORD.finditer(plain)]
    behind = _BREAK.search(plain, values[-1].end) if values else None
    stance = find_stance(
        plain[: behind.start()] if behind else plain, language
    )  # "It's 3305 now, don't tell the others"
    taken = [(value.start, value.end) for value in values]
    own = [word for word in words if not any(start <= word.start() < end for start, end in taken)]
    names = tuple(dict.fromkeys(_find_names(plain, own, language)))
    timed = _TIMED.match(bare)  # a log
    rest = _BREAK.search(plain, values[0].end) if values else None
    main = plain[: rest.start()] if rest and find_stance(plain[: rest.start()], language) == "state" else plain
    happened = "event" if timed or _is_event(words, language) or tells_past(main, language) else ""
    earlier = "" if happened else before
    change = tells_change(plain) or tells_change(_NEW.sub(" ", before))  # "The broadband has changed. It costs £27."
    leaves = "leave" if tells_leave(f"{earlier} {plain}", language) else ""
    listed = date == UNDATED and said.startswith(("- ", "* ", "+ "))
    if not (values or names or change or stance or leaves or listed or find_key(said)):
        return
    tells = _OPENS_NEW.match(plain) or tells_change(_NEW.sub(" ", f"{earlier} {plain}")) or tells_begin(plain, values)
    told = "change" if tells and not timed else "new" if change else ""
    opens = "" if before else "opens"
    spoken = {word[0].lower() for word in words}
    mine, theirs = (not spoken.isdisjoint(list_words(language, name)) for name in ("mine", "theirs"))
    flags = tuple(filter(None, [opens, told, happened, leaves, stance or "", "1" * mine, "3" * theirs]))
    if mine and first.lstrip(" \t-*+").startswith(">"):  # of a letter: what is somebody else's
        return
    turns = sorted([*find_turns(plain, language), *(colon.start() for colon in _COLON.finditer(plain))])
    ends = sorted([*turns, *(value.start for value in values)])
    about = next((led for end in ends if (led := [word for word in own if word.start() < end])), [])
    head = stem([word[0] for word in about if not _is_filler(word, plain, language)], language)
    head = head or stem([word[0] for word in about], language)  # "The call with Ann"
    named = NAMES.search(plain)
    filler = _find_filler(own, named.end(), language) if named else ""
    near = _WORD.findall(f"{before} {heading}")
    yield Statement(
        path=path, line=line, date=date, text=bare, language=language,
        own=tuple(dict.fromkeys(stem([word[0] for word in own], language))), head=tuple(dict.fromkeys(head)), filler=filler,
        near=tuple(dict.fromkeys(stem(near, language))), title=_find_title(path, language),
        context=tuple(dict.fromkeys(stem(_WORD.findall(context), language))), values=values, names=names, flags=flags,
    )  # fmt: skip


def _find_title(path: str, language: Language) -> tuple[str, ...]:
    """Return the stems of a note's name; none for MEMORY.md, whose name says nothing about its lines."""
    return () if path in LONGTERM_NAMES else tuple(stem(_WORD.findall(PurePosixPath(path).stem), language))


def tells_begin(text: str, values: Sequence[Value]) -> bool:
    """Return True if a sentence says from which day or month something holds, but not for how long: "from May"."""
    days = (value for value in values if value.kind in ("date", "month"))
    first = next((day for day in days if _SINCE.search(text, 0, day.start)), None)
    return first is not None and not _UNTIL.match(text, first.end)


def detect_language(text: str) -> Language | None:
    """Return the language of a note; None for one that is too short to tell."""
    words = {*re.findall(r"[^\W\d_]+", text[:6000].lower())}
    return languages.detect(words) if len(words) >= LEAST_WORDS else None


@lru_cache(maxsize=50_000)
def _stem(word: str, language: Language) -> str:
    from Stemmer import Stemmer

    return strip_marks(str(Stemmer(STEMMERS[language]).stemWord(word)))


def stem(words: Sequence[str], language: str) -> list[str]:
    """Return the stems of words in a language, without function words and words of time."""
    tongue = cast("Language", language)
    stop = STOP_WORDS[tongue]
    found = []
    for word in words:
        bare = word.removesuffix("'s").removesuffix("’s")
        lowered = bare.lower().replace("’", "'").rpartition("'")[2]
        tells = len(lowered) > 1 and lowered not in stop and not _NEW.fullmatch(lowered)
        if tells and _read_time(bare, tongue) is None:
            length = COMPOUND_PREFIX if tongue in ("de", "nl") else PREFIX
            parts = _split_compound(lowered, tongue) if tongue == "nl" or bare[0].isupper() else ()
            found += [_stem(each, tongue)[:length] for each in (lowered, *parts) if _read_time(each, tongue) is None]
    return found


@lru_cache(maxsize=50_000)
def _split_compound(word: str, language: Language) -> tuple[str, ...]:
    """Return the two common words of which a German or Dutch word is put together, the second as long as it can be."""
    for at in range(4, len(word) - 3 if language in ("de", "nl") else 0):
        first, second = word[:at], word[at:]
        if _is_common(second, language) and any(_is_common(first.removesuffix(link), language) for link in _LINKS):
            return first, second
    return ()


def _find_names(text: str, words: Sequence[re.Match[str]], language: Language) -> Iterator[str]:
    """Yield the words that begin with a capital letter where the language would not write one, folded."""
    for word in words:
        said = word[0].removesuffix("'s").removesuffix("’s")
        if not said[0].isupper() or len(said) < 2 or (said.isupper() and len(said) > 5):
            continue
        lowered = said.lower()
        if lowered in _TITLES or lowered in STOP_WORDS[language] or _read_time(said, language) is not None:
            continue
        opens = not text[: word.start()].strip(" \t-*>(\"'“„«") or text[: word.start()].rstrip()[-1:] in ".!?"
        called = (text[: word.start()].split() or [""])[-1].strip("(.").lower() in _TITLES  # "Frau Klein"
        if (
            not called
            and (opens or language == "de")
            and (_is_common(lowered, language) or _split_compound(lowered, language))
        ):
            continue
        yield strip_marks(lowered)


def _is_filler(word: re.Match[str], text: str, language: Language) -> bool:
    """Return True for a name behind "with" and its like, of several words perhaps: another one may take its place."""
    before = text[: word.start()].split()
    while before and (before[-1][0].isupper() or before[-1] == "&"):
        before.pop()
    return (
        bool(before) and before[-1].lower() in _WITH and word[0][0].isupper() and _read_time(word[0], language) is None
    )


def _find_filler(words: Sequence[re.Match[str]], start: int, language: Language) -> str:
    """Return the first word behind "is" or a colon if it has a capital letter, folded; words of time may stand before it."""
    others = STOP_WORDS[language] | _TITLES
    behind = (word[0] for word in words if word.start() >= start and word[0].lower() not in others)
    filler = next((word for word in behind if _read_time(word, language) is None), "")
    return strip_marks(filler.lower()) if filler[:1].isupper() else ""


def _is_event(words: Sequence[re.Match[str]], language: Language) -> bool:
    """Return True if a sentence tells what somebody did: an English past tense among its first words."""
    if language != "en":
        return False
    said = [word[0].lower() for word in words[:5]]
    for at, word in enumerate(said[:4]):
        nominal = (at and said[at - 1] in _DETERMINERS) or said[at + 1 : at + 2] in (["is"], ["are"])
        is_told = is_past(word) or (at < 2 and word.endswith("ed") and len(word) > 4)
        if is_told and not nominal and not words[at].string.startswith(":", words[at].end()):
            return True
    return False


def _find_values(text: str, language: Language) -> Iterator[Value]:
    """Yield the values of a sentence, in order."""
    words = [*_WORD.finditer(text)]
    times = [(word, found) for word in words if (found := _read_time(word[0], language)) is not None]
    days = [word for word, (symbol, _) in times if symbol == "w"]
    several = [pair for pair in pairwise(days) if _LISTED.fullmatch(text, pair[0].end(), pair[1].start())]
    listed = {*chain(*several)}  # "Mondays and Fridays", "martes y jueves"
    taken: list[tuple[int, int]] = []
    values: list[Value] = []
    for word, (symbol, number) in times:
        if symbol == "w":
            habit = "week" if word in listed or _is_habit(word, text, language) else ""
            rate = "once" if _DAY.match(text, word.end()) else habit  # "miércoles 9"
            values.append(Value("weekday", str(number), word.start(), word.end(), rate))
        elif symbol == "m":
            day = re.search(r"(\d{1,2})(?:st|nd|rd|th|er|º|\.)?(?: (?:de|of))? ?$", text[: word.start()])
            later = None if day else re.match(r" (\d{1,2})(?:st|nd|rd|th)?(?!\d|:)", text[word.end() :])
            given = day or later
            start = day.start() if day else word.start()
            end = word.end() + (later.end() if later else 0)
            year = re.match(r",? (?:de )?((?:19|20)\d\d)", text[end:])
            end += year.end() if year else 0
            said = f"{year[1] if year else ''}-{number:02d}-{int(given[1]) if given else 0:02d}"
            values.append(Value("date" if given else "month", said, start, end))
            taken.append((start, end))
    for match in _VALUE.finditer(text):
        if not any(start < match.end() and match.start() < end for start, end in taken):
            kind = cast("str", match.lastgroup)
            values.append(_make_value(kind, match[0], match.start(), match.end(), text, words, language))
    values += [
        _make_value("number", str(number), word.start(), word.end(), text, words, language)
        for word, (symbol, number) in times
        if symbol == "n" and number > 1
    ]
    values = [value for value in values if value.kind != "number:" or text[value.start].isdigit()]
    hours = [*_find_hours(text, language), *(each for each in values if each.kind == "clock")]
    by_start = {each.start: each for each in (*values, *hours)}  # what is read as a time of day is nothing else
    yield from sorted(by_start.values(), key=lambda each: each.start)


def _find_hours(text: str, language: Language) -> Iterator[Value]:
    """Yield the times of day that have neither a colon nor a unit."""
    for found in _HOURS.finditer(text):
        counted = _NEXT_WORD.match(text, found.end() + 1)  # "from 3 to 5 days"
        hours = [at for at in range(1, 4) if found[at]]
        if all(0 < int(found[at]) < 25 for at in hours) and not (counted and _find_counted(counted, language)):
            yield from (Value("clock", f"{int(found[at]):02d}:00", *found.span(at)) for at in hours)
    for found in _HOUR.finditer(text):
        symbol, hour = ("n", int(found[3])) if found[3].isdigit() else _read_time(found[3], language) or ("", 0)
        if symbol == "n" and 0 < hour < 25:
            moved = (found[1] or found[2] or found[4] or "").strip()
            minutes = next((_MOVED[name] for name in _MOVED if re.fullmatch(join_lines(name), moved, re.IGNORECASE)), 0)
            minutes *= -1 if minutes == 30 and not found[4] and language in ("de", "nl") else 1  # "halb neun" is 8:30
            yield Value("clock", "{:02d}:{:02d}".format(*divmod(60 * hour + minutes, 60)), found.start(3), found.end())


def _is_habit(day: re.Match[str], text: str, language: Language) -> bool:
    """Return True for "Mondays", "montags", "every Monday", "el lunes" and "le lundi": not for a single day."""
    before = re.findall(r"[^\W\d_]+", text[: day.start()].lower())[-1:]
    plural = language in ("en", "de") and len(day[0]) > 4 and day[0].endswith("s")
    return plural or (bool(before) and before[0] in list_words(language, "weekly"))


def _make_value(  # noqa: PLR0917
    kind: str, said: str, start: int, end: int, text: str, words: Sequence[re.Match[str]], language: Language
) -> Value:
    following = [word for word in words if word.start() >= end][:4]
    labels = [word for word in words if word.end() <= start and not text[word.end() : start].strip(" #:-")]
    rate = _find_rate(following, text, end, language)
    if not rate and labels and (each := words.index(labels[-1])) and words[each - 1][0].lower() in _EVERY:
        rate = _find_counted(labels[-1], language)  # "cada barra 46 céntimos"
    digits = re.sub(r"[^\d]", "", said)
    name, shown = f"number:{'%' * text[end : end + 2].strip().startswith('%')}", said
    if kind in ("before", "behind"):
        name = "money"
    elif kind in ("iso", "dotted"):
        day, month, year = (*re.findall(r"\d+", said), "")[:3]
        dotted = f"{year and '20' + year[-2:]}-{int(month):02d}-{int(day):02d}"
        name, shown = "date", dotted if kind == "dotted" else said
    elif kind == "mixed":
        name = f"code:{re.sub('[A-Za-z]+', 'a', re.sub('[0-9]+', '0', said))}"
    elif kind == "clock":
        hour, _, minute = re.sub(r"[^\d:]", "", said.replace("h", ":")).partition(":")
        late = 12 if re.search(r"p\.?m", said) and int(hour) < 12 else 0
        name, shown = "clock", f"{int(hour) + late:02d}:{minute or '00'}"
    elif kind == "email":
        name, shown = "email", said.lower()
    elif kind == "account":
        name, shown = "account", said.replace(" ", "")
    elif kind == "phone":
        name, shown = "number:" if len(digits) < 9 else "phone" if len(digits) <= MOST_DIALLED else "code:0", digits
    elif name == "number:":
        beside = following[0] if following and not text[end : following[0].start()].strip() else None
        counted = _find_counted(beside, language) if beside else ""
        if counted:
            name = f"number:{counted}"
            if counted in "dvMY":  # how long something takes, or how often it comes
                rate = "every" if labels and labels[-1][0].lower() in _EVERY else ""
        else:
            name = _name_bare(said, rate, labels[-1:], following, language) or name
    shown = _read_amount(said) if name.startswith(("money", "number:", "label:")) else shown
    return Value(name, shown, start, end, rate)


def _name_bare(
    said: str, rate: str, labels: Sequence[re.Match[str]], following: Sequence[re.Match[str]], language: Language
) -> str:
    """Return the kind of a number that counts nothing: a code, money or what its label names; "" if none of these."""
    if len(said) >= 4 and said.isdigit() and not 1900 <= int(said) < 2100:
        return f"code:{'0' * len(said)}"
    if rate in {*"dvMY"} and following[0][0].lower() in STOP_WORDS[language]:  # "112 a month", not "3 mal im Monat"
        return "money"
    if len(rate) > 1 and re.fullmatch(r"\d+[.,]\d\d\d?", said):  # "0,42 la barra"
        return "money"
    if re.search(r"\d[.,  ]\d{3}", said) and float(_read_amount(said)) >= 1000:  # "that makes 9,450"
        return ""
    label = _find_counted(labels[0], language) if labels else ""
    return f"label:{label}" if len(label) > 1 else ""


def _find_counted(word: re.Match[str], language: Language) -> str:
    """Return the unit of time, or the stem of the word, that a number counts or that names it; "" if it is no noun."""
    time = _read_time(word[0], language)
    if time or (language == "de" and word[0][0].islower() and len(word[0]) > 3):
        return time[0] if time and time[0] != "n" else ""
    if len(word[0]) == 1 and word[0] not in STOP_WORDS[language]:  # "60 g"
        return word[0]
    return next(iter(stem([word[0]], language)), "")


def _read_amount(text: str) -> str:
    """Return a number as it is compared: 1.500,00, 1,500 and 1500 are one."""
    bare = re.sub(r"[^\d.,]", "", text)
    bare = re.sub(r"(?<!^0)[.,](?=\d{3}(?:\D|$))", "", bare).replace(",", ".")
    return f"{float(bare) / (100 if _PENCE.search(text) else 1):g}"


def _find_rate(following: Sequence[re.Match[str]], text: str, end: int, language: Language) -> str:
    """Return the unit in "a month", "al mes", "im Monat" and "per day" behind a value; "" without one."""
    for word in following:
        if _BREAK.search(text, end, word.start()) or _DIGIT.search(text, end, word.start()):
            return ""
        time = _read_time(word[0], language)
        if time is not None and time[0] in "dvMY":
            return time[0]
    near = text[end : following[0].start()].strip() if following else ""
    if near == "/" or (len(following) > 1 and following[0][0].lower() in _PER | _EVERY and not near):
        return next(iter(stem([following[near != "/"][0]], language)), "")
    return ""
