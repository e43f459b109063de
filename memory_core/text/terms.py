"""Words for keyword search: runs of CJK cut into pairs, stop words left out, and questions told from statements. Pure.

What is said of CJK holds for all scripts without spaces; a character of Thai, Lao, Burmese or Khmer is a letter with its marks.
"""

# ruff: noqa: SIM905 -- lists of words are shorter as text
from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from functools import cache, lru_cache, partial
from itertools import accumulate, pairwise, takewhile
from operator import add
from typing import Literal

from memory_core.text.folding import EMOJI, change_lines, fold_words, is_emoji, list_marks
from memory_core.text.languages import OPENERS, STOP_WORDS, Language, detect
from memory_core.text.markdown import is_markdown
from memory_core.text.tables import PHRASES
from memory_core.text.tokens import SYLLABLES, UNSPACED, WORD, WORD_CHARACTERS, compile_once, may_be_unspaced

QuestionKind = Literal["question", "statement", "words"]

_QUOTED = re.compile(r'"([^"]+)"')
_COMPOUND = re.compile(r"\w[-_./\\:@#=+~%$]+\w")
_EDGES = ".,;:!?()[]{}<>\"'`“”‘’"
_CODE = re.compile(r"[\w./:#+-]{4,}", re.ASCII)
_QUANTITY = re.compile(r"\A\d+[-.]?[a-z]+", re.ASCII | re.IGNORECASE)
_HASH = re.compile(r"(?=[a-f]*\d)(?=\d*[a-f])[\da-f]{7,12}")  # of a commit, in its short form
_HUMP = re.compile(r"[a-z][A-Z]")
_FULL_STOPS = ("。", "．", "！", "!")  # of Chinese and Japanese
_ASKS = re.compile("[?？]")
_CJK_SENTENCE = re.compile("[^。．！!？?]+[。．！!？?]*")
STATED = 1 / 3  # of a CJK text: if sentences that end in a full stop are more of it, it is a statement
_PATH = re.compile(r"[\w./-]++")
_FILE_NAME = re.compile(r"\A.*\w\.(?:mdx?|markdown)\b")
_ISO_DATE = re.compile(r"(?<![\w-])\d{4}-\d\d-\d\d(?![\w-])")

_COURTESY = re.compile(
    rf"\b(?:{PHRASES['all']['courtesy'].replace('<PRAISE>', '(?:' + PHRASES['all']['praise'] + ')')})\b", re.VERBOSE
)


_cjk_run = partial(compile_once, f"[{WORD_CHARACTERS}]+|[{SYLLABLES}]+")
_OTHER_WORDS = f"[{WORD_CHARACTERS}]+|[{SYLLABLES}]+|[{EMOJI}]"
_any_word = partial(compile_once, rf"[^\W_{UNSPACED}]+|{_OTHER_WORDS}")


@cache
def _marked_word() -> re.Pattern[str]:
    return re.compile(rf"[^\W_{UNSPACED}](?:[^\W_{UNSPACED}]|[{list_marks()}])*+|{_OTHER_WORDS}")


@cache
def _syllable() -> re.Pattern[str]:
    return re.compile(f".[{list_marks()}]*")


# Characters that build sentences in Chinese and Japanese, and a pair of them.
_FUNCTIONAL = (
    "[\u3041-\u309f的了是在什么哪谁几多少何为怎样吗呢吧个一这那有和与及其被把就也都而以于从到对我你他她它们些之者很不]"
)
_FUNCTIONAL_PAIR = re.compile(_FUNCTIONAL + "{2}")
MOST_LONE = 2  # words of one character in a question


_lone = partial(compile_once, f"(?:(?<={_FUNCTIONAL})|^)(?!{_FUNCTIONAL})[\u4e00-\u9fff](?={_FUNCTIONAL}|$)")


def _word_of(text: str) -> re.Pattern[str]:
    """Return the pattern of a word, the quickest for a text."""
    return WORD if text.isascii() else _marked_word()


def _split_run(run: str) -> Sequence[str]:
    """Split a run of CJK into its characters."""
    return run if "\u3000" <= run[0] < "\ua9e0" or run[0] > "\uab00" else _syllable().findall(run)


def is_cjk(word: str) -> bool:
    """Return True if a word begins with a CJK character; then all of them are, as a question and the index cut words."""
    return not word.isascii() and _cjk_run().match(word) is not None


def cut_cjk(text: str) -> str:
    """Cut every CJK run of a text into overlapping pairs and its last character alone, for the keyword index.

    unicode61 takes a whole run for one token, so that no part of it could be found. Each pair is a token with a count of
    its own; with the last character as a token, a prefix search finds every single character.
    """
    return _cjk_run().sub(_pairs, text) if may_be_unspaced(text) else text


def _pairs(match: re.Match[str]) -> str:
    run = _split_run(match.group())
    return " " + " ".join([*map(add, run, run[1:]), run[-1]]) + " "


def write_index(text: str) -> str:
    """Return a text as the tokenizer of the keyword index takes it: folded, CJK runs cut into pairs."""
    return change_lines(fold_words(text), cut_cjk)


def find_words(text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """Find the words in a part of a text as the keyword index has them, CJK runs as pairs; yields start, end and word."""
    for match in _word_of(text).finditer(text, start, end):
        word, at = match.group(), match.start()
        if len(word) > 2 and is_cjk(word) and len(run := _split_run(word)) > 2:
            starts = [*accumulate(map(len, run), initial=at)]
            for number, pair in enumerate(map(add, run, run[1:])):
                yield starts[number], starts[number + 2], pair
        else:
            yield at, match.end(), word


def extract_words(text: str) -> list[str]:
    """Extract the words of a question to search for, in order, lower case, each once: no stop words, CJK runs as pairs.

    Stop words are those of the question's language. A single CJK character stays alone. None are left of a question of stop
    words, small talk and punctuation; an emoji beside them is asked for where a word asks.
    """
    found: dict[str, None] = {}
    lowered = text.lower().replace("’", "'")
    words, language = _read_words(text)
    stop_words = STOP_WORDS[language or "en"]
    left = _word_of(lowered).findall(_COURTESY.sub(" ", lowered))
    asks = all(map(is_emoji, words)) or not OPENERS[language or "en"].isdisjoint(left)
    if not asks and all(word in stop_words or is_emoji(word) for word in left):
        return []
    for word in words:
        found.update(dict.fromkeys(_terms(word, stop_words)))
    return list(found)


def detect_language(text: str) -> Language | None:
    """Detect the language of a question; None if it has no function words."""
    return _read_words(text)[1]


@lru_cache(maxsize=4)  # a search asks several things about the words of one question
def _read_words(text: str) -> tuple[Sequence[str], Language | None]:
    """Return the words of a question in lower case, and its language; None if that is unknown, as of a list of names."""
    lowered = text.lower()
    words = _word_of(lowered).findall(lowered)
    small = {*_word_of(text).findall(text)}.intersection(words)
    return words, detect(words, first=words[0] if len(words) > 1 else "", small=small)


def _terms(word: str, stop_words: Container[str]) -> list[str]:
    """Return the terms to search for in place of a lower-case word or a CJK run."""
    if is_cjk(word):
        run = _split_run(word)
        return [*map(add, run, run[1:])] or [word]
    return [] if word in stop_words else [word]


def split_question(text: str) -> list[tuple[str, list[str]]]:
    """Cut a question behind every word: parts that together are the text, each with its words as of `extract_words`."""
    ends = [match.end() for match in _word_of(text).finditer(text)]
    stop_words = STOP_WORDS[detect_language(text) or "en"]
    parts = (text[start:end] for start, end in pairwise([0, *ends, len(text)]) if start < end)
    return [
        (part, [term for word in _word_of(part).findall(part.lower()) for term in _terms(word, stop_words)])
        for part in parts
    ]


def extract_phrases(text: str) -> list[str]:
    """Extract the phrases to match literally: identifiers, paths, URLs and versions of several words, and quoted words.

    In order, each once, white space collapsed, without quotation marks. CJK text has none: its pairs suffice.
    """
    found = _QUOTED.findall(text)
    found += [token for token in (raw.strip(_EDGES) for raw in text.split()) if _COMPOUND.search(token)]
    clean = (" ".join(phrase.replace('"', " ").split()) for phrase in found)
    return [
        phrase
        for phrase in dict.fromkeys(clean)
        if len(_word_of(phrase).findall(phrase)) > 1 and (phrase.isascii() or not _cjk_run().search(phrase))
    ]


def find_lone_characters(text: str) -> dict[str, str]:
    """Find the CJK characters that stand alone between such as build sentences, which are words; by each pair that holds one.

    None are found beside other words, nor more than two: those name what is asked for.
    """
    found: dict[str, str] = {}
    runs = [] if text.isascii() else _cjk_run().findall(text)
    if sum(len(extract_ideographs(run)) for run in runs) > MOST_LONE:
        return found
    for run in runs:
        for match in _lone().finditer(run):
            for pair in (run[max(match.start() - 1, 0) : match.end()], run[match.start() : match.end() + 1]):
                if len(pair) > 1:
                    found[pair] = match[0]
    return found


def extract_ideographs(text: str) -> list[str]:
    """Extract the CJK characters of a text that do more than build sentences, in order, each once."""
    if text.isascii():
        return []
    found = dict.fromkeys(character for run in _cjk_run().findall(text) for character in _split_run(run))
    return [character for character in found if not _FUNCTIONAL_PAIR.fullmatch(character + character)]


def extract_identifiers(text: str) -> list[str]:
    """Extract the words that name one thing exactly, such as codes, hashes and variables; in order, each once, as spelt."""
    tokens = (raw.strip(_EDGES) for raw in text.split())
    return list(dict.fromkeys(token for token in tokens if _CODE.fullmatch(token) and _is_identifier(token)))


def _is_identifier(token: str) -> bool:
    """Return True for letters with digits (E11000, not 10am), long numbers, and names with _, :: or two humps."""
    if token.isdigit():
        return len(token) >= 6
    if any(map(str.isdigit, token)) and any(map(str.isalpha, token)):
        return not _QUANTITY.fullmatch(token) or _HASH.fullmatch(token) is not None
    return "_" in token.strip("_") or "::" in token.strip(":") or len(_HUMP.findall(token)) >= 2


def is_question(text: str) -> bool:
    """Return True if a text is a sentence that asks; of CJK text it cannot be told."""
    return classify(text) == "question" and not find_cjk_share(text) > 0.5


def classify(text: str) -> QuestionKind:
    """Tell sentences that ask, other sentences, and bare lists of words apart.

    A third of a sentence's words are function words of its language. Whoever speaks in sentences may use other words than the
    notes; a list of words is meant literally. CJK text is a statement if more than a third of it stands in sentences that end
    in a full stop; else it is taken for a question.
    """
    if find_cjk_share(text) > 0.5:
        sentences = _CJK_SENTENCE.findall(text)
        said = sum(
            len(sentence) for sentence in sentences if sentence.endswith(_FULL_STOPS) and not _ASKS.search(sentence)
        )
        return "statement" if said > len(text) * STATED else "question"
    words, detected = _read_words(text)
    language = detected or "en"
    functional = sum(word in STOP_WORDS[language] for word in words)
    if functional < 2 or 3 * functional < len(words):
        return "words"
    asks = text.rstrip().endswith("?") or words[0] in OPENERS[language]
    return "question" if asks else "statement"


def find_cjk_share(text: str) -> float:
    """Return the share of a text's letters and digits that are CJK characters, 0..1."""
    if text.isascii():
        return 0.0
    letters = sum(map(len, _any_word().findall(text)))
    return sum(map(len, _cjk_run().findall(text))) / letters if letters else 0.0


def extract_file_names(text: str) -> list[str]:
    """Extract the names of notes in a question, lower case: paths that end in .md, itself if it is one, and ISO dates."""
    # Runs of a path's characters first: a search for names in the whole text would try every suffix of a long run.
    names = (found[0] for run in _PATH.findall(text.lower()) if (found := _FILE_NAME.match(run)))
    whole = [text.strip().lower()] if is_markdown(text.rstrip()) else []
    return list(dict.fromkeys([*names, *whole, *_ISO_DATE.findall(text)]))


def is_single_cjk(word: str) -> bool:
    """Return True if a question word is one CJK character, which is searched for as a prefix."""
    return not word.isascii() and is_cjk(word) and len(_split_run(word)) == 1


def is_functional(word: str) -> bool:
    """Return True if a question word is a pair of CJK characters that build sentences and say little of what is asked."""
    return len(word) == 2 and not word.isascii() and _FUNCTIONAL_PAIR.fullmatch(word) is not None


def is_seam(word: str, documents: int) -> bool:
    """Return True if a question word is a CJK pair that no chunk holds: likely the end of one word and the start of another."""
    return not documents and is_cjk(word) and not is_single_cjk(word)


MAX_CHARS = 1000  # of a question that are read
_NEAR = 8  # words behind "what are" among which the things asked for stand
_ASKED_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_KINDS = frozenset("kind kinds type types sort sorts".split())
_ENDS = frozenset(PHRASES["all"]["phrase ends"].split())
_PLURALS = frozenset("children feet men mice people teeth women".split())
_NOT_PLURAL = ("ss", "us", "is", "'s")
_SEVERAL = frozenset(PHRASES["all"]["several"].split())
_WHICH = re.compile(r"\b(?:welche|welke) [^\W\d_]{3,}(?:en|er|s)\b")  # a noun in the plural, in German and Dutch
_PAIRS = frozenset(tuple(pair.split()) for pair in PHRASES["all"]["several pairs"].split("; "))
_SEVERAL_CJK = re.compile("哪些|[几幾][个個次]|いくつ|何[人回個]|몇")


def asks_for_several(text: str) -> bool:
    """Return True for a question that asks for more than one thing: "how many pets", "which hobbies", "what has she read".

    English is told by its plural nouns, and by verbs that look like them ("which bus goes"): only a tagger tells those apart. Of
    other languages, only what one or two words and their endings tell is known.
    """
    text = text[:MAX_CHARS].lower().replace("’", "'")
    return _names_several(text) and classify(text) == "question"


def _names_several(text: str) -> bool:
    if not text.isascii() and _SEVERAL_CJK.search(text):
        return True
    words = _ASKED_WORD.findall(text)
    return (
        not _SEVERAL.isdisjoint(words)
        or _WHICH.search(text) is not None
        or not _PAIRS.isdisjoint(pairwise(words))
        or any(_asks_which(words[at : at + _NEAR]) for at, word in enumerate(words, 1) if word in ("what", "which"))
    )


def _asks_which(words: list[str]) -> bool:
    """Return True if what follows "what" or "which" asks for several things."""
    if words[:1] == ["are"] or words[:1] == ["were"]:
        return any(map(_is_plural, words))
    phrase = list(takewhile(lambda word: word not in _ENDS, words))
    if phrase and phrase[-1] in _KINDS and words[len(phrase) : len(phrase) + 1] == ["of"]:
        phrase += takewhile(lambda word: word not in _ENDS, words[len(phrase) + 1 :])
    return any(map(_is_plural, phrase))


def _is_plural(word: str) -> bool:
    return word in _PLURALS or (len(word) > 3 and word.endswith("s") and not word.endswith(_NOT_PLURAL))
