"""The one folding of text: what is indexed, asked, requested by path and compared passes through here; what is shown does not.

`clean` is what questions and embeddings read, `fold_words` what the keyword index holds, and `fold` what exact comparisons see.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from unicodedata import category, decimal, is_normalized, normalize

from memory_core.text.tokens import compile_once

# What Unicode calls default ignorable, characters without a shape of their own, and marks of a byte order.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
# Bytes as addresses and the names of files have them, behind a letter of such: C3 BC is "ü". It begins with the sign, which `re`
# looks for fast.
_PERCENT = re.compile(r"%(?<=[\w./(=+&:-]%)[\dA-Fa-f]{2}(?:%[\dA-Fa-f]{2})*")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[A-Za-z][A-Za-z\d]{1,31});")
# All but punctuation: models of embeddings know the full-width one, and it says where sentences of Chinese end.
_NOT_PUNCTUATION = re.compile("[^\u00a8\u00b4\u00b8\u2026\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]+")
_DIGIT = re.compile(r"\d(?<![0-9])")  # of other scripts
_DOT_ABOVE = "\u0307"
_ATE = (
    re.compile(r"ate\b(?<!\wate)"),
    re.compile(r"Ate\b(?<!\wAte)"),
)  # each begins with letters, which are looked for fast

# Latin letters without a decomposition.
_LATIN = {
    "ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "ħ": "h", "ŧ": "t",
    "ŋ": "n", "ƒ": "f", "ɓ": "b", "ɗ": "d", "ɖ": "d", "ɣ": "g", "ɛ": "e", "ə": "e", "ɔ": "o",
}  # fmt: skip
_PLAIN = _LATIN | {letter.upper(): plain for letter, plain in _LATIN.items() if letter not in "ßı"} | {"ẞ": "ss"}
# Letters of other alphabets that are written in two ways, of which the tokenizer of the keyword index knows nothing.
_OTHERS = dict(zip("άέήίόύώϊϋΐΰΆΈΉΊΌΎΏёЁأإآٱىیک", "αεηιουωιυιυαεηιουωееااااييك", strict=True))
# Marks of vowels in Arabic and Hebrew and the dots below letters of India (nukta), which are mostly left out, and the stroke that
# makes an Arabic word longer.
_LEFT_OUT = (
    "\u093c\u09bc\u0a3c\u0abc\u0b3c"
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8"
    "\u06ea-\u06ed"
)
# Signs that the tokenizer takes for punctuation: they become words, with their numbers.
EMOJI = "\u231a-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"

_emoji = partial(compile_once, f"[{EMOJI}]")
_spelt = partial(compile_once, f"[{''.join(_PLAIN)}{''.join(_OTHERS)}{_LEFT_OUT}{EMOJI}]")
_latin = partial(compile_once, f"[{''.join(_PLAIN)}]")
_accented = partial(compile_once, "[\u00c0-\u024f\u1e00-\u1eff]")


def clean(text: str) -> str:
    """Return a text as its reader sees it: no entities, escaped bytes, ligatures, wide letters and other digits."""
    if "%" in text:
        text = _PERCENT.sub(_unquote, text)
    if "&" in text:
        from html import unescape  # a table of 2,231 names

        text = _ENTITY.sub(lambda found: unescape(found[0]), text)
    return change_lines(text, _clean_line)


def _clean_line(line: str) -> str:
    line = _show_digits(_INVISIBLE.sub("", line))
    return line if is_normalized("NFKC", line) else _NOT_PUNCTUATION.sub(lambda f: normalize("NFKC", f[0]), line)


def _show_digits(text: str) -> str:
    return _DIGIT.sub(lambda found: str(decimal(found[0])), text)


def change_lines(text: str, change: Callable[[str], str]) -> str:
    """Return a text in which lines with letters beyond ASCII are changed: most have none, and patterns need not read them."""
    if text.isascii():
        return text
    return "\n".join([line if line.isascii() else change(line) for line in text.split("\n")])


def fold_words(text: str) -> str:
    """Return a text as the keyword index takes it: cleaned, with letters in their plain form; other diacritics are left to it.

    "ate" becomes "eaten", since the index's stemmer makes "ate" the word "at".
    """
    text = change_lines(clean(text), partial(_spelt().sub, _spell))
    for at, word in enumerate(("ate", "Ate")):
        if word in text:
            text = _ATE[at].sub("eaten", text)
    return text


def fold(text: str) -> str:
    """Return a text in the form in which it is compared: compatibility characters and case are one, invisible ones are gone.

    All forms of a letter with its accents are one, and differ from the letter without. "ß" is "ss", and the i of Turkish is i.
    """
    if text.isascii():
        return text.lower()
    apart = _show_digits(_INVISIBLE.sub("", normalize("NFKD", text).casefold()))
    return normalize("NFKC", apart.replace("ı", "i").replace(f"i{_DOT_ABOVE}", "i"))


def strip_marks(text: str) -> str:
    """Return a text with its Latin letters in plain letters, whatever diacritics they have."""
    if text.isascii():
        return text
    whole = _latin().sub(lambda found: _PLAIN[found[0]], normalize("NFC", text))
    return _accented().sub(lambda found: normalize("NFD", found[0])[0], whole)


def is_invisible(character: str) -> bool:
    """Return True for a character without a shape of its own."""
    return _INVISIBLE.match(character) is not None


def is_emoji(word: str) -> bool:
    """Return True if a word is an emoji, each of which is a word."""
    return not word.isascii() and _emoji().fullmatch(word) is not None


@cache
def list_marks() -> str:
    """Return the marks that belong to the letter before, as of Hindi; `\\w` leaves them out."""
    return "".join(
        each for each in map(chr, (*range(0x300, 0x1E00), *range(0xA800, 0xAC00))) if category(each) in ("Mn", "Mc")
    )


def _unquote(found: re.Match[str]) -> str:
    """Return what escaped bytes stand for; themselves if that is no printable text."""
    try:
        meant = bytes.fromhex(found[0].replace("%", "")).decode()
    except UnicodeDecodeError:
        return found[0]
    return meant if meant.isprintable() else found[0]


def _spell(found: re.Match[str]) -> str:
    character = found[0]
    if (plain := _PLAIN.get(character) or _OTHERS.get(character)) is not None:
        return plain
    return f" u{ord(character)} " if _emoji().match(character) else ""
