"""Questions about how things are and how they were, and lines that tell a change; pure.

The words are those of phrases.txt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Literal

from memory_core.text.languages import Language, stem_words
from memory_core.text.tables import PHRASES, join_lines
from memory_core.text.terms import classify, detect_language

Time = Literal["now", "then"]
Tense = Literal["past", "present", "future"]

_ALL = PHRASES["all"]


def find_asked_time(text: str) -> Time | None:
    """Tell if a question asks how things are, "now", or how they were before, "then"; None of what has happened.

    Nor do statements ask, and lists of words without a question mark or a word such as "now". A birthday never changes.

    >>> find_asked_time("Where does Ann live?"), find_asked_time("Where did she live before?"), find_asked_time("Who was ill?")
    ('now', 'then', None)
    """
    kind, asks = classify(text), text.rstrip().endswith(("?", "？"))
    if kind == "statement" and not asks:
        return None
    if asks_time(text) and tells_yearly(text):
        return None
    language = detect_language(text) or "en"
    lowered = text.lower().replace("’", "'")
    if _compile(PHRASES[language]["then"]).search(lowered):
        return "then"
    if _compile(PHRASES[language]["now"]).search(lowered):
        return "now"
    asks = asks or kind == "question"
    return "now" if asks and find_tense(text, language) != "past" else None


def find_tense(text: str, language: str) -> Tense | None:
    """Tell by its verbs if a text is about what was, is or will be; None where it has no verb that tells.

    What is planned will be, unless the plan was. A present may tell what is to come: "Who is here on Friday?"

    Args:
        text: It, without words of time, which may look like verbs.
        language: Its language, or Chinese or Japanese.

    >>> find_tense("What is planned?", "en"), find_tense("Was habe ich?", "de"), find_tense("Qu'ai-je fait ?", "fr")
    ('future', 'present', 'past')
    """
    words = PHRASES.get(language)
    if words is None:
        return None
    lowered = text.lower().replace("’", "'")
    others, planned = _compile(words["future"]).subn("…", lowered)
    if _compile(words["past"]).search(others):
        return "past"
    if planned:
        return "future"
    present = _compile(words["present"]).search(others)
    before = re.findall(r"[a-z]+", others[: present.start() if present else None])
    if language == "en" and len(before) > 1 and any(is_past(each) or each.endswith("ed") for each in before):
        return "past"  # "who rang", but "what is left", and "rent"
    return "present" if present else None


@lru_cache(maxsize=50_000)
def is_past(word: str) -> bool:
    """Return True for the past tense of an irregular verb of English, in lower case.

    >>> is_past("rang"), is_past("ring")
    (True, False)
    """
    if len(word) < 3 or word in {"are", "rent"}:
        return False
    verbs = [each.stem[3:] for each in stem_words([word], "en") if each.stem.startswith("to ")]
    return bool(verbs) and word not in verbs and not word.endswith(("s", "ing"))


def find_present(text: str) -> set[str]:
    """Return the words with which a question that asks how things are says "now": no note need hold them.

    >>> sorted(find_present("Where does Ann live at the moment?"))
    ['at', 'moment', 'the']
    """
    found = _compile(PHRASES[detect_language(text) or "en"]["now"]).findall(text.lower().replace("’", "'"))
    return {word for each in found for word in re.findall(r"\w+", each)}


def tells_change(text: str) -> bool:
    """Return True if a line says that something is not what it was."""
    return find_change(text) is not None


def find_change(text: str) -> int | None:
    """Return where a line says that something is not what it was; None if it does not."""
    found = _compile(_ALL["change"]).search(text.lower())
    return found.start() if found else None


def tells_end(text: str) -> bool:
    """Return True if a line says that something is over: given up, sold, cancelled, or not so any more.

    >>> tells_end("We sold the boat."), tells_end("Ich rauche nicht mehr."), tells_end("We bought a boat.")
    (True, True, False)
    """
    return _compile(_ALL["end"]).search(text.lower().replace("’", "'")) is not None


def tells_exception(text: str) -> bool:
    """Return True if a line says that something holds once.

    >>> tells_exception("At nine, this week only"), tells_exception("Ausnahmsweise um neun"), tells_exception("Nine from today")
    (True, True, False)
    """
    return _compile(_ALL["exception"]).search(text.lower().replace("’", "'")) is not None


def asks_time(text: str) -> bool:
    """Return True for a question that asks for a day or an hour."""
    return _compile(_ALL["asks time"]).search(text.lower()) is not None


def tells_yearly(text: str) -> bool:
    """Return True if a line is about a day that comes every year: a birthday or an anniversary.

    >>> tells_yearly("Geburtstag 2. Juli 2018"), tells_yearly("born on 2 July 2018"), tells_yearly("moved on 2 July 2018")
    (True, True, False)
    """
    return _compile(_ALL["yearly"]).search(text.lower()) is not None


def find_stance(text: str, language: Language) -> Literal["unsure", "state"] | None:
    """Tell if a sentence says how things are, "state", or supposes, wishes, denies or excepts something, "unsure"; else None.

    >>> find_stance("We might move to Mondays", "en"), find_stance("The class is no longer on Mondays", "en")
    ('unsure', 'state')
    """
    supposed = text  # in its own letters: May is a month
    for found in reversed([*_compile(_ALL["replaces"]).finditer(text.lower())]):
        supposed = f"{supposed[: found.start()]} {supposed[found.end() :]}"
    if _compile_words(language, "unsure").search(supposed) or tells_exception(supposed):
        return "unsure"
    stands = _compile_words(language, "states").search(text) or _compile_words(language, "habits").search(text)
    return "state" if stands else None


def tells_past(text: str, language: Language) -> bool:
    """Return True if a sentence in another language than English, of which the verbs are known, tells what has happened."""
    past = _compile(PHRASES[language]["past"]).search(text.lower())
    first = language == "es" and re.match(r"\W*\w{3,}(?:é|í)\b", text)  # "pagué", "salí"
    return language != "en" and bool(past or first)


def tells_leave(text: str, language: Language) -> bool:
    """Return True if a text says that somebody leaves a post, that a business closes, or that another one takes over."""
    return _compile_words(language, "leave").search(text) is not None


def tells_over(text: str) -> bool:
    """Return True if a text says that something is over, gone, dead, given up or sold.

    >>> tells_over("The trip is over"), tells_over("Der Wagen ist verkauft"), tells_over("The trip is long")
    (True, True, False)
    """
    return find_over().search(text) is not None


@cache
def find_over() -> re.Pattern[str]:
    """Return the pattern of words by which something is over."""
    return re.compile(rf"(?<!\w)(?:{join_lines('given up')}|{join_lines('over')})(?!\w)", re.IGNORECASE)


def tells_absence(text: str, language: Language) -> bool:
    """Return True if a text says that somebody is away or ill for a while."""
    return _compile_words(language, "absent").search(text) is not None


def find_turns(text: str, language: Language) -> Iterator[int]:
    """Yield where a sentence says how something is or always is, or that it changes: what stands before is its subject."""
    for name in ("states", "habits"):
        yield from (found.start() for found in _compile_words(language, name).finditer(text))
    yield from (found.start() for found in _compile(_ALL["change"]).finditer(text.lower()))


@cache
def _compile_words(
    language: Language, name: Literal["unsure", "states", "habits", "leave", "absent"]
) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(list_words(language, name))})(?!\w)", re.IGNORECASE)


@cache
def list_words(language: str, name: str) -> Sequence[str]:
    """Return the phrases of a language that stand under a name in phrases.txt."""
    return PHRASES[language][name].split("; ")


def names_end(word: str) -> bool:
    """Return True if a word is one of those by which a line says that something is over, in another form perhaps.

    >>> names_end("verkauft"), names_end("cancelled"), names_end("boat")
    (True, True, False)
    """
    listed = _list_end_words()
    return word in listed or any(
        (len(each) >= 4 and word.startswith(each)) or (len(word) >= 5 and each.startswith(word)) for each in listed
    )


@cache
def _list_end_words() -> frozenset[str]:
    return frozenset(re.findall(r"[^\W\d_]{2,}", re.sub(r"\\.", " ", _ALL["end"])))


@cache
def _compile(words: str) -> re.Pattern[str]:
    """Compile a pattern for texts in lower case: to ignore case takes `re` four times as long."""
    return re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.VERBOSE)
