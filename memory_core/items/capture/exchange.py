"""An exchange as capture reads it: the user's own words, the assistant's as context, and what neither of them said. Pure.

`split_sentences` cuts the user's words into sentences that may state a fact: without pastes, quotes, stories and mails.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import dropwhile, pairwise, takewhile
from typing import Any, Literal

from memory_core.completions import join_text
from memory_core.errors import InvalidArgument
from memory_core.items.capture.orders import Utterance, is_courtesy, resolve_orders
from memory_core.items.grammar import FENCED, PASTED_LINE, PAYLOAD, compile_pattern, read_words
from memory_core.sources.redaction import REDACTED, redact
from memory_core.text.dates import read_time
from memory_core.text.messages import replace_surrogates, strip_reasoning
from memory_core.text.tokens import estimate_tokens
from memory_core.text.units import find_sentence_starts

READ_CHARS = 20_000  # of one message; what follows is a paste

_ROLES = frozenset({"user", "assistant", "tool", "function", "system", "developer"})
_QUOTE = re.compile(r"^\s*>")
_PLACE = re.compile(r"^\s*\S(?:[^.?!]|[.?!](?=\S))*:\s*$")  # the line above a text of others that says where it stands


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
TINY_WORDS = 11  # of a message, in which nothing tells one hand from another
SHORT_WORDS, SHORT_SENTENCES = 20, 2  # of a message that need not ask for anything: in one of both
LABEL_WORDS = 4  # of a name, a title, a signature or a button

# ---- What somebody has pasted is nobody's statement: replies, mails, logs, what a line introduces, and whatever is in doubt.

_OPENING_TAG = re.compile(r"<(\w[\w-]*+)[^<>\n]*>")
_CLOSING_TAG = re.compile(r"</(\w[\w-]*+)>")
_INDENTED = re.compile(r"^(?: {4}|\t)(?!\s*(?:[-*+•]|\d{1,2}[.)])\s)")
_HEADING = re.compile(r"^(?:(?:#+|§|\d+\.\d+) \S|\*\*[^*\n]+\*\*[ \t]*$|\S.*\n(?:={3,}|-{3,})[ \t]*$)", re.MULTILINE)
_FRONT_MATTER = re.compile(r"\A\s*---[ \t]*\n")
# Lines that are a quotation, with the line that says whose.
_QUOTED_LINES = re.compile(r"(?:^[^\n]*:[ \t]*\n\s*)?^[ \t]*[\"“„«][^\"“„«”»]*[\"”“»][^\w\n]*$", re.MULTILINE)


_compile = partial(compile_pattern, "messages")


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
    """Return the lines of a message that its writer has typed, as far as anything tells, and empty ones for others.

    Letters, logs, tables and talk of several are none, nor is what stands below a line that says whose it is.
    """
    kept, seen = list[str](), list[str]()
    lines = _drop_discussed(_drop_tagged(message)).split("\n")
    closings = [number for number, line in enumerate(lines) if _compile("closing").match(line)]
    closed = closings[-1] if closings else -1
    greeted = next((number for number, line in enumerate(lines) if _compile("greeting").match(line)), closed + 1)
    to_people = closed >= 0 and _compile("to_people").search(lines[closed]) is not None
    is_own = greeted > closed and not to_people
    names = {line for line, times in Counter(lines).items() if times > 1 and _is_label(line)}
    speaks = [line in names or _compile("speaker").match(line) is not None for line in lines]
    talk = sum(speaks) > 1
    table = sum(map(bool, map(_compile("row").match, lines))) > 1
    in_log = in_file = in_talk = False
    for number, line in enumerate(lines):
        greeting = _compile("greeting").match(line)
        begins_letter = greeting is not None and greeting["formal"] and closed < number
        if begins_letter or _compile("reply").match(line) or _compile("addressed").match(line):
            break
        in_file = _INDENTED.match(line) is not None or (in_file and line.startswith((" ", "\t")))
        in_log = bool(line.strip()) and (in_log or _compile("stamped").match(line) is not None)
        in_talk = talk and bool(line.strip()) and (in_talk or speaks[number])
        in_letter = closed == number or (closed > number and not is_own and (greeted > closed or number >= greeted))
        in_table = table and _compile("row").match(line) is not None
        is_name = 0 <= closed < number <= closed + 2 and len(line.split()) < 4
        seen.append("" if in_file or in_log else line)
        if in_file or in_log or in_letter or is_name or in_talk or in_table:
            kept.append("")
        elif introduced := _compile("introduced").match(line) or _find_place(lines, number):
            kept.append(line[: line.rfind(". ", 0, introduced.end()) + 1])
            break
        else:
            kept.append(line)
    return kept[: _count_own(seen)]


def _is_label(line: str) -> bool:
    """Return True if a line is a name or a title: a few words without a full stop."""
    return 0 < len(line.split()) <= LABEL_WORDS and line.rstrip()[-1].isalnum()


def _is_title(lines: Sequence[str]) -> bool:
    """Return True if lines are the title of the text below: a label, or one line without a full stop that opens no message."""
    told = [line for line in lines if line.strip()]
    is_line = len(told) == 1 and told[0].rstrip()[-1].isalnum()
    return _is_label(told[0]) or (is_line and not _opens(told[0]))


def _find_place(lines: Sequence[str], number: int) -> re.Match[str] | None:
    """Return the match of words that say where the text behind them comes from: they end in a colon, and no list follows.

    An indented list does, below a single word: that is YAML.
    """
    line = lines[number]
    within = _compile("named").match(line) if len(line.split()) > TINY_WORDS else None
    place = within or _PLACE.match(line)
    if place is None or _compile("own_label").match(line):
        return None
    below = next((lines[each] for each in range(number + 1, len(lines)) if lines[each].strip()), "")
    is_data = len(line.split()) == 1 and below[:1].isspace()
    return None if within is None and _LIST_MARK.match(below) and not is_data else place


def _count_own(lines: Sequence[str]) -> int:
    """Return how many of a message's first lines are plainly its writer's, by their structure alone.

    A few words are taken as they are. Of more, the lines of one hand are; and if those are no short message, they have to
    begin as a message to an assistant does, or with a paragraph that orders one to remember it, and to ask for something.

    Args:
        lines: Those of a message, empty ones in place of logs and files.
    """
    sizes = [len(line.split()) for line in lines]
    if sum(sizes) <= TINY_WORDS:
        return len(lines)
    written = _count_of_one_hand(lines, sizes)
    sentences = [text for line in lines[:written] for text in _cut_loosely(line) if _WORD.search(text)]
    if sum(sizes[:written]) <= SHORT_WORDS or len(sentences) <= SHORT_SENTENCES:
        return written
    is_opened = _opens(sentences[0]) or _confides(lines[:written], small=False)
    return _count_asking(lines[:written]) if is_opened else 0


def _count_of_one_hand(lines: Sequence[str], sizes: Sequence[int]) -> int:
    """Return how many of the first lines begin and end alike: all with capitals or none, all with full stops or none.

    Titles, buttons, signatures and wrapped lines do not, nor does a remark beside a text of others, which is the shorter part;
    0 if no remark stands apart above the other hand. Lists and courtesies are of any hand.
    """
    told = [number for number, size in enumerate(sizes) if size]
    hand: tuple[bool | None, bool] | None = None
    is_list = False
    for number in told:
        line = lines[number].strip()
        is_list = line.endswith(":") or (is_list and sizes[number - 1] > 0)
        if is_list or _LIST_MARK.match(line) or _greets(line):
            continue
        begins = line[0].isupper() if line[0].isalpha() else None
        ends = not (line[-1].isalnum() or line[-1] in ",;")
        if hand is None:
            hand = begins, ends
        if number == told[-1] and sizes[number] > LABEL_WORDS:
            ends = ends or hand[1]  # people leave out the last full stop
        if ends is not hand[1] or (None not in (begins, hand[0]) and begins is not hand[0]):
            is_apart = sizes[number - 1] == 0 and not _is_title(lines[:number])
            is_remark = is_apart and sum(sizes[:number]) < sum(sizes[number:])
            return number if is_remark else 0
    return len(lines)


def _count_asking(lines: Sequence[str]) -> int:
    """Return how many lines there are up to the last paragraph that asks an assistant for something; 0 if none does.

    Below the first one, only a paragraph in the first person counts: "is that true?" may be about the text above it. An order to
    remember counts in the first one alone.
    """
    asks, is_own, last = _confides(lines), True, 0
    for number, line in enumerate(lines, start=1):
        asks = asks or _asks(line)
        is_own = is_own or _is_of_writer(line)
        if number == len(lines) or not lines[number].strip():
            last = number if asks and is_own else last
            asks = is_own = False
    return last


def _opens(sentence: str) -> bool:
    """Return True if a sentence opens a message to an assistant: about its writer, a request or a courtesy, to nobody else."""
    if _compile("salutation").match(sentence):
        return False
    is_courteous = _greets(sentence) or _compile("lead").match(sentence) is not None
    return is_courteous or _is_of_writer(sentence) or _asks(sentence)


def _is_of_writer(text: str) -> bool:
    """Return True if a text is in the first person; Spanish verbs are by themselves."""
    return any(compile_pattern(section, "own").search(text) for section in ("messages", "es"))


def _asks(line: str) -> bool:
    """Return True if a line asks an assistant for something else than to be remembered."""
    texts = (text for text in _cut_loosely(line) if len(text) <= MAX_CHARS)
    return any(_compile("asking").search(text) and not _compile("keeping").search(text) for text in texts)


def _confides(lines: Sequence[str], *, small: bool = True) -> bool:
    """Return True if the first paragraph orders an assistant to remember what stands before the order, as nobody orders a reader.

    Nobody is greeted by name before it, and behind it stand words of courtesy and requests alone: a letter ends with a name.

    Args:
        lines: Of a message.
        small: Any order does in a line that begins with a small letter, as no letter to a person begins so.
    """
    first = [*takewhile(str.strip, dropwhile(lambda line: not line.strip(), lines))]
    told = [(text, line) for line in first for text in _cut_loosely(line) if _WORD.search(text)]
    if not told or _compile("salutation").match(told[0][0]):
        return False
    for text, line in reversed(told):
        order = "pointing" if small and line[:1].islower() else "confiding"
        if len(text) <= MAX_CHARS and compile_pattern("orders", order).search(text):
            return True
        if not (is_courtesy(text) or _asks(text)):
            return False
    return False


def _greets(line: str) -> bool:
    """Return True if a line holds words of courtesy, and one other at most."""
    words, courtesy = re.findall(r"\w+", line.lower()), read_words("recall", "phatic")
    others = [word for word in words if word not in courtesy]
    return len(others) < min(len(words), 2)


_WORD = re.compile(r"\w+")
# "Ca. three" is no end of a sentence, but "from now on. can you" is one, and "they said no. I" is.
_SMALL_START = re.compile(
    r"(?:(?<=[^\W_]{3}\.)|(?<=\w[!?])|(?<= (?:[dgst]o|on|in|up|it|us|me|be|we|so|es|du|an|um|zu|ja|tu|va|te|la|yo|ya)\.))"
    r"\s+(?=[a-zß-ÿ])|(?<= no\.)\s+(?=[^\W\d_])"
)
_LIST_MARK = re.compile(r"^\s*(?:[-–*+•]|\d{1,2}[.)])\s+")
_QUOTED = re.compile(r"[\"“„«][^\"”“»\n]{12,}[\"”“»]|(?<!\w)['‘][^'’\n]{20,}['’](?!\w)")
_QUOTED_SENTENCES = re.compile(
    r"[\"“„«](?=[^\"”“»\n]*[.!?] )[^\"”“»\n]{12,}[\"”“»]|‘(?=[^‘\n]*[.!?] )[^‘\n]{12,}’(?!\w)"
)
_ELLIPSIS_END = re.compile(r"(?:\.\.\.|…)\s*$")

_PRONOUN_START = re.compile(r"^(?:he|she|they|it|his|her|their|its)(?:'\w+)?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence.

    Attributes:
        text: Without words that only open or close it.
        before: The sentence before it in the message; "" if it is the first.
        whole: As it was written.
        asked_to_keep: The user has asked that it be remembered; then it may be several sentences.
        dictated: It stands behind the request for a letter, of which it may be a part.
    """

    text: str
    before: str = ""
    whole: str = ""
    asked_to_keep: bool = False
    dictated: bool = False


def split_sentences(message: str) -> Iterator[Sentence]:
    """Yield the sentences of a message in order, up to the first that begins a story or a pasted text."""
    told = [part for each in resolve_orders(list(_list_texts(message))[:MAX_SENTENCES]) for part in _cut_small(each)]
    aside, taken_back, before = _compile("aside"), _compile("taken_back"), ""
    for number, each in enumerate(told):
        text, following = each.text, told[number + 1].text if number + 1 < len(told) else ""
        kept = each.ordered or aside.search(text) is not None or aside.fullmatch(following) is not None
        bare = _bare(text)
        unwanted = _compile("not_to_keep").match(text) or taken_back.match(text) or taken_back.match(following)
        if bare and not unwanted and not aside.fullmatch(text):
            yield Sentence(bare, before, text, kept, each.dictated)
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


def _list_texts(message: str) -> Iterator[Utterance]:
    """Yield sentences as they stand."""
    paragraph, dictated = 0, False
    for raw in _drop_pasted(FENCED.sub("\n", message)):
        paragraph += not raw.strip()
        line = " ".join(_QUOTED_SENTENCES.sub(" ", _LIST_MARK.sub("", raw)).replace("’", "'").split())
        if PASTED_LINE.search(line):
            continue
        for text in (_cut_loosely if _compile("letter").search(line) else cut_sentences)(line):
            request = _compile("request_behind").search(text)
            told = text[: request.start()] if request else text
            fiction = _compile("fiction").search(told)
            if PAYLOAD.match(f"{told}\n") or (
                fiction and not told[: fiction.start()].strip().lower().endswith("remember that")
            ):
                return
            if letter := _compile("letter").search(told):
                if ":" in told[letter.end() :]:
                    return
                if before := told[: letter.start()].strip(" ,;–—-"):
                    yield Utterance(before, paragraph, dictated=dictated)
                dictated, told = True, told[letter.end() :].partition(", ")[2]
            quoted = sum(len(found[0]) for found in _QUOTED.finditer(told))
            if told and len(told) <= MAX_CHARS and quoted <= 0.4 * len(told) and not _ELLIPSIS_END.search(told):
                yield Utterance(told, paragraph, dictated=dictated)
            if request is not None and any(_compile(name).search(request[0]) for name in ("fiction", "letter")):
                return


def cut_sentences(line: str) -> list[str]:
    """Return the sentences of a line."""
    places = [0, *find_sentence_starts(line, 0, len(line)), len(line)]
    return [text for start, end in pairwise(places) if (text := line[start:end].strip())]


def _cut_loosely(line: str) -> list[str]:
    """Return the sentences of a line, those that begin with a small letter included."""
    return [part for text in cut_sentences(line) for part in _SMALL_START.split(text)]


def _cut_small(told: Utterance) -> list[Utterance]:
    """Return the sentences of one that begins with a small letter as they all do; what is ordered to be kept stays whole."""
    is_whole = told.ordered or not told.text[:1].islower() or compile_pattern("orders", "ordering").match(told.text)
    return [told] if is_whole else [replace(told, text=text) for text in _cut_loosely(told.text)]


def list_own_words(message: str) -> str:
    """Return a message without what somebody has pasted into it."""
    return " ".join(told.text for told in _list_texts(message))


def _bare(text: str) -> str:
    """Return a sentence without the words that open or close it."""
    bare = _compile("tail").sub(lambda found: found["stop"], _compile("lead").sub("", text)).strip(" ,;–—-")
    return bare if any(char.isalnum() for char in bare) else ""
