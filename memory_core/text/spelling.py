"""Spellings of words: umlauts that are written out, words a letter apart, words and numbers in one piece and in several. Pure."""

from __future__ import annotations

import re
import unicodedata
from itertools import takewhile

from memory_core.text.folding import fold_words, strip_marks

# How umlauts are written where a keyboard has none.
_WRITTEN_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})
_DIGRAPH = re.compile("ae|oe|ue|aa")
# Latin, Greek, Cyrillic, Armenian: words with spaces between.
_SPACED = re.compile("[a-z\u00df-\u058f\u1e00-\u1fff]{3,40}")


def make_spelling_key(word: str) -> str:
    """Return the key that all spellings of a word in lower case share: Müller, Muller and Mueller."""
    return _DIGRAPH.sub(lambda match: match[0][0], strip_marks(word))


def write_out(word: str) -> str:
    """Return a word in lower case with its umlauts written out: "mueller" for "müller"; the same for one without."""
    return unicodedata.normalize("NFC", word).translate(_WRITTEN_OUT)


def list_spellings(text: str) -> list[str]:
    """Return a text in lower case in plain letters, and also with its umlauts written out if it has any."""
    return list(dict.fromkeys((strip_marks(text), strip_marks(write_out(text)))))


_HUMP = re.compile("[a-z][A-Z]")
_NAME = re.compile(r"(?<![^\W_])(?=[^\W_]*?[a-z][A-Z])[^\W_]++")
_PART = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_HYPHENED = re.compile(r"(?<![^\W_])[^\W_]++(?:[-\u2010\u2011][^\W_]++){1,3}")
_INITIALS = re.compile(r"(?<![\w.])(?:[A-Z]\.){2,6}")
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_NO_WORD = re.compile(r"[^A-Za-z\d]+")
# Numbers of telephones and cards, of accounts (https://www.swift.com/standards/data-standards/iban), of network adapters, and of
# cars and papers: capitals and digits, unless the capitals name what follows, as IBAN and TEL do.
_GROUPED = re.compile(
    r"""(?<![\w+.-])\+?\(?\d{1,6}\)?(?:(?:[ /.-]{1,3}|(?<=\)))\(?\d{1,9}\)?){1,8}(?![\w-])
    | (?<!\w)[A-Z]{2}\d{2}(?:\ [A-Z\d]{2,4}){2,8}(?!\w) | (?<!\w)[\da-fA-F]{2}(?:[:-][\da-fA-F]{2}){5}(?!\w)
    | (?<![\w-])(?![A-Z]+\ (?:[A-Z]{2}\d\d\ |\d{2,6}[ /.-]\d{3}))
      (?=[A-Z -]{0,12}\d)(?=[\d -]{0,12}[A-Z])[A-Z\d]{1,5}(?:[ -][A-Z\d]{1,5}){1,3}(?![\w-]|:\w\w:)""",
    re.VERBOSE,
)
# Amounts, as most countries write them and as India does, the decimals left out.
_AMOUNT = re.compile(
    r"""(?<![\w.,'’+/-])\d{1,3}(?:
      (?:,\d{2,3}){0,5},\d{3}(?!\w|[,/-]\d) | (?:\.\d{3}){1,6}(?!\w|[./-]\d) | (?:['’]\d{3}){1,6}(?!\w|['’]\d)
      | (?:[^\S\n]\d{3}){1,6}(?![\w/-]|[^\S\n]?\d)
    )""",
    re.VERBOSE,
)
LEAST_GROUPED = 7  # digits of a number that is written in groups
# Letters with a number, and numbers, that are meant with or without zeros before them: ADR-0012, ADR 12, invoice 000731.
_NUMBERED = re.compile(r"(?<![\w.,:/+-])(?:([A-Za-z]{1,10})[ -]?#?)?(0*)(\d{1,8})(?![\w:/-]|[ ./,-]+\d)", re.ASCII)
_DIALLED = re.compile(r"(?<![\w.+-])(?:\+|0)\d{8,15}(?!\w)", re.ASCII)
LEAST_PADDED = 3  # digits behind zeros
LEAST_DIALLED = 8  # digits at the end that two spellings of a telephone number share


def find_camels(text: str) -> list[str]:
    """Find the names in a text that capitals cut into parts, such as getUserName."""
    return _NAME.findall(text) if _HUMP.search(text) else []


def split_camel(name: str) -> list[str]:
    """Return the parts of a name that capitals cut, in lower case."""
    return [part.lower() for part in _PART.findall(name)]


def find_joined(text: str, *, asked: bool = False) -> list[tuple[str, str]]:
    """Find what a text writes in several pieces, or with zeros, and others otherwise, each as one word and as it stands.

    Of a telephone number the end is one word, too: `is_same_number` tells whether two with one end are the same.

    Args:
        text: Of a note or a question.
        asked: It is a question, in which small letters may stand for the capitals of an identifier.

    >>> find_joined("Wi-Fi, ADR-0012, 49 151 2345678")[:2]
    [('wifi', 'wi fi'), ('adr0012', 'adr 0012')]
    """
    found = [*_HYPHENED.findall(text)] if "-" in text or not text.isascii() else []
    found += (match[0] for match in _GROUPED.finditer(text) if sum(map(str.isalnum, match[0])) >= LEAST_GROUPED)
    found += _INITIALS.findall(text)
    found += (" ".join(match.replace("’", "'").split()) for match in _AMOUNT.findall(text))
    apart = [" ".join(_NO_WORD.sub(" ", each).split()).lower() if each.isascii() else each.lower() for each in found]
    pairs = dict.fromkeys(
        (each.replace(" ", ""), each)
        for each in apart
        if " " in each and not _ISO_DATE.fullmatch(each.replace(" ", "-"))
    )
    numbers = [*apart, *(match.lstrip("+") for match in _DIALLED.findall(text))]
    ends = ((each.replace(" ", ""), each) for each in numbers)
    pairs |= dict.fromkeys(
        (key[-LEAST_DIALLED:], each) for key, each in ends if key.isdigit() and len(key) > LEAST_DIALLED
    )
    for numbered in _NUMBERED.finditer(text):
        letters, zeros, digits = numbered.groups("")
        if asked or letters.isupper():
            pairs[f"{letters}{digits}".lower(), " ".join(_NO_WORD.sub(" ", numbered[0]).split()).lower()] = None
        if zeros and len(digits) >= LEAST_PADDED:
            pairs[digits, zeros + digits] = None
    return [pair for pair in pairs if asked or pair[0] != pair[1]]


def is_same_number(one: str, other: str) -> bool:
    """Return True for two spellings of a telephone number that end alike, with and without the codes of country and trunk.

    >>> is_same_number("+49 (0)30 901 820 44", "03090182044"), is_same_number("040 90182044", "030 90182044")
    (True, False)
    """
    digits = [re.sub(r"\D", "", each) for each in (one, other)]
    backwards = zip(*map(reversed, digits), strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], backwards))
    heads = [each[: len(each) - same].strip("0") for each in digits]
    return same >= LEAST_DIALLED and ("" in heads or heads[0] == heads[1])


# Articles, prepositions and conjunctions that Arabic and Hebrew write as one word with what follows.
_PREFIXED = re.compile("[\u0621-\u064a]{4,20}|[\u05d0-\u05ea]{4,20}")
_SEMITIC = re.compile("[\u05d0-\u05ea\u0621-\u064a\ufb1d-\ufdff\ufe70-\ufefc]")
_PREFIX = re.compile("(?:[وف]?(?:[بك]?ال|لل)|[وفبكل]|ו?[שכ]?[בלמ]?ה|ו?[שכ]?[בלמ]|ו?[שכ]|ו)")
LEAST_CORE = 3  # letters of a word without what is written before it


def find_prefixed(text: str) -> list[str]:
    """Find the words of a text that may begin so, as the keyword index has them."""
    return _PREFIXED.findall(fold_words(text)) if _SEMITIC.search(text) else []


def list_cores(word: str) -> list[str]:
    """Return an Arabic or Hebrew word without the article, preposition or conjunction with which it may begin."""
    whole = _PREFIX.match(word)
    lengths = range(1, whole.end() + 1) if whole else range(0)
    return [word[at:] for at in lengths if _PREFIX.fullmatch(word, 0, at) and len(word) - at >= LEAST_CORE]


def is_spaced(word: str) -> bool:
    """Return True for a word in lower case of three letters and more in a script that puts spaces between words."""
    return _SPACED.fullmatch(word) is not None


def measure_distance(one: str, other: str, most: int) -> int:
    """Return the number of letters that are wrong, missing, too many or swapped with the next between two words.

    That is the restricted Damerau-Levenshtein distance (https://en.wikipedia.org/wiki/Damerau-Levenshtein_distance).

    Args:
        one: A word.
        other: Another one.
        most: The largest distance that is of interest; any larger one is returned as `most` + 1.
    """
    before: list[int] = []
    row: list[int] = [*range(len(other) + 1)]
    for i, letter in enumerate(one):
        above, row = row, [i + 1]
        for j, against in enumerate(other):
            least = min(above[j] + (letter != against), above[j + 1] + 1, row[j] + 1)
            if before and j and letter == other[j - 1] and one[i - 1] == against:
                least = min(least, before[j - 1] + 1)
            row.append(least)
        if min(row) > most:
            return most + 1
        before = above
    return min(row[-1], most + 1)
