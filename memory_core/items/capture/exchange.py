"""An exchange as capture reads it: the user's own words, the assistant's as context, and what neither of them said. Pure.

`split_sentences` cuts the user's words into sentences that may state a fact: without pastes, quotes, stories and mails.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

from memory_core.completions import join_text
from memory_core.errors import InvalidArgument
from memory_core.items.grammar import FENCED, PASTED_LINE, PAYLOAD, compile_pattern, read_words
from memory_core.sources.redaction import REDACTED, redact
from memory_core.text.dates import read_time
from memory_core.text.messages import replace_surrogates, strip_reasoning
from memory_core.text.tokens import estimate_tokens
from memory_core.text.units import find_sentence_starts

READ_CHARS = 20_000  # of one message; what follows is a paste

_ROLES = frozenset({"user", "assistant", "tool", "function", "system", "developer"})
_QUOTE = re.compile(r"^\s*>")
_PLACE = re.compile(r"^\s*\S[^.?!]*:\s*$")  # the line above a quote that says where it stands


Speaker = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One message.

    Attributes:
        speaker: Who says it.
        text: The own words of the speaker, without secrets, quotes, and what a host has put into the message.
        said_at: Unix seconds; None if the message has no time.
        new: Facts are looked for in it; else it is context.
        has_secret: A secret was taken out of the text.
        place: Where it stands: "host", "path" and "line", as `Origin` has them, as far as they are known.
    """

    speaker: Speaker
    text: str
    said_at: float | None
    new: bool
    has_secret: bool = False
    place: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Exchange:
    """The words of user and assistant, and what neither of them said.

    Attributes:
        turns: In order, the last ones that fit.
        tool_texts: Outputs of tools, which are nobody's words.
        recalled_texts: Text that a host has put into messages from memory.
    """

    turns: tuple[Turn, ...]
    tool_texts: tuple[str, ...] = ()
    recalled_texts: tuple[str, ...] = ()


def read_exchange(messages: Sequence[Mapping[str, Any]], *, first: int = 0, max_tokens: int) -> Exchange:
    """Read messages in OpenAI's form.

    Args:
        messages: Each has `role` and `content`, a string or a list of parts; and may have `time` or `timestamp` (ISO 8601, or
            Unix seconds or milliseconds), a true `recalled`, which says that its text comes from memory, and a `place`.
        first: The index of the first message in which facts are looked for.
        max_tokens: The most tokens of all turns together; the last messages are kept.

    Raises:
        InvalidArgument: A message is no object, or has no known role.
    """
    said: list[Turn] = []
    tool_texts: list[str] = []
    recalled_texts: list[str] = []
    unchecked: Sequence[object] = messages
    for number, message in enumerate(unchecked):
        role = message.get("role") if isinstance(message, Mapping) else None
        if not isinstance(message, Mapping) or role not in _ROLES:
            raise InvalidArgument(f"conversation[{number}]", "expected a message: {'role': 'user', 'content': ...}")
        text = replace_surrogates(join_text(message))[:READ_CHARS]
        if message.get("recalled"):
            recalled_texts.append(text)
        elif role in {"tool", "function"}:
            tool_texts.append(text)
        elif role == "user":
            own, recalled = _split_injected(text)
            recalled_texts += recalled
            said += _make_turn("user", own, message, new=number >= first)
        elif role == "assistant":
            said += _make_turn("assistant", strip_reasoning(text).strip(), message, new=number >= first)
    turns: list[Turn] = []
    left = max_tokens
    for turn in reversed(said):
        left -= estimate_tokens(turn.text)
        if left < 0:
            break
        turns.append(turn)
    return Exchange(tuple(reversed(turns)), tuple(tool_texts), tuple(recalled_texts))


def _make_turn(speaker: Speaker, own: str, message: Mapping[str, Any], *, new: bool) -> Iterator[Turn]:
    if own:
        safe = redact(own)
        place = message.get("place")
        known = place if isinstance(place, Mapping) else {}
        has_secret = safe != own or REDACTED in own  # the journal holds redacted text
        yield Turn(
            speaker,
            safe,
            read_time(message.get("time", message.get("timestamp"))),
            new,
            has_secret=has_secret,
            place=known,
        )


def _split_injected(text: str) -> tuple[str, list[str]]:
    """Return the user's own words, and the blocks that a host has put around them."""
    blocks = [found[0] for found in _compile("tagged").finditer(text)]
    kept: list[str] = []
    framed: list[str] = []
    in_frame = False
    for line in _compile("tagged").sub("\n", text).split("\n"):
        if _compile("frame").match(line):
            in_frame = True
            framed.append(line)
        elif _QUOTE.match(line):
            if kept and _PLACE.match(kept[-1]):
                framed.append(kept.pop())
            framed.append(line)
        elif in_frame and _PLACE.match(line):
            framed.append(line)
        else:
            in_frame = False
            kept.append(line)
    return "\n".join(kept).strip(), [*blocks, *(["\n".join(framed)] if framed else [])]


# ---- Sentences.

MAX_CHARS = 400  # of a sentence; what is longer is prose that somebody pasted
MAX_SENTENCES = 40  # of one message

# ---- What somebody has pasted is nobody's statement: replies, mails, logs and what a line introduces, in six languages.

_OPENING_TAG = re.compile(r"<(\w[\w-]*+)[^<>\n]*>")
_CLOSING_TAG = re.compile(r"</(\w[\w-]*+)>")
_SIGNATURE = re.compile(r"^[\s–—-]*[^\W\d_][\w.'-]*(?:\s+[^\W\d_][\w.'-]*){0,2}\s*$")
_POSTSCRIPT = re.compile(r"^p\.? ?s\.?\s?:", re.IGNORECASE)
_KEY = re.compile(r"^[\w-]++:\s*$")  # below which a file has indented lines
_INDENTED = re.compile(r"^(?: {4}|\t)(?!\s*(?:[-*+•]|\d{1,2}[.)])\s)")
_HEADING = re.compile(r"^(?:(?:#+|§|\d+\.\d+) \S|\*\*[^*\n]+\*\*[ \t]*$|\S.*\n(?:={3,}|-{3,})[ \t]*$)", re.MULTILINE)
_FRONT_MATTER = re.compile(r"\A\s*---[ \t]*\n")
# Lines that are a quotation, with the line that says whose.
_QUOTED_LINES = re.compile(r"(?:^[^\n]*:[ \t]*\n\s*)?^[ \t]*[\"“„«][^\"“„«”»]*[\"”“»][^\w\n]*$", re.MULTILINE)


def _compile(name: str) -> re.Pattern[str]:
    return compile_pattern("messages", name)


def _drop_discussed(message: str) -> str:
    """Return a message without documents, lines of quotations, and the paragraphs that its question is about.

    Those stand below the question, or above one that is the last.
    """
    if _FRONT_MATTER.match(message):
        return ""
    headings = [found.start() for found in _HEADING.finditer(message)]
    text = _QUOTED_LINES.sub("", message if len(headings) < 2 else message[: headings[0]])
    paragraphs = [each for each in re.split(r"\n[ \t]*\n", text) if each.strip()]
    asked = next((number for number, each in enumerate(paragraphs) if _compile("discussing").search(each)), None)
    if asked is None:
        return text
    return "\n\n".join(paragraphs[: asked + 1] if asked + 1 < len(paragraphs) else paragraphs[asked:])


def _drop_tagged(message: str) -> str:
    """Return a message with line ends in place of what stands between tags."""
    last = {found[1]: found.start() for found in _CLOSING_TAG.finditer(message)}
    kept, at, begin = list[str](), 0, 0
    while opening := _OPENING_TAG.search(message, at):
        at = opening.end()
        if last.get(opening[1], -1) >= at:
            closing = f"</{opening[1]}>"
            kept.append(message[begin : opening.start()])
            begin = at = message.index(closing, at) + len(closing)
    return "\n".join([*kept, message[begin:]])


def _drop_pasted(message: str) -> list[str]:
    """Return the lines of a message up to the first behind which others speak, without letters, logs, tables and talk of several.

    Of a page nothing is left: where its text begins, nothing tells.
    """
    kept, read = list[str](), list[str]()
    lines = _drop_discussed(_drop_tagged(message)).split("\n")
    closings = [number for number, line in enumerate(lines) if _compile("closing").match(line)]
    closed = closings[-1] if closings else _find_signature(lines)
    greeted = next((number for number, line in enumerate(lines) if _compile("greeting").match(line)), closed + 1)
    to_people = closed >= 0 and _compile("to_people").search(lines[closed]) is not None
    is_own = greeted > closed and not to_people and _is_short_message(lines, closed, named=not closings)
    names = {line for line, times in Counter(lines).items() if times > 1 and _compile("label").match(line)}
    speaks = [line in names or _compile("speaker").match(line) is not None for line in lines]
    talk = sum(speaks) > 1
    table = sum(map(bool, map(_compile("row").match, lines))) > 1
    in_log = in_file = in_talk = False
    for number, line in enumerate(lines):
        greeting = _compile("greeting").match(line)
        if _compile("reply").match(line) or (greeting and greeting["formal"] and closed < number):
            break
        if _compile("addressed").match(line) or (0 <= closed < number and _POSTSCRIPT.match(line)):
            break
        begins_file = (
            _KEY.match(line) is not None and lines[number + 1 : number + 2] != [] and lines[number + 1].startswith("  ")
        )
        in_file = begins_file or _INDENTED.match(line) is not None or (in_file and line.startswith((" ", "\t")))
        in_log = bool(line.strip()) and (in_log or _compile("stamped").match(line) is not None)
        in_talk = talk and bool(line.strip()) and (in_talk or speaks[number])
        in_letter = closed == number or (closed > number and not is_own and (greeted > closed or number >= greeted))
        in_table = table and _compile("row").match(line) is not None
        is_name = 0 <= closed < number <= closed + 2 and len(line.split()) < 4
        if in_file or in_log or in_letter:
            continue
        if _compile("page").match(line):
            return []
        read.append("" if is_name else line)
        if not (is_name or in_talk or in_table):
            introduced = _compile("introduced").match(line)
            kept.append(line[: line.rfind(". ", 0, introduced.end()) + 1] if introduced else line)
            if introduced:
                break
    return [] if _is_page(read, tells=closed >= 0) else kept


def _is_page(lines: Sequence[str], *, tells: bool) -> bool:
    """Return True if titles, labels and buttons stand around sentences; what a line with a colon lists is none of them.

    Args:
        lines: Those of a message, without letters and logs.
        tells: Sentences stand in what is left out: it is a letter.
    """
    labels, before, is_list = list[bool](), "", False
    for line in lines:
        if _compile("label").match(line) and not _greets(line):
            labels += [] if is_list else [not before.strip()]
        elif line.strip():
            is_list = line.rstrip().endswith(":")
            tells = tells or _LIST_MARK.match(line) is not None or _STOP.search(line) is not None
        before = line
    return tells and len(labels) > 1 and any(labels)


def _greets(line: str) -> bool:
    """Return True if a line holds words of courtesy, and one other at most."""
    words, courtesy = re.findall(r"\w+", line.lower()), read_words("recall", "phatic")
    others = [word for word in words if word not in courtesy]
    return len(others) < min(len(words), 2)


def _is_short_message(lines: Sequence[str], closed: int, *, named: bool) -> bool:
    """Return True if a message without a greeting is one paragraph that its writer has signed with one word, and no letter.

    Args:
        lines: Those of the message.
        closed: The number of the line that closes it.
        named: That is only a name; then one line stands above it.
    """
    above, name = [bool(line.strip()) for line in lines[: max(closed, 0)]], lines[closed if named else closed + 1 :]
    paragraphs = sum(told and not before for before, told in pairwise([False, *above]))
    return paragraphs == 1 and len(" ".join(name).split()) < 2 and not (named and sum(above) > 1)


def _find_signature(lines: list[str]) -> int:
    """Return the number of the last line if it is a name below a sentence, as in a letter; -1 if it is none."""
    told = [number for number, line in enumerate(lines) if line.strip()]
    if len(told) < 2 or not _SIGNATURE.match(lines[told[-1]]) or not lines[told[-2]].rstrip().endswith((".", "!", "?")):
        return -1
    name = lines[told[-1]].strip(" \t–—-")
    is_phatic = not read_words("recall", "phatic").keys().isdisjoint(re.findall(r"\w+", name.lower()))
    return told[-1] if all(word[0].isupper() for word in name.split()) and not is_phatic else -1


_STOP = re.compile(r"\w[.!?](?!\w)")
_LIST_MARK = re.compile(r"^\s*(?:[-*+•]|\d{1,2}[.)])\s+")
_QUOTED = re.compile(r"[\"“„«][^\"”“»\n]{12,}[\"”“»]|(?<!\w)['‘][^'’\n]{20,}['’](?!\w)")
_QUOTED_SENTENCES = re.compile(
    r"[\"“„«](?=[^\"”“»\n]*[.!?] )[^\"”“»\n]{12,}[\"”“»]|‘(?=[^‘\n]*[.!?] )[^‘\n]{12,}’(?!\w)"
)
_ELLIPSIS_END = re.compile(r"(?:\.\.\.|…)\s*$")

# A day with a dot, behind which its month follows: no sentence ends between them.
_DAY = re.compile(r"(?<!\w)\d{1,2}\.\s\Z")
_PRONOUN_START = re.compile(r"^(?:he|she|they|it|his|her|their|its)(?:'\w+)?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence.

    Attributes:
        text: Without words that only open or close it.
        before: The sentence before it in the message; "" if it is the first.
        whole: As it was written.
        asked_to_keep: The user has asked that it be remembered, in its last words or in the sentence after it.
    """

    text: str
    before: str = ""
    whole: str = ""
    asked_to_keep: bool = False


def split_sentences(message: str) -> Iterator[Sentence]:
    """Yield the sentences of a message in order, up to the first that begins a story, a mail or a pasted text."""
    texts = list(_list_texts(message))[:MAX_SENTENCES]
    asking, taken_back, before = _compile("asks_to_keep"), _compile("taken_back"), ""
    for number, text in enumerate(texts):
        following = texts[number + 1] if number + 1 < len(texts) else ""
        kept = asking.search(text) is not None or asking.fullmatch(following) is not None
        bare = _bare(text)
        unwanted = _compile("not_to_keep").match(text) or taken_back.match(text) or taken_back.match(following)
        if bare and not unwanted and not asking.fullmatch(text):
            yield Sentence(bare, before, text, kept)
            before = bare


def split_clauses(sentence: str) -> list[str]:
    """Return the clauses of a sentence that have a subject of their own, the first one included."""
    return [clause.strip() for clause in _compile("clause").split(sentence) if clause and clause.strip()]


def begins_with_pronoun(text: str) -> bool:
    """Return True if a sentence is about somebody whom the one before names."""
    return _PRONOUN_START.match(text) is not None


def capitalize(text: str) -> str:
    """Return a sentence with a capital letter at its start."""
    return text[:1].upper() + text[1:]


def _list_texts(message: str) -> Iterator[str]:
    """Yield sentences as they stand."""
    for raw in _drop_pasted(FENCED.sub("\n", message)):
        line = " ".join(_QUOTED_SENTENCES.sub(" ", _LIST_MARK.sub("", raw)).replace("’", "'").split())
        if PASTED_LINE.search(line):
            continue
        starts = (start for start in find_sentence_starts(line, 0, len(line)) if not _is_in_date(line, start))
        cuts = [0, *starts, len(line)]
        for start, end in pairwise(cuts):
            text = line[start:end].strip()
            if not text:
                continue
            if (request := _compile("request_behind").search(text)) is not None:
                text = text[: request.start()]
            fiction = _compile("fiction").search(text)
            if PAYLOAD.match(f"{text}\n") or (
                fiction and not text[: fiction.start()].strip().lower().endswith("remember that")
            ):
                return
            quoted = sum(len(found[0]) for found in _QUOTED.finditer(text))
            if len(text) <= MAX_CHARS and quoted <= 0.4 * len(text) and not _ELLIPSIS_END.search(text):
                yield text
            if request is not None and _compile("fiction").search(request[0]):
                return


def list_own_words(message: str) -> str:
    """Return a message without what somebody has pasted into it."""
    return " ".join(_list_texts(message))


def _is_in_date(line: str, place: int) -> bool:
    return _compile("month").match(line, place) is not None and _DAY.search(line[max(place - 5, 0) : place]) is not None


def _bare(text: str) -> str:
    """Return a sentence without the words that open or close it."""
    bare = _compile("tail").sub(lambda found: found["stop"], _compile("lead").sub("", text)).strip(" ,;–—-")
    return bare if any(char.isalnum() for char in bare) else ""
