"""Periods that questions and notes name: days, weeks, months, seasons, years and ranges, in ten languages. Pure.

The words of a text become symbols by the table in periods.txt, one character each: "the first week of July" is "ovm". What stands
side by side is read by patterns of symbols, the same for all languages; the longest match counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from contextlib import suppress
from datetime import date, timedelta
from functools import cache, lru_cache
from typing import NamedTuple

from memory_core.text.calendar_words import (
    DAYS_OF_MONTH,
    DateToken,
    Lexicon,
    fold_name,
    is_short,
    list_days_and_months,
    list_endings,
    list_spellings,
    list_triggers,
    read_lexicons,
    read_slash,
    split_tokens,
)
from memory_core.text.dates import Period
from memory_core.text.languages import STOP_WORDS
from memory_core.text.spans import LATER, Vantage, join, read_longest, stretch
from memory_core.text.terms import detect_language, is_cjk

LONGEST = 2000  # characters of a text that are read: what asks for a period is short
_OF = {*"of the de d di do del des du van von vom den der ter i の".split()}  # noqa: SIM905  # between a day and its month
_SINCE = {"S", "s"}
_GERMAN_NTH = re.compile(r"(?:am|bis|das|de[mnrs]|die|vom|zum)\s\d\d?\.(?!\d)", re.IGNORECASE)  # "am 3."
_TO_DATE = re.compile(r"\.\s?(?:[-–—]|bis\b|und\b)")  # behind the first day of "20.–25.10."
_BREAKS = re.compile(r"[?!;:()\n\"”“«»]")
_LINE_START = re.compile(r"(?:^|[\n|])[\s>*_+–—-]{0,20}(?:\[.\]\s)?[*_(]{0,4}\Z")  # or of a cell, before its first word
_LABEL_END = re.compile(r"[*_)]{0,4}(?:[.:：]|\s{0,4}(?:[|\n]|\Z|[–—-]\s))")  # "Sat: market", "| Sat |", "Fri. Pilates"
_NEAR_NUMBER = re.compile(r"[\s.,'’/-]{0,2}")
_HOUR = re.compile(r"(?i)[.,]?\s(?:\w+\s)?\d{1,2}(?:[:.h]\d\d|\s?(?:h|uhr|o.clock|[ap]\.?m)\b|\s?[–—-]\s?\d)")
_NO_DAY = re.compile(r"(?:\s?(?:[ap]\.?m\b|h\b|uhr\b|o.clock|[%€$£])|[:.,h]\d)", re.IGNORECASE)  # behind a number
_ROMANCE, _GERMANIC = ("es", "pt", "it", "fr"), ("de", "nl")


class NamedPeriod(NamedTuple):
    """A period with the words that name it.

    Attributes:
        period: Its days.
        text: The words as they stand in the text.
        alone: The text asks for nothing else.
        language: In which it was read.
        is_holiday: They name a holiday, which may also be a matter: "Christmas cards".
        is_end: Something lasts until that day, or is due then: a note tells of it, a question does not ask for it.
        is_range: Its first and last day are named, as in "from 3 May to 9 June".
        is_date: A month or a number is among the words, unlike in "tomorrow" and "Friday".
        is_later: It is counted from today, as "in three days", which is also how long something took: only a question for what
            is to come asks for it.
    """

    period: Period
    text: str
    alone: bool
    language: str
    is_holiday: bool = False
    is_end: bool = False
    is_later: bool = False
    is_range: bool = False
    is_date: bool = False

    @property
    def is_day(self) -> bool:
        """True if it is a single day."""
        return self.period.first == self.period.last


def names_day(text: str) -> bool:
    """Return True if a text names a day or a month, also one that comes again and again.

    >>> names_day("choir on Mondays"), names_day("el 3 de mayo"), names_day("3.5. at the mill"), names_day("in 13 shops")
    (True, True, True, False)
    >>> names_day("Sat: market"), names_day("He sat in the sun."), names_day("They may do so.")
    (True, False, False)
    """
    known, tokens = list_days_and_months(), split_tokens(text)
    short: list[tuple[int, str]] = []
    for at, token in enumerate(tokens):
        if token.code in ("x", "i", "D"):
            return True
        for key in {token.key, token.key.removesuffix("s")} & known.keys():
            if not is_short(key):
                return True
            short += [(at, language) for language in known[key] if key == token.key]
    readings = {language: _Reading(text, tokens, language) for language in {each for _, each in short}}
    return any(readings[language].is_written(at) for at, language in short)


def names_weekday(text: str, weekday: int, language: str) -> bool:
    """Return True if a text names a weekday in the words of a language, also as one that comes again and again.

    >>> names_weekday("Mon, Sat: closed", 5, "en"), names_weekday("on Saturdays", 5, "en"), names_weekday("He sat", 5, "en")
    (True, True, False)
    """
    if not (starts := [found.start() for found in _compile_weekday(weekday, language).finditer(text)]):
        return False
    tokens = split_tokens(text)
    reading = _Reading(text, tokens, language)
    places = {token.start: at for at, token in enumerate(tokens)}
    return any(not is_short(tokens[places[at]].key) or reading.is_written(places[at]) for at in starts if at in places)


@cache
def _compile_weekday(weekday: int, language: str) -> re.Pattern[str]:
    words = list_spellings(("w", weekday), language, only=True)
    listed = "|".join(re.escape(word) + ("" if is_short(word) else "(?:s|en)?") for word in words)
    return re.compile(rf"(?<![a-zß-ž])(?:{listed})(?![a-zß-ž])", re.IGNORECASE)


HALF_YEAR = 184  # days, at most
LEAST_DIGITS = 3  # of a day with its year, as in "3 May 26": most names of notes and folders have fewer
_COMPACT = re.compile(r"(?<!\d)((?:19|20)\d\d)[-_./]?(\d\d)[-_./]?(\d\d)(?:T?\d{4}(?:\d\d)?)?(?!\d)", re.ASCII)


# As `date` prints it: Thu Sep  3 10:00:00 CEST 2026.
_CLOCK_BEFORE_YEAR = re.compile(r"\s\d\d?:\d\d(?::\d\d)?(?:\s[A-Z]{2,5})?(?=\s\d{4}\b)", re.ASCII)


def find_written_day(text: str, most_days: int = 7) -> str | None:
    """Find the first day, with its year, in the name of a note or a field of it, as people write it: as YYYY-MM-DD.

    Of a longer period, of up to `most_days`, it is the first day: of a week the Monday, of a quarter the first of its months.

    >>> find_written_day("202602091430 walrus"), find_written_day("February 10th, 2026"), find_written_day("3 May")
    ('2026-02-09', '2026-02-10', None)
    >>> find_written_day("2026-W07"), find_written_day("luty 2026"), find_written_day("2026-Q3", HALF_YEAR)
    ('2026-02-09', None, '2026-07-01')
    """
    for found in _COMPACT.finditer(text):
        with suppress(ValueError):  # 20269999 is no date
            return date(int(found[1]), int(found[2]), int(found[3])).isoformat()
    if text.isascii() and sum(map(str.isdigit, text)) < LEAST_DIGITS:
        return None
    text = _CLOCK_BEFORE_YEAR.sub("", text.replace("_", " "))
    for each, later in zip(find_periods(text, date(2000, 1, 1)), find_periods(text, date(2004, 3, 1)), strict=False):
        days = (each.period.last - each.period.first).days + 1
        is_fixed = each.period == later.period  # one without a year is another later on
        if is_fixed and days <= most_days:
            return each.period.first.isoformat()
    return None


def find_period(text: str, today: date, *, ahead: bool = False) -> NamedPeriod | None:
    """Find the period that a question names; None if it names none. Of several it is the shortest, then the first; holidays last.

    A day or a month without a year is the latest that has begun, a weekday alone the last one before today.

    Args:
        text: The question.
        today: The day on which it is asked.
        ahead: It asks for what is to come: a day or a month without a year is the first that is not over, a weekday alone the
            next one after today.
    """
    several = find_periods(text, today, ahead=ahead)
    found = [each for each in several if not each.is_end and (ahead or not each.is_later)]
    return min(found, key=lambda each: (each.is_holiday, each.period.last - each.period.first), default=None)


def find_periods(text: str, today: date, *, ahead: bool = False) -> Sequence[NamedPeriod]:
    """Return the periods that a text names, in order; see `find_period`.

    Only the text's language is read; if that is unknown or seems English, the first of all languages in which it names any, or
    one that reads more words of the same.
    """
    return _find_both(text, today)[ahead]


def find_either(text: str, written: date) -> Iterator[tuple[NamedPeriod, NamedPeriod]]:
    """Yield each period that a text names as one that was, and as one that is to come; see `find_periods`."""
    yield from (pair for pair in zip(*_find_both(text, written), strict=False) if not pair[0].is_later)


@lru_cache(maxsize=4)  # a search asks how many hits there may be, and which
def _find_both(text: str, today: date) -> Sequence[Sequence[NamedPeriod]]:
    """Return the periods that a text names as those that were, which decide about the language, and as those that are to come."""
    text = text[:LONGEST]
    tokens = split_tokens(text)
    found: Sequence[Sequence[NamedPeriod]] = [[], []]
    before, behind = list[DateToken](), list[DateToken]()
    for language in _choose_languages(text, tokens):
        if found[0] and not any(_knows(language, token) for token in before + behind):
            continue  # it reads no more words of the period than are found
        reading = _Reading(text, tokens, language)
        read = [[*reading.find_periods(Vantage(today, ahead))] for ahead in (False, True)]
        if read[0] and (not found[0] or (found[0][0].text in read[0][0].text != found[0][0].text)):
            found, at = read, text.index(read[0][0].text)
            before = [token for token in tokens if token.end <= at][-1:]
            behind = [token for token in tokens if token.start >= at + len(read[0][0].text)][:1]
        own, following = found[0][0].language if found[0] else "", behind if language == "en" else []
        is_whole = all(_knows(own, each, unread=False) for each in before) if own else False
        if is_whole and all(_knows(own, each) for each in following):
            break  # unlike "Anfang" in "Anfang November" and "bis" in "3.5. bis 9.6.", which English reads in part
    return found


def _knows(language: str, token: DateToken, *, unread: bool = True) -> bool:
    """Return True if a language has a word; one that it could have read, as "próximo", counts only with `unread`."""
    lexicon = read_lexicons()[language]
    may_be_read, others = token.key in lexicon.symbols, (lexicon.roles, _fold_stop_words(language))
    return unread if may_be_read else any(token.key in each for each in others)


def _choose_languages(text: str, tokens: Sequence[DateToken]) -> list[str]:
    """Return the languages to read a text in, the likeliest first; none where no word or number can name a period."""
    triggers = list_triggers()
    counts: dict[str, int] = {}
    for token in tokens:
        for language in triggers.get(token.key, ()):
            counts[language] = counts.get(language, 0) + 1
    if not counts and not any(token.code or token.key.endswith(list_endings()) for token in tokens):
        return []
    if any(is_cjk(token.key[:1]) for token in tokens):
        return ["ja", "zh"] if re.search(r"[\u3040-\u30ff]", text) else ["zh", "ja"]
    detected = detect_language(text)
    words = {token.key for token in tokens}
    others = [each for each in counts if each not in ("en", "zh", "ja")]
    lexicons, several = read_lexicons(), {*others, detected or "en"}
    known = {each: words & _fold_stop_words(each) | words & lexicons[each].symbols.keys() for each in several}
    others.sort(key=lambda each: (len(known[each]), counts[each]), reverse=True)
    if detected and detected not in counts and others and len(known[others[0]]) > len(known[detected]):
        detected = None  # "giovedì alle nove" is taken for German
    if detected in _ROMANCE:  # short questions in these are taken for each other
        alike = [str(detected), *(each for each in others if each in _ROMANCE)]
        return sorted(alike, key=lambda each: -len(known[each]))
    if detected in _GERMANIC:  # these, too, where another one has more of the words
        return [detected, *(each for each in _GERMANIC if counts.get(each, 0) > counts.get(detected, 0))]
    if detected not in (None, "en"):
        return [str(detected)]
    if detected is None and any(token.code for token in tokens):  # "em 28/9", not "a 3/4 cup"
        roles = {each: "".join(own.roles.get(key, "") for key in words if key[1:]) for each, own in lexicons.items()}
        others += [each for each, found in roles.items() if {*"pN"} & {*found}]
    return [*dict.fromkeys(["en", *others, *_GERMANIC])]


def _read_phrase(
    tokens: Sequence[DateToken], at: int, lexicon: Lexicon
) -> tuple[int, Sequence[tuple[str, object]], str]:  # fmt: skip
    """Read the longest phrase of the table at a token: the number of its tokens, its symbols, and its roles."""
    token = tokens[at]
    for size in range(min(lexicon.longest.get(token.key, 0), len(tokens) - at), 1 if token.code else 0, -1):
        key = " ".join([each.key for each in tokens[at : at + size]])
        if key in lexicon.symbols or key in lexicon.roles:
            return size, lexicon.symbols.get(key, ()), lexicon.roles.get(key, "")
    if token.code:
        return 1, [(code, token.value) for code in token.code if code != "~"], "T" if token.code == "~" else ""
    return 1, lexicon.split_compound(token.key) or (), ""


def _join(codes: str, after: str, gap: str | None, between: Sequence[str]) -> str:
    """Return what stands between two symbols: "" if they belong together, a sign for to (~), and (&), before, after, else " "."""
    before = codes[-1:]
    if gap is None:
        return " "
    is_beside = before in "dvkMYw" and ("z" in gap or "s" in gap) and "T" not in gap  # not "bis" and "until"
    if is_beside or (before in "wt" and after in "no" and "i" in gap):
        return "<" if "z" in gap else ">"  # after, also in "Monday in two weeks"
    if "T" in gap and before in "noDmxwtysiQE" and after in "noDmxwtysiQeE" and before + after != "ws":
        return "~"
    if "&" in gap:
        return "&"
    is_apart = not _OF.issuperset(between) and before in "nor" and codes[-2:] not in ("vr", "Yr") and after in "mwsvkMY"
    # "Otoño, la próxima": the next of something else.
    is_other = before in "ms" and after == "r" and between[-1:] in (["la"], ["le"], ["el"], ["il"])
    return " " if is_apart or is_other or not set(gap) <= set("gpcTBLHiN") else ""


@cache
def _compile_neighbours(language: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of another weekday with a capital before a weekday, and behind it: "Mon, Wed", "Mo bis Fr"."""
    lexicon = read_lexicons()[language]
    days = "|".join(re.escape(key.title()) for key, parts in lexicon.symbols.items() if parts[0][0] == "w")
    words = "|".join(re.escape(key) for key, role in lexicon.roles.items() if set("T&") & set(role))
    gap = rf"(?:\s?[,/&+–—-]\s?|\s(?:{words})\s)"
    return re.compile(rf"(?<!\w)(?:{days})\.?{gap}\Z"), re.compile(rf"\.?{gap}(?:{days})(?!\w)")


class _Reading:
    """A text read in one language, by the longest phrases of its table.

    Attributes:
        codes: One character a symbol, with " ", "~", "&", "<" or ">" between symbols that do not stand side by side.
        values: For every character its value.
        spans: For every character the first and last token of the symbol.
        roles: For every token its roles, None for a word that the table does not know.
    """

    def __init__(self, text: str, tokens: Sequence[DateToken], language: str) -> None:
        self.codes, self.values, self.spans = "", list[object](), list[tuple[int, int]]()
        tokens = [read_slash(token, language) for token in tokens]
        self.roles: list[str | None] = [None] * len(tokens)
        self._text, self._tokens, self._language, self._lexicon = text, tokens, language, read_lexicons()[language]
        gap: str | None = ""  # roles of the words since the last symbol; None after a word that parts
        at = behind = 0  # the next token, and that behind the last symbol
        while at < len(tokens):
            is_hour = tokens[at].code == "n" and _NO_DAY.match(text, tokens[at].end)
            if tokens[at].code == "n" and not is_hour and self._numbers_day(tokens, at):
                tokens[at] = tokens[at]._replace(code="o")
            size, parts, role = _read_phrase(tokens, at, self._lexicon)
            if (
                "c" in role
                and self.codes[-1:] == "w"
                and at == behind
                and text[tokens[at - 1].end : tokens[at].start] == " "
            ):
                parts = ()  # "Montag Morgen" is a part of Monday, not tomorrow
            if at and _BREAKS.search(text, tokens[at - 1].end, tokens[at].start):
                gap = None
            if is_hour and self.codes[-1:] == "w":  # "Friday 8 pm"
                gap = None
            self.roles[at : at + size] = [role if role or parts else None] * size
            if parts:
                between = [token.key for token in tokens[behind:at]]
                joint = _join(self.codes, parts[0][0], gap, between) if self.codes else ""
                self.codes += joint + "".join(code for code, _ in parts)
                self.values += [None] * len(joint) + [value for _, value in parts]
                self.spans += [(at, at + size - 1)] * (len(joint) + len(parts))
                gap, behind = "", at + size
            elif gap is not None:
                gap = gap + role if set(role) - set("LH") else None
            at += size

    def _numbers_day(self, tokens: Sequence[DateToken], at: int) -> bool:
        """Return True for a number that is that of a day: "am 3.", "20.–25.10.", "el 3"."""
        if _TO_DATE.match(self._text, tokens[at].end):
            return True
        if self._language == "de" and at and _GERMAN_NTH.match(self._text, tokens[at - 1].start):
            return True
        beside = (*tokens[max(at - 1, 0) : at], *tokens[at + 1 : at + 2])
        return any("N" in self._lexicon.roles.get(each.key, "") for each in beside)

    def find_periods(self, asked: Vantage) -> Iterator[NamedPeriod]:
        """Yield the periods that it names, in order."""
        at = 0
        while at < len(self.codes):
            found, begin = read_longest(self.codes, self.values, at, asked), at
            if found is None:
                at += 1
                continue
            at, period = found
            first = self.spans[begin][0]
            roles, joint = self._list_roles(first), self.codes[at : at + 1]
            if self.codes[begin] == "A":  # "depuis" is "since" and "ago"
                roles |= set(self.roles[first] or "") & _SINCE
            if "~" in self.codes[begin:at]:
                roles -= {"S", "z"}
            if asked.ahead and roles & _SINCE and joint != "~":  # what lasts since then has begun
                asked, at = Vantage(asked.today), begin
                continue
            # "The 6th to the 8th": the 8th behind that 6th.
            end = Vantage(period.first, ahead=True) if self.codes[begin:at] in ("o", "D") and joint == "~" else asked
            beyond = read_longest(self.codes, self.values, at + 1, end) if joint in ("~", "&") else None
            is_range = False
            if beyond is not None and (joint == "~" or "B" in roles):
                is_range = all(each.first == each.last for each in (period, beyond[1]))
                at, period = beyond[0], stretch(period, beyond[1])
                roles -= {"S", "z"}
            elif beyond is not None and (both := join(period, beyond[1])):  # "in October and November"
                at, period = beyond[0], both
            last = self.spans[at - 1][1]
            is_end = "u" in roles and period.first == period.last  # "by Friday" names a day, "by June" no month
            roles = roles - {"z"} | {"p"} if is_end else roles
            is_habit = self.codes[max(begin - 1, 0) : at] == "ow"  # "the first Monday of every month"
            if not is_habit and self._counts(self.codes[begin:at], (first, last), roles):
                is_later = re.fullmatch(LATER, self.codes[begin:at]) is not None
                named = self._name(period, (first, last), roles, asked.today)
                is_date = not {*"mxDoiIE"}.isdisjoint(self.codes[begin:at])
                yield named._replace(is_end=is_end, is_later=is_later, is_range=is_range, is_date=is_date)

    def _name(self, period: Period, span: tuple[int, int], roles: Set[str], today: date) -> NamedPeriod:
        """Return a period, up to today where "since" stands before or behind it."""
        first, last = span
        is_holiday = self._is_holiday(first, last)
        while last + 1 < len(self._tokens) and "Z" in (self.roles[last + 1] or ""):
            last += 1
        if "s" in roles:
            after = period.last + timedelta(1)
            period = Period(after, max(today, after))
        elif "S" in roles or last > span[1]:
            period = Period(period.first, max(today, period.last))
        while roles & _SINCE and first and (_SINCE | {"g", "p"}) & set(self.roles[first - 1] or ""):
            first -= 1
        text = self._text[self._tokens[first].start : self._tokens[last].end]
        return NamedPeriod(period, text, self._is_alone((first, last)), self._language, is_holiday)

    def _list_roles(self, first: int) -> set[str]:
        """Return the roles of the words directly before a token; "z" also for "vor", which is "ago" before a number."""
        found: set[str] = set()
        for at in range(first - 1, -1, -1):
            role = self.roles[at]
            if not role or role == "L":
                ago = self._language in ("de", "nl") and any(
                    span[1] == at and code == "A" for span, code in zip(self.spans, self.codes, strict=True)
                )  # fmt: skip
                return found | {"z"} if ago else found
            found |= set(role) - ({"H"} if at < first - 1 and "p" in found else set())  # "on weekends in July"
        return found

    def _counts(self, codes: str, span: tuple[int, int], roles: Set[str]) -> bool:
        """Return False for what looks like a period and is none: "before June", every Monday, "I may in the next version"."""
        within = {"g", "B"} & set(self.roles[span[1] - 1] or "")  # "early in the year", not "early years"
        is_loose = not within and self._language in ("en", *_GERMANIC) and re.fullmatch("n?e[YMqhv]", codes)
        behind = set((self.roles[span[1] + 1] or "") if span[1] + 1 < len(self.roles) else "")
        own = roles | set(self.roles[span[0]] or "")
        if (
            is_loose
            or ("z" in roles and not _SINCE & roles)
            or (re.fullmatch(LATER, codes) and "i" not in own and behind & {"i", "p"} != {"i"})
            or self._is_word(codes, span)
            or self._is_english(span)
            or self._is_foreign_holiday(span)
            or (self._language in ("en", "de") and codes in ("mr", "sr") and any(self.roles[span[0] : span[1] + 1]))
        ):
            return False
        if codes in ("Q", "y", "vn"):  # else they may be a name or any number
            return (codes != "vn" and bool((_SINCE | {"p", "B"}) & roles)) or self._is_alone(span)
        if codes == "x" and "/" in self._tokens[span[0]].key and not self._tokens[span[0]].value[0]:  # "1/2 cup"
            placed = roles - {"L", "g"} or ("g" in roles and self._tokens[span[0] - 1].key not in _OF)
            return bool(placed) or self._is_alone(span)
        if codes in ("o", "D", "wo", "ko", "vo"):
            return self._is_day_of_month(codes, span, roles | (behind & {"N"}))
        if codes == "k":
            is_placed = bool((_SINCE | {"p"}) & roles) or self._language in ("zh", "ja")
            return is_placed and "H" not in roles
        placed = bool((_SINCE | {"p", "c"}) & roles)
        if codes == "w":  # "Freitag Abend", "segunda às 9:30"
            placed = placed or "c" in behind or _HOUR.match(self._text, self._tokens[span[1]].end) is not None
        if codes == "w" and self._language in _GERMANIC:
            # "Was war Freitag?", unlike "Frau Sonntag?" and "mevrouw Zondag?".
            ends = self._is_last(span[0]) and not self._has_capital(span[0] - (self._language == "de"))
            placed = placed or ends or self.is_written(span[0]) or self._is_alone(span)
        return codes not in ("m", "w", "s") or ("H" not in roles and not self._is_name(span, placed))

    def _is_day_of_month(self, codes: str, span: tuple[int, int], roles: Set[str]) -> bool:
        """Return True for "on the 3rd" and "Monday, the 14th", but not for "on the third floor"."""
        token, before = self._tokens[span[1]], [each.key for each in self._tokens[max(span[0] - 2, 0) : span[0]]]
        in_digits = token.code in ("o", "D")
        if len(codes) > 1:  # in words, those up to the fifth count other things more often
            return in_digits or self._lexicon.symbols.get(token.key, [("", 0)])[0][1] > 5
        is_placed = bool((_SINCE | {"p", "B", "N"}) & roles) or (codes == "D" and token.key[0].isdigit())
        is_verb = before[-1:] == ["am"] and not self._has_capital(span[1] + 1)  # "am 3. gesagt"
        is_last = self._is_last(span[1]) and not {"on", "op"}.isdisjoint(before)  # not "works in 2nd"
        return in_digits and (is_verb or is_last or (is_placed and self._is_alone(span)))

    def _is_word(self, codes: str, span: tuple[int, int]) -> bool:
        """Return True if a short name in a period is the word that it is, too: "grow in sun", "rule 12 may apply"."""
        for at in range(span[0], span[1] + 1):
            if is_short(self._tokens[at].key) and self._tokens[at].key in self._lexicon.names:
                kind = self._get_kind(at)
                if (kind == "m" and self._is_verb(at)) or (
                    kind == "w" and not set("mxoD") & set(codes) and not self.is_written(at)
                ):
                    return True
        return False

    def _is_verb(self, at: int) -> bool:
        """Return True for "may" in small letters behind "this", or before another word of grammar."""
        stop_words = _fold_stop_words(self._language)
        if self._tokens[at].key not in stop_words or self._has_capital(at) or self._is_last(at):
            return False
        before = self._lexicon.symbols.get(self._tokens[at - 1].key, []) if at else []
        is_joined = not self.roles[at + 1] and self._tokens[at + 1].key in stop_words
        is_verb = before == [("r", 0)] or (is_joined and (not before or before[0][0] != "r"))  # "last may with Ines"
        return is_verb and self._list_gaps(at)[1].isspace()

    def is_written(self, at: int) -> bool:
        """Return True where a short name of a weekday or month stands as one, and not as the word that it is, too.

        A number or "on" stands beside it, "last" before it, or behind a capital one an hour, a part of the day, another weekday
        or a colon: "3 Jan", "on Sat", "Sat 9:00", "Sun morning", "Mo–Fr", "| Do |", "Do: choir".
        """
        left, right = self._list_gaps(at)
        roles = set((self.roles[at - 1] or "") if at and left.isspace() else "")
        is_last = at > 0 and left.isspace() and self._get_kind(at - 1) == "r"
        if self._get_kind(at) == "m":
            numbered = ((at - 1, left), (at + 1, right))
            is_numbered = any(self._is_number(each) and _NEAR_NUMBER.fullmatch(gap) for each, gap in numbered)
            return (is_numbered or is_last or bool(roles & {"p", "S"})) and not self._is_verb(at)
        capital, is_grammar = self._has_capital(at), self._tokens[at].key in _fold_stop_words(self._language)
        if roles & set("pHSBTzu" if capital else "pH") and "i" not in roles:  # "in sun and shade"
            is_name = self._language == "en" and right.isspace() and self._has_capital(at + 1)
            return not is_name and (capital or not is_grammar or self._is_last(at))  # "im so genannten"
        return (is_last and (capital or not right.isspace())) or self._is_on_list(
            at, capital=capital, is_grammar=is_grammar
        )

    def _is_on_list(self, at: int, *, capital: bool, is_grammar: bool) -> bool:
        """Return True where a short name of a weekday stands as on a list of days; a small one begins a line, before an hour."""
        token, right = self._tokens[at], "" if self._is_last(at) else self._list_gaps(at)[1]
        starts = _LINE_START.search(self._text, max(token.start - 40, 0), token.start) is not None
        if not capital or _HOUR.match(self._text, token.end):
            return (capital or starts) and _HOUR.match(self._text, token.end) is not None
        if right.isspace() and "c" in (self.roles[at + 1] or "") and not is_grammar:  # "so früh"
            return True
        if right.isspace() and self._is_number(at + 1) and not self._list_gaps(at + 1)[1].isspace():  # "So 3 Eier"
            return True
        before, behind = _compile_neighbours(self._language)
        is_listed = before.search(self._text, max(token.start - 40, 0), token.start) or behind.match(
            self._text, token.end
        )
        is_label = starts and _LABEL_END.match(self._text, token.end)
        return bool(is_listed or is_label) and self._may_be_own()

    def _get_kind(self, at: int) -> str:
        """Return the symbol of a token that is a phrase alone; "" if it has none."""
        return self._lexicon.symbols.get(self._tokens[at].key, [("", 0)])[0][0]

    def _is_last(self, at: int) -> bool:
        return at + 1 == len(self._tokens)

    def _is_number(self, at: int) -> bool:
        return 0 <= at < len(self._tokens) and bool(set("noxyiD") & set(self._tokens[at].code))

    def _has_capital(self, at: int) -> bool:
        return at < len(self._tokens) and self._text[self._tokens[at].start].isupper()

    def _list_gaps(self, at: int) -> tuple[str, str]:
        """Return what stands between a token and those beside it."""
        first = self._tokens[at - 1].end if at else 0
        last = len(self._text) if self._is_last(at) else self._tokens[at + 1].start
        return self._text[first : self._tokens[at].start], self._text[self._tokens[at].end : last]

    def _may_be_own(self) -> bool:
        """Return True unless the text, but for its short names of days, is of another language."""
        others = [each for each in self._tokens if not (is_short(each.key) and each.key in self._lexicon.symbols)]
        return detect_language(" ".join(self._text[each.start : each.end] for each in others)) in (None, self._language)

    def _is_holiday(self, first: int, last: int) -> bool:
        """Return True if words, or words and a year, name a day of a month, or one that moves with Easter or the weekdays."""
        codes = {code for code, span in zip(self.codes, self.spans, strict=True) if first <= span[0] <= last}
        is_named = "E" in codes or codes - set(" ~&<>y") == {"m", "D"} or (first == last and codes == {"o", "w", "m"})
        return is_named and not any(token.code != "y" and token.code for token in self._tokens[first : last + 1])

    def _is_foreign_holiday(self, span: tuple[int, int]) -> bool:
        """Return True for a holiday of another language than the text's, without a year, which may be a name in it: "Noel"."""
        tokens = self._tokens[span[0] : span[1] + 1]
        spaced = not is_cjk(tokens[0].key[0]) and all(token.code != "y" for token in tokens)
        language, keys = str(detect_language(self._text) or "en"), {token.key for token in self._tokens}
        own, others = len(keys & _fold_stop_words(self._language)), len(keys & STOP_WORDS["en"])
        if (language == "en" and own > others) or (own and self._is_alone(span)) or len(tokens) == len(self._tokens):
            language = self._language  # "Was war an Ostern?", "à Noël" and "Neujahr" are too short to be known
        return spaced and self._is_holiday(*span) and self._language != language

    def _is_english(self, span: tuple[int, int]) -> bool:
        """Return True for a word of time in a text that may be English, if the word is English, too: "out" is no October."""
        if self._language in ("en", "zh", "ja") or detect_language(self._text) not in (None, "en"):
            return False
        tokens = self._tokens[span[0] : span[1] + 1]
        keys = {token.key for token in tokens if token.key in self._lexicon.symbols}
        if all(is_short(key) and key in self._lexicon.names for key in keys) and self._has_capital(span[0]):
            return False  # "Do um acht"
        return bool(keys) and keys <= STOP_WORDS["en"] | read_lexicons()["en"].symbols.keys()

    def _is_name(self, span: tuple[int, int], placed: bool) -> bool:
        """Return True if a single month, weekday or season may be a name.

        Args:
            span: Its tokens.
            placed: "in" or the like stands before it.
        """
        first, last = span
        following = self._tokens[last + 1] if last + 1 < len(self._tokens) else None
        capital = following is not None and self._text[following.start].isupper() and self._language == "en"
        if self._get_kind(first) == "w" and is_short(self._tokens[first].key):
            return False  # see `is_written`
        if self._tokens[first].key in self._lexicon.names:
            return not placed or capital or (following is not None and following.key == "s")
        # Where months are written small, a capital one is a name, except in front.
        grown = self._language not in ("en", "de", "zh", "ja") and first > 0 and not self._text.isupper()
        return (grown and self._text[self._tokens[first].start].isupper()) or (capital and not placed)

    def _is_alone(self, span: tuple[int, int]) -> bool:
        """Return True if the other words of the text only build the question, or are words of time themselves."""
        stop_words = _fold_stop_words(self._language)
        return all(
            span[0] <= at <= span[1]
            or (token.value in DAYS_OF_MONTH if token.code == "n" else token.code)
            or (token.code != "n" and self.roles[at] is not None)
            or token.key in stop_words
            for at, token in enumerate(self._tokens)
        )


@cache
def _fold_stop_words(language: str) -> frozenset[str]:
    return frozenset(fold_name(word) for known, words in STOP_WORDS.items() if known == language for word in words)


def read_time_word(word: str, language: str) -> tuple[str, int] | None:
    """Return the symbol and number of a word that is a weekday, month, unit, number or "next" in a language; None for any other.

    >>> read_time_word("Mondays", "en"), read_time_word("sat", "en"), read_time_word("mois", "fr")
    (('w', 0), None, ('M', 0))
    """
    lexicon = read_lexicons()[language]
    key = fold_name(word)
    may_be_word = len(key) <= 3 and not word[:1].isupper() and language != "fr"  # "sat" and "mar", not "Sat" and "Mar"
    singular = key if may_be_word else key.removesuffix("s")
    parts = lexicon.symbols.get(key) or lexicon.symbols.get(singular) or []
    return parts[0] if len(parts) == 1 and parts[0][0] in ("" if may_be_word else "wm") + "dvMYrone" else None
