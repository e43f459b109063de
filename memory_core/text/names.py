"""Names of people, things and projects in notes: when two spellings are one name, and where a text mentions one; pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from memory_core.text.dates import MONTHS_AND_DAYS
from memory_core.text.envelopes import DIRECTIVE, HOST_MARKER
from memory_core.text.folding import fold, strip_marks
from memory_core.text.languages import STOP_WORDS
from memory_core.text.markdown import strip_suffix
from memory_core.text.spelling import write_out
from memory_core.text.terms import extract_identifiers, find_words
from memory_core.text.tokens import UNSPACED, compile_once, may_be_unspaced

MAX_CHARS = 200  # of a name
MAX_SPELLINGS = 64  # of one name

_SEPARATORS = re.compile(r"[\s_-]+")
_BETWEEN = r"[\s_-]{1,3}"  # words of a name
_WORD = re.compile(r"\w+")
_ID = re.compile(r"[\W\d_]*|(?=\D*\d)[\da-fA-F]{6,}|[\da-fA-F]{8}(?:-[\da-fA-F]{4,12}){4}|.*?\d{6}.*", re.DOTALL)
_ROLES = frozenset({"user", "assistant", "system", "human", "agent", "tool", "todo", "fixme", "media"})
_MARKUP = re.compile(r"<[^<>\n]{0,200}>|\bMEDIA:\S+|\b\w{2,10}://\S+|`[^`\n]*`|\]\([^()\n]*\)")
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d\Z", re.ASCII)
_CAPITALISED = r"[A-ZÀ-ÖØ-ÞĀ-ŽΑ-ΩА-Я][\w&’']{1,39}"
_SEQUENCE = re.compile(rf"(?<![\w’'])(?:{_CAPITALISED})(?:[ -](?:{_CAPITALISED})){{0,3}}(?![\w-])")
_SENTENCE_START = re.compile(r"(?:\A|[.!?:;|>*#\"“(\[-]\s{0,3})\Z")
_QUOTED = re.compile(r"[「『《〈“]([^「『《〈“」』》〉”\n]{2,20})[」』》〉”]")
# Words that are no names by themselves: those that build sentences, months and days of the week.
_COMMON = MONTHS_AND_DAYS.union(*STOP_WORDS.values())


def fold_name(text: str) -> str:
    """Return a text as names are compared: as `fold` returns it, in plain letters, with apostrophes of one kind."""
    return strip_marks(fold(text)).replace("’", "'")


def is_id(name: str) -> bool:
    """Return True for what a program names things by: numbers, times, hashes, UUIDs, ids with many digits."""
    return _ID.fullmatch(name) is not None


def make_key(name: str) -> str:
    """Return the key that the spellings of one name share: `Remote readout`, `remote-readout.md` and `#Remote_Readout`.

    Returns:
        "" for what holds no word.
    """
    key = fold_name(name[: 2 * MAX_CHARS]).strip().lstrip("#")
    key = _SEPARATORS.sub(" ", strip_suffix(key)).strip()
    return key[:MAX_CHARS] if _WORD.search(key) else ""


def make_keys(name: str) -> tuple[str, str]:
    """Return the key of a name, and that with its umlauts written out, which is mostly the same."""
    return make_key(name), make_key(write_out(name.lower()))


def split_phrases(name: str) -> list[str]:
    """Return the phrases that the keyword index holds wherever a text mentions a name; none if it has no words.

    In the index, a run of CJK characters has a word more at its end than where it goes on, so each is a phrase of its own.
    """
    parts = _scripts().findall(name[:MAX_CHARS])
    phrases = [" ".join(word for _, _, word in find_words(part, 0, len(part))) for part in parts]
    return [phrase for phrase in phrases if phrase]


def is_date(name: str) -> bool:
    """Return True for the name of a daily note."""
    return _ISO_DATE.match(name) is not None


@dataclass(frozen=True, slots=True)
class Spellings:
    """The spellings of one name, to look for in texts.

    Attributes:
        folded: Matches them in a text that `fold_name` has made; None if there are none.
        exact: Matches those that are common words, such as Will and May, as they are written; None likewise.
    """

    folded: re.Pattern[str] | None
    exact: re.Pattern[str] | None

    def find_line(self, text: str) -> int | None:
        """Return the index of the first line of a text in which a spelling begins; None if the text mentions none."""
        lines = []
        for pattern, searched in ((self.folded, fold_name), (self.exact, str)):
            if pattern is not None and (found := pattern.search(own := searched(text))):
                lines.append(own.count("\n", 0, found.start()))
        return min(lines, default=None)


def compile_spellings(names: Iterable[str]) -> Spellings:
    """Return what finds the spellings of one name.

    Words of a name may be apart by a space, a line end, `-` or `_`. A common word alone is a name only as it is written
    and with a capital.
    """
    folded: dict[str, None] = {}
    exact: dict[str, None] = {}
    for name in names:
        key = make_key(name)
        if key in _COMMON and not name.lstrip()[:1].islower():
            exact[_spell(name.strip())] = None
        elif key:
            folded[_spell(key)] = None
    return Spellings(_compile(folded), _compile(exact))


def _spell(name: str) -> str:
    words = _BETWEEN.join(re.escape(word) for word in name.split(" "))
    before = r"(?<!\w)" if _is_bounded(name[0]) else ""
    after = r"(?!\w)" if _is_bounded(name[-1]) else ""
    return f"{before}{words}{after}"


def _compile(spellings: Mapping[str, None]) -> re.Pattern[str] | None:
    kept = sorted([*spellings][:MAX_SPELLINGS], key=len, reverse=True)
    return re.compile("|".join(kept)) if kept else None


_scripts = partial(compile_once, f"[{UNSPACED}]+|[^{UNSPACED}]+")


def _is_bounded(character: str) -> bool:
    """Return True if a word cannot go on at this end of a name: scripts without spaces do not say where words end."""
    return _WORD.match(character) is not None and not may_be_unspaced(character)


def find_names(text: str) -> Iterator[str]:
    """Find what looks like a name: identifiers, capitalised words inside of sentences, and quoted words in CJK text.

    It is only good enough for suggestions. Yields spellings in any order, as often as they stand there.
    """
    text = _MARKUP.sub(" ", DIRECTIVE.sub(" ", HOST_MARKER.sub(" ", text)))
    yield from (name for name in extract_identifiers(text) if not ("_" in name or is_id(name.lstrip("#"))))
    for found in _SEQUENCE.finditer(text):
        words = found[0]
        starts = _SENTENCE_START.search(text, max(found.start() - 5, 0), found.start())
        if not starts and len(words) > 2 and words.lower() not in _COMMON.union(_ROLES) and "_" not in words:
            yield words
    yield from filter(may_be_unspaced, _QUOTED.findall(text))


def suggest_near(name: str, known: Sequence[str], count: int) -> list[str]:
    """Return the known names that are nearest to one that is not known, best first."""
    from difflib import get_close_matches

    keys = {make_key(each): each for each in known}
    key = make_key(name)
    words = set(key.split())
    held = [each for each in keys if key and (key in each or not words.isdisjoint(each.split()))]
    near = get_close_matches(key, keys, n=count, cutoff=0.6)
    return [keys[each] for each in dict.fromkeys([*near, *held])][:count]


def choose_spelling(spellings: Counter[str]) -> str:
    """Return the commonest spelling of a name; of equals the first in the order of their characters."""
    return min(spellings, key=lambda each: (-spellings[each], each))
