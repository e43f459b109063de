"""The words of dates: the tokens of a text, the table of names of days, months and periods, and how a day is written. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import date
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from memory_core.text.dates import ordinal
from memory_core.text.spans import get_monday
from memory_core.text.tables import read_table
from memory_core.text.terms import is_cjk
from memory_core.text.tokens import compile_once

SHORT = 3  # letters of the name of a weekday or month, up to which it is often another word, too: "so", "sat", "mar"


_MARKS = re.compile("[\u0300-\u036f]")  # accents, decomposed


LAST_YEAR, MONTHS = 2100, 12


_KANJI = {char: number for number, char in enumerate("零一二三四五六七八九十")} | {"两": 2, "兩": 2, "〇": 0}


class DateToken(NamedTuple):
    """A word, a number or a CJK character; `code` and `value` are those of a number or a date in digits."""

    start: int
    end: int
    key: str
    code: str = ""
    value: Any = None


@dataclass(slots=True)
class Lexicon:
    """The table of one language: by phrase its symbols with their values, and the roles of words that only connect."""

    symbols: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    longest: dict[str, int] = field(default_factory=dict)  # by first word, the words of the longest phrase
    endings: list[str] = field(default_factory=list)

    def split_compound(self, key: str) -> list[tuple[str, int]] | None:
        """Return the symbols of "juliwoche": a month, weekday or season with an ending of the table."""
        for ending in self.endings:
            found = self.symbols.get(key[: -len(ending)]) if key.endswith(ending) else None
            if found and found[0][0] in "mws":
                # "Montagmorgen" is a part of Monday, not tomorrow.
                return found if "c" in self.roles.get(ending, "") else self.symbols.get(ending, []) + found
        return None


_YEAR = r"(?:20)?\d\d(?!\w)"  # behind a quarter, also in two digits


_PART = (  # of a year: "Q3", "3Q26", "H1", "2026H1"; the French and Spanish T3 and S1 only beside a year
    r"(?:(?<!\w)|(?<=\b20\d\d))"
    rf"(?:(?:[qQ][1-4]|H[12])(?!\w)|(?:[1-4][qQ]|[12]H)(?:(?!\w)|(?={_YEAR}))"
    rf"|(?:[tT][1-4]|[sS][12])(?=[ -]?20\d\d(?!\w))|(?:[1-4][tT]|[12][sS])(?=['’]?{_YEAR}|[ -]20\d\d(?!\w))"
    r"|(?:(?<=20\d\d[ -])|(?<=\b20\d\d))(?:[tT][1-4]|[sS][12]|[1-4][tT]|[12][sS])(?!\w))"
)


# A word, and a sign between what is from and what is to.
_WORD_OR_SIGN = (
    r"(?P<to>(?:(?<=[\d\s.])|(?<=\d(?:st|nd|rd|th)))[-–—～〜](?=[\s\d])|(?<=[qQH][1-4])[-–—](?=[qQH][1-4]))"
    r"|(?P<word>[\u3040-\u30ff\u3400-\u9fff々]|[^\W\d_\u3040-\u30ff\u3400-\u9fff々]+)"
)
_find_words = partial(compile_once, _WORD_OR_SIGN)


# A large pattern, which a text without a number is spared.
_find_tokens = partial(
    compile_once,
    r"(?P<date>(?:(?<![\d.-])|(?<=\.-))(?:\d{4}([-/._])\d{1,2}\2\d{1,2}(?![\d-])|\d{1,2}\.\s\d{1,2}\.\s\d\d(?![\d:])|\d{1,2}\.\s?\d{1,2}\.(?:\s?\d{4}|\d\d(?!\d))?|\d{1,2}([./-])\d{1,2}\3\d{4}"
    r"|(?:(?<=\b[Aa]m\s)|(?<=\b(?:[VvDd]om|[Dd]e[mn])\s))\d{1,2}\.\d{1,2}(?=\s*(?:[?!,;)\n]|\Z|\.\s|(?:um|bis|war|hat|habe|ist)\b)))(?!\d))"
    r"|(?P<parts>(?<!\d)(?:19|20)\d\d(?:-\d\d(?![\d-])|/\d\d(?![\d/])|-?K?W\d\d(?!\d))|(?<![\d/])\d{1,2}/(?:19|20)\d\d(?![\d/]))"
    r"|(?P<slash>(?<![\w/.,])\d{1,2}/\d{1,2}(?![^\W\u3040-\u30ff\u3400-\u9fff]|/))"
    rf"|(?P<short>(?<!\w)['’]\d\d(?!\w)|(?:(?<=\b[qQHtTsS][1-4])[-'’]|(?<=\b[1-4][qQHtTsS])[-'’]?){_YEAR})"
    rf"|(?P<part>{_PART})"
    r"|(?P<cjk>(?P<nth>第)?(?P<count>\d{1,4}|[〇零一二两兩三四五六七八九十]{1,4})\s*(?P<of>[年년](?!間|以?前)|[月월](?!間|曜)|[日号號일](?!間|曜|前|後|后)|(?=個|个|か|ヶ|カ|ヵ|ケ|週|周|天|日|年|星|四半|季|[月火水木金土日]曜)))"
    r"|(?P<number>(?<![\w.])(?:20\d\d(?=[qQHtTsS][1-4](?!\w))|\d{1,4}"
    r"(?P<ordinal>st|nd|rd|th|s?ten?|de|ers?|[èe]?re|e|ème|º|ª|°|\.(?= (?i:quartal|halbjahr))|-?го|-?е|-?й|-?ю|-?ой)?(?!\w)))"
    rf"|{_WORD_OR_SIGN}",
)
_HAS_NUMBER = re.compile(rf"[\d{''.join(_KANJI)}]")


def fold_name(word: str) -> str:
    """Return a word in small letters and without accents, as the table is read."""
    return word.lower() if word.isascii() or is_cjk(word) else _fold_letters(word)


def _fold_letters(text: str) -> str:
    return _MARKS.sub("", unicodedata.normalize("NFD", text.casefold()))


def _read_kanji(text: str) -> int:
    """Return the value of a number below 100, or of a year, in digits or ideographs."""
    if text.isdigit() and text[0] not in _KANJI:
        return int(text)
    if "十" not in text:
        return int("".join(str(_KANJI[char]) for char in text))
    tens, _, ones = text.partition("十")
    return 10 * (_read_kanji(tens) if tens else 1) + (_read_kanji(ones) if ones else 0)


def split_tokens(text: str) -> list[DateToken]:
    """Return the words, numbers and dates of a text, in order."""
    pattern = _find_tokens() if _HAS_NUMBER.search(text) else _find_words()
    return [_read_token(found) for found in pattern.finditer(text)]


def _read_token(found: re.Match[str]) -> DateToken:
    if found["to"]:
        return DateToken(found.start(), found.end(), "~", "~")
    code, value = ("", None) if found["word"] else _read_value(found)
    return DateToken(found.start(), found.end(), fold_name(found[0]), code, value)


def _read_value(found: re.Match[str]) -> tuple[str, object]:
    """Return the symbol of a token in digits, and its value."""
    numbers = [int(part) for part in re.findall(r"\d+", found[0])]
    if found["date"]:
        if len(numbers) == 3 and numbers[0] > 31:
            return "x", tuple(numbers)
        year = numbers[2] if len(numbers) == 3 else 0
        return "x", (year + 2000 if 0 < year < 100 else year, numbers[1], numbers[0])
    if found["count"]:
        count = _read_kanji(found["count"])
        of_year = "y" if count > 31 else "nY"
        code = {"年": of_year, "년": of_year, "月": "m", "월": "m", "": "n"}.get(found["of"], "D")
        return ("o" if found["nth"] else code), count
    if found["number"]:
        return ("o" if found["ordinal"] else "y" if 1900 <= numbers[0] < LAST_YEAR else "n"), numbers[0]
    if found["parts"] or found["slash"]:
        code = "f" if found["slash"] else "I" if "W" in found[0] else "i"
        if code == "i" and numbers[0] % 100 + 1 == numbers[1] > MONTHS:
            code, numbers = "y", numbers[:1]  # "winter 2024/25"
        ordered = tuple(numbers if code == "f" else sorted(numbers, reverse=True))
        return code, ordered[0] if code == "y" else ordered
    part = found["part"]
    return ("Q", (6 if part.strip("1234") in "HsS" else 3, numbers[0])) if part else ("y", numbers[0] % 2000 + 2000)


def read_slash(token: DateToken, language: str) -> DateToken:
    """Return "12/8" as the date that it is in a language; a word where that is in doubt, as in English, or none: "24/7"."""
    if token.code != "f":
        return token
    day, month = token.value
    if language in ("zh", "ja"):
        month, day = token.value
    elif language == "en":
        day, month = (day, month) if day > MONTHS else (month, day if month > MONTHS else 0)
    is_date = token.key != "24/7" and 0 < month <= MONTHS and 0 < day <= DAYS_OF_MONTH[-1]
    return token._replace(code="x" if is_date else "", value=(0, month, day))


def _split_phrases(several: str, language: str) -> list[str]:
    """Return the phrases of a line of the table, with spaces between words, or characters in Chinese and Japanese."""
    if language in ("zh", "ja"):
        return [each if each.isascii() else " ".join(each) for each in several.lower().split(", ")]
    phrases = _fold_letters(several).split(", ")
    return [each if each.isalpha() else " ".join(each.replace("'", " ").split()) for each in phrases]


@cache
def read_lexicons() -> Mapping[str, Lexicon]:
    """Read the table: what is in each language, by its code."""
    found: dict[str, Lexicon] = {}
    for language, entries in read_table(Path(__file__).with_name("periods.txt")).items():
        lexicon = found[language] = Lexicon()
        for symbols, several in entries.items():
            keys = _split_phrases(several, language)
            if symbols == "names":
                lexicon.names.update(keys)
            elif symbols == "+":
                lexicon.endings += keys
            elif symbols[0] in "SBTzupgcLZHiN":
                role = symbols.replace("S1", "s").replace("T1", "&")
                for key in keys:
                    lexicon.roles[key] = lexicon.roles.get(key, "") + role
            else:
                parts = [(each[0], int(each[1:] or 0)) for each in symbols.split()]
                for key in keys:
                    lexicon.symbols.setdefault(key, parts)
    for lexicon in found.values():
        for key in (*lexicon.symbols, *lexicon.roles):
            first, _, rest = key.partition(" ")
            size = rest.count(" ") + 2 if rest else 1
            if size > lexicon.longest.get(first, 0):
                lexicon.longest[first] = size
    return found


@cache
def list_triggers() -> Mapping[str, Mapping[str, None]]:
    """Return the languages in which a word begins the name of a day, month, season or unit, in order."""
    found: dict[str, dict[str, None]] = {}
    for language, lexicon in read_lexicons().items():
        for key, parts in lexicon.symbols.items():
            if any(code in "tmwsdvkMqhYE" for code, _ in parts):
                for word in key.split():
                    found.setdefault(word, {})[language] = None
    return found


@cache
def list_days_and_months() -> Mapping[str, Sequence[str]]:
    """Return the single words that name a day or a month, each with its languages."""
    found: dict[str, list[str]] = {}
    for language, lexicon in read_lexicons().items():
        for key, parts in lexicon.symbols.items():
            if parts[-1][0] in "mwt":
                found.setdefault(key, []).append(language)
    return found


def is_short(key: str) -> bool:
    """Return True for a name of a weekday or month that is often another word, too."""
    return len(key) <= SHORT and not is_cjk(key[0])


def names_month(word: str) -> bool:
    """Return True for a word that is a month in some language, also in short: "Februar", "Dec"."""
    return word[:1].isupper() and fold_name(word) in _list_months()


@cache
def _list_months() -> frozenset[str]:
    return frozenset(key for (symbol, keys) in _list_spellings().items() if symbol[0] == "m" for key in keys)


@cache
def _list_spellings() -> Mapping[tuple[str, int], Mapping[str, Set[str]]]:
    """Return the phrases that are one symbol, by the symbol and its number, each with the languages that have it."""
    found: dict[tuple[str, int], dict[str, set[str]]] = {}
    for language, lexicon in read_lexicons().items():
        for key, parts in lexicon.symbols.items():
            if len(parts) == 1:
                spelt = key.replace(" ", "") if is_cjk(key[0]) else key
                found.setdefault(parts[0], {}).setdefault(spelt, set()).add(language)
    return found


def list_day_spellings(day: date) -> list[str]:
    """Return the ways in which notes write a day or the week of it, without a year, in all languages; CJK has one way."""
    monday = get_monday(day)
    spellings = [*list_day_figures(day)]
    for each in dict.fromkeys((day, monday)):
        numbers = dict.fromkeys((f"{each.day}", f"{each:%d}", ordinal(each.day)))
        for key, languages in _list_spellings()["m", each.month].items():
            for number in numbers:
                spellings += [f"{number} {key}", f"{key} {number}"]
            spellings += [f"{each.day} de {key}"] if languages & {"es", "pt"} else []
            spellings += [f"{ordinal(each.day)} of {key}"] if "en" in languages else []
    for key in _list_spellings()["w", day.weekday()]:
        spellings += [f"{key} {day.day}", f"{key} {ordinal(day.day)}"]
    week = day.isocalendar().week
    return spellings + [f"{key} {week}" for key in _list_spellings()["W", 0]]


def list_day_figures(day: date) -> list[str]:
    """Return the ways in which notes write a day in figures, without a year."""
    return [f"{day:%Y-%m-%d}", f"{day.day} {day.month}", f"{day:%d %m}", f"{day.month}月{day.day}日"]


def list_spellings(symbol: tuple[str, int], language: str, *, only: bool = False) -> list[str]:
    """Return the words of all languages for a month, ("m", 3), or a weekday, ("w", 0), the short ones only of one language.

    "mar", "set" and "do" are words. With `only`, all words are of that language.
    """
    spellings = _list_spellings()[symbol].items()
    return [key for key, known in spellings if language in known or (not only and not is_short(key))]


def list_near_days() -> list[str]:
    """Return the words of all languages for yesterday, tomorrow, and the days before and after them."""
    return [key for (symbol, days), keys in _list_spellings().items() if symbol == "t" and days for key in keys]


@cache
def list_endings() -> tuple[str, ...]:
    """Return what may end a compound, such as "woche"."""
    return tuple(ending for lexicon in read_lexicons().values() for ending in lexicon.endings)


DAYS_OF_MONTH = range(1, 32)  # any other number is no time, but something that is looked for
