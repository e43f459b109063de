"""Words for the keyword side: CJK runs cut into pairs, stop words left out of questions. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

# Han, kana, Hangul syllables and the iteration and length marks that stand inside words.
_CJK_CLASS = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_CJK_RUN = re.compile(f"[{_CJK_CLASS}]+")
_WORD = re.compile(rf"[^\W_{_CJK_CLASS}]+|[{_CJK_CLASS}]+")
_QUOTED = re.compile(r'"([^"]+)"')
_COMPOUND = re.compile(r"\w[-_./\\:@#=+~%$]+\w")
_EDGES = ".,;:!?()[]{}<>\"'`“”‘’"
_CODE = re.compile(r"[\w./:#+-]{4,}", re.ASCII)
_QUANTITY = re.compile(r"\d+[-.]?[a-z]+", re.ASCII | re.IGNORECASE)
_HUMP = re.compile(r"[a-z][A-Z]")
_FILE_NAME = re.compile(r"[\w./-]*\w\.md\b")
_ISO_DATE = re.compile(r"(?<![\w-])\d{4}-\d\d-\d\d(?![\w-])")

# English function words and the scaffolding of questions. A question of these alone asks for nothing.
STOP_WORDS = frozenset(
    """
    a about above after again against ain all also am an and any anybody anyone anything are aren as at be
    because been before being below between both but by can cannot could couldn d did didn do does doesn doing
    don done down during each either else ever every few for from further get gets getting give given go goes
    going gone got had hadn has hasn have haven having he hello her here hers herself hey hi him himself his how
    i if in into is isn it its itself just kind let like ll m made make many may me might mine more most much
    must mustn my myself need needn neither no nor not now o of off ok okay on once one only or other ought our
    ours ourselves out over own please re really s said same say says shall shan she should shouldn so some
    somebody someone something still such t take tell than thank thanks that the their theirs them themselves
    then there these they thing things this those though through to too under until up upon us use used using ve
    very was wasn we were weren what when where whether which while who whom whose why will with won would
    wouldn y yes yet you your yours yourself yourselves
    """.split()  # noqa: SIM905 -- five times shorter
)

_OPENERS = frozenset(
    "what who whom whose when where which why how is are was were do does did has have had can could will would should".split()  # noqa: SIM905
)

# Small talk: a text of nothing else asks for nothing.
_PRAISE = r"(?:great|good|nice|cool|awesome|perfect|wonderful|amazing|excellent|lovely|fantastic|funny|fine|right|true|okay|ok)"
_COURTESY = re.compile(
    rf"""\b(?:
      good\ (?:morning|afternoon|evening|night|day|job|work|one|luck|bye) | (?:good)?bye | hi | hey | hello | welcome(?:\ back)?
    | (?:many\ |no\ )?thank(?:s|\ you)?(?:\ (?:so\ much|very\ much|a\ lot|again))? | cheers | congrat(?:ulation)?s
    | you(?:'re|\ are)\ (?:very\ )?welcome | no\ problem | no\ worries | never\ mind | my\ pleasure | take\ care | sorry
    | (?:see|talk|speak)\ (?:to\ )?you(?:\ (?:later|soon|tomorrow|then|around))?
    | (?:nice|great|good|pleased|happy|glad)\ to\ (?:meet|see|hear|help|know)(?:\ (?:you|that|from\ you))?
    | have\ a\ {_PRAISE}\ (?:day|evening|night|weekend|one|time)
    | how(?:'s|\ is|\ are)\ (?:you|it|things|everything)(?:\ (?:doing|going))? | what(?:'s|\ is)\ (?:up|new)
    | (?:(?:that|it|this)(?:'s|\ is|\ was|\ sounds|\ looks)|sounds|looks)\ (?:so\ |very\ |really\ )?{_PRAISE}
    | (?:that\ )?makes\ sense | well\ done | nice\ (?:one|job|work) | i\ (?:see|agree|understand) | got\ it
    | go\ (?:on|ahead) | (?:please\ )?continue | (?:one|just\ a)\ (?:moment|minute|second) | are\ you\ (?:there|ready|ok)
    | of\ course | sure(?:\ thing)? | exactly | absolutely | indeed | alright | yep | yeah | yup | nope | {_PRAISE}
    | ha(?:ha)+ | lol | wow | oh | hmm+ | ah+
    )\b""",
    re.VERBOSE,
)


def cut_cjk(text: str) -> str:
    """Text as the keyword index sees it: every CJK run as overlapping pairs, and its last character alone.

    unicode61 takes a whole run for one token, so that no part of it is found. Pairs are tokens of their own, with counts of
    their own; the last character lets a search for one character be a prefix search.
    """
    return _CJK_RUN.sub(_pairs, text) if not text.isascii() else text


def _pairs(match: re.Match[str]) -> str:
    run = match.group()
    return " " + " ".join([*(run[i : i + 2] for i in range(len(run) - 1)), run[-1]]) + " "


def words_at(text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """The words in a part of a text with their offsets, as the keyword index sees them: CJK runs as pairs."""
    for match in _WORD.finditer(text, start, end):
        word, at = match.group(), match.start()
        if len(word) > 2 and _CJK_RUN.match(word):
            yield from ((at + i, at + i + 2, word[i : i + 2]) for i in range(len(word) - 1))
        else:
            yield at, match.end(), word


def question_words(text: str) -> list[str]:
    """The words of a question worth looking for, in order, lower case, each once: no stop words, CJK runs as pairs.

    A run of a single CJK character stays alone. Empty when the question consists of stop words, small
    talk and punctuation.
    """
    found: dict[str, None] = {}
    lowered = text.lower().replace("’", "'")
    if all(word in STOP_WORDS for word in _WORD.findall(_COURTESY.sub(" ", lowered))):
        return []
    for word in _WORD.findall(lowered):
        found.update(dict.fromkeys(_terms(word)))
    return list(found)


def _terms(word: str) -> list[str]:
    """What a lower-case word, or a CJK run, is looked for as."""
    if _CJK_RUN.match(word):
        return [word[i : i + 2] for i in range(len(word) - 1)] or [word]
    return [] if word in STOP_WORDS else [word]


def question_parts(text: str) -> list[tuple[str, list[str]]]:
    """A question cut behind every word: each part, together the text, with those of `question_words` that stand in it."""
    ends = [match.end() for match in _WORD.finditer(text)]
    parts = (text[start:end] for start, end in pairwise([0, *ends, len(text)]) if start < end)
    return [(part, [term for word in _WORD.findall(part.lower()) for term in _terms(word)]) for part in parts]


def phrases(text: str) -> list[str]:
    """What must be matched as it stands: identifiers, paths, URLs and version numbers of several words, and quoted words.

    In order, each once, white space collapsed, without quotation marks. CJK text has none: its pairs say enough.
    """
    found = _QUOTED.findall(text)
    found += [token for token in (raw.strip(_EDGES) for raw in text.split()) if _COMPOUND.search(token)]
    clean = (" ".join(phrase.replace('"', " ").split()) for phrase in found)
    return [phrase for phrase in dict.fromkeys(clean) if len(_WORD.findall(phrase)) > 1 and not _CJK_RUN.search(phrase)]


def identifiers(text: str) -> list[str]:
    """The words that name one thing exactly, as codes, hashes, variables and classes do; in order, each once, as spelt."""
    tokens = (raw.strip(_EDGES) for raw in text.split())
    return list(dict.fromkeys(token for token in tokens if _CODE.fullmatch(token) and _is_identifier(token)))


def _is_identifier(token: str) -> bool:
    """Letters with digits, such as E11000 or a828e60, but not 10am, 2nd or 24-hour; long numbers; underscores, colons, humps."""
    if token.isdigit():
        return len(token) >= 6
    if any(map(str.isdigit, token)) and any(map(str.isalpha, token)):
        return not _QUANTITY.fullmatch(token)
    return "_" in token.strip("_") or "::" in token.strip(":") or len(_HUMP.findall(token)) >= 2


def is_question(text: str) -> bool:
    """Whether a text asks in an English sentence: it has the form of a question, and a third of its words are function words.

    Someone who asks so may well use other words than the notes; a bare list of words is meant as it stands.
    """
    words = _WORD.findall(text.lower())
    functional = sum(word in STOP_WORDS for word in words)
    asks = text.rstrip().endswith("?") or (bool(words) and words[0] in _OPENERS)
    return asks and functional >= 2 and 3 * functional >= len(words)


def file_names(text: str) -> list[str]:
    """Names of notes in a question, lower case: paths that end in .md, and ISO dates."""
    return list(dict.fromkeys([*_FILE_NAME.findall(text.lower()), *_ISO_DATE.findall(text)]))


def is_single_cjk(word: str) -> bool:
    """Whether a question word is one CJK character, which matches as a prefix."""
    return len(word) == 1 and _CJK_RUN.match(word) is not None


def is_seam(word: str, documents: int) -> bool:
    """Whether a question word is a pair of CJK characters that no chunk holds."""
    return not documents and len(word) == 2 and _CJK_RUN.fullmatch(word) is not None


def match_expression(words: Iterable[str]) -> str:
    """The FTS5 query for any of the words; "" for none.

    Every word is quoted, so that nothing in it is read as syntax (https://www.sqlite.org/fts5.html#full_text_query_syntax).
    """
    return " OR ".join(f'"{word}"*' if is_single_cjk(word) else f'"{word}"' for word in words)
