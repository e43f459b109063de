"""Words for keyword search: CJK runs cut into pairs, stop words left out of questions; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from memory_core.text.cjk import WORD_CHARACTERS

_CJK_RUN = re.compile(f"[{WORD_CHARACTERS}]+")
_WORD = re.compile(rf"[^\W_{WORD_CHARACTERS}]+|[{WORD_CHARACTERS}]+")
_QUOTED = re.compile(r'"([^"]+)"')
_COMPOUND = re.compile(r"\w[-_./\\:@#=+~%$]+\w")
_EDGES = ".,;:!?()[]{}<>\"'`“”‘’"
_CODE = re.compile(r"[\w./:#+-]{4,}", re.ASCII)
_QUANTITY = re.compile(r"\A\d+[-.]?[a-z]+", re.ASCII | re.IGNORECASE)
_HUMP = re.compile(r"[a-z][A-Z]")
_PATH = re.compile(r"[\w./-]++")
_FILE_NAME = re.compile(r"\A.*\w\.md\b")
_ISO_DATE = re.compile(r"(?<![\w-])\d{4}-\d\d-\d\d(?![\w-])")

# English function words and the scaffolding of questions. A question of these words alone asks for nothing.
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
    """Cut every CJK run of a text into overlapping pairs and its last character alone, for the keyword index.

    unicode61 takes a whole run for one token, so that no part of it could be found. Each pair is a token with a count of
    its own; with the last character as a token, a prefix search finds every single character.
    """
    return _CJK_RUN.sub(_pairs, text) if not text.isascii() else text


def _pairs(match: re.Match[str]) -> str:
    run = match.group()
    return " " + " ".join([*(run[i : i + 2] for i in range(len(run) - 1)), run[-1]]) + " "


def find_words(text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """Find the words in a part of a text as the keyword index has them, CJK runs as pairs; yields start, end and word."""
    for match in _WORD.finditer(text, start, end):
        word, at = match.group(), match.start()
        if len(word) > 2 and _CJK_RUN.match(word):
            yield from ((at + i, at + i + 2, word[i : i + 2]) for i in range(len(word) - 1))
        else:
            yield at, match.end(), word


def extract_words(text: str) -> list[str]:
    """Extract the words of a question to search for, in order, lower case, each once: no stop words, CJK runs as pairs.

    A single CJK character stays alone. None are left of a question of stop words, small talk and punctuation.
    """
    found: dict[str, None] = {}
    lowered = text.lower().replace("’", "'")
    if all(word in STOP_WORDS for word in _WORD.findall(_COURTESY.sub(" ", lowered))):
        return []
    for word in _WORD.findall(lowered):
        found.update(dict.fromkeys(_terms(word)))
    return list(found)


def _terms(word: str) -> list[str]:
    """Return the terms to search for in place of a lower-case word or a CJK run."""
    if _CJK_RUN.match(word):
        return [word[i : i + 2] for i in range(len(word) - 1)] or [word]
    return [] if word in STOP_WORDS else [word]


def split_question(text: str) -> list[tuple[str, list[str]]]:
    """Cut a question behind every word: parts that together are the text, each with its words as of `extract_words`."""
    ends = [match.end() for match in _WORD.finditer(text)]
    parts = (text[start:end] for start, end in pairwise([0, *ends, len(text)]) if start < end)
    return [(part, [term for word in _WORD.findall(part.lower()) for term in _terms(word)]) for part in parts]


def extract_phrases(text: str) -> list[str]:
    """Extract the phrases to match literally: identifiers, paths, URLs and versions of several words, and quoted words.

    In order, each once, white space collapsed, without quotation marks. CJK text has none: its pairs suffice.
    """
    found = _QUOTED.findall(text)
    found += [token for token in (raw.strip(_EDGES) for raw in text.split()) if _COMPOUND.search(token)]
    clean = (" ".join(phrase.replace('"', " ").split()) for phrase in found)
    return [phrase for phrase in dict.fromkeys(clean) if len(_WORD.findall(phrase)) > 1 and not _CJK_RUN.search(phrase)]


def extract_identifiers(text: str) -> list[str]:
    """Extract the words that name one thing exactly, such as codes, hashes and variables; in order, each once, as spelt."""
    tokens = (raw.strip(_EDGES) for raw in text.split())
    return list(dict.fromkeys(token for token in tokens if _CODE.fullmatch(token) and _is_identifier(token)))


def _is_identifier(token: str) -> bool:
    """Return True for letters with digits (E11000, not 10am), long numbers, and names with _, :: or two humps."""
    if token.isdigit():
        return len(token) >= 6
    if any(map(str.isdigit, token)) and any(map(str.isalpha, token)):
        return not _QUANTITY.fullmatch(token)
    return "_" in token.strip("_") or "::" in token.strip(":") or len(_HUMP.findall(token)) >= 2


def is_question(text: str) -> bool:
    """Return True if a text is an English sentence that asks: a third of its words are function words.

    Whoever asks in sentences may use other words than the notes; a bare list of words is meant literally.
    """
    words = _WORD.findall(text.lower())
    functional = sum(word in STOP_WORDS for word in words)
    asks = text.rstrip().endswith("?") or (bool(words) and words[0] in _OPENERS)
    return asks and functional >= 2 and 3 * functional >= len(words)


def extract_file_names(text: str) -> list[str]:
    """Extract the names of notes in a question, lower case: paths that end in .md, and ISO dates."""
    # Runs of a path's characters first: a search for names in the whole text would try every suffix of a long run.
    names = (found[0] for run in _PATH.findall(text.lower()) if (found := _FILE_NAME.match(run)))
    return list(dict.fromkeys([*names, *_ISO_DATE.findall(text)]))


def is_single_cjk(word: str) -> bool:
    """Return True if a question word is one CJK character, which is searched for as a prefix."""
    return len(word) == 1 and _CJK_RUN.match(word) is not None


def is_seam(word: str, documents: int) -> bool:
    """Return True if a question word is a CJK pair that no chunk holds: likely the end of one word and the start of another."""
    return not documents and len(word) == 2 and _CJK_RUN.fullmatch(word) is not None
