"""Facts in the user's own words, found without a model. Pure.

A sentence is a fact if it says how things are and stay: what it is and what it must not be is in grammars.toml. In doubt nothing
is found: a missed fact can be said again, a wrong one is recalled for months. A correction that names only what changes, "no, the
blue one", is completed with the fact that it corrects.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from itertools import pairwise, takewhile

from memory_core.items.capture import exchange
from memory_core.items.grammar import compile_pattern, list_kinds, read_words
from memory_core.items.likeness import find_taken_back
from memory_core.items.records import Tier
from memory_core.text.dates import MONTHS, WEEKDAYS, get_day
from memory_core.text.periods import find_either, names_day, names_weekday
from memory_core.text.spelling import measure_distance
from memory_core.text.tense import tells_end
from memory_core.text.terms import detect_language

_VALUE = re.compile(r"[€$£]?\w[\w.:,%'-]*[\w%]|\w")
# Values of one sort. A word of a sort takes the place of the only other one of that sort.
_SORTS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?:{'|'.join(WEEKDAYS)})s?",
        r"[€$£]?\d[\w.:,%]*",
        "|".join(MONTHS),
        r"blue|red|green|grey|gray|black|white|yellow|orange|purple|pink|brown|silver|gold|golden|beige|turquoise|navy",
        r"(?-i:[A-ZÄÖÜÉ])[\w'-]+",
    )
)
_MODIFIER = re.compile(r"\b(?:the|an?|my|our|your|his|her|their) (\w+) (?=[a-z]\w)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ShortCorrection:
    """A correction that names only values.

    Attributes:
        new: The value that holds.
        old: The value that does not hold; None if it was not named.
        one: It says "the blue one": the value is said of a thing.
        spelt: It tells how a name is spelt, and is understood by itself.
    """

    new: str
    old: str | None = None
    one: bool = False
    spelt: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFact:
    """One fact that somebody said.

    Attributes:
        content: The fact, one or two sentences that can be understood alone.
        kind: "fact", "preference", "decision" or "correction".
        tier: "sure" is recalled from now on; "pending" waits to be said again or confirmed.
        said_at: Unix seconds; None is now.
        short: The correction that it is, if it names only what changes; then `content` is no fact yet.
        supersedes: The ids of items whose place it takes.
        turn: The index of its turn in the exchange.
    """

    content: str
    kind: str = "fact"
    tier: Tier = "sure"
    said_at: float | None = None
    short: ShortCorrection | None = None
    turn: int = 0
    supersedes: tuple[str, ...] = ()


def read_short_correction(sentence: str) -> ShortCorrection | None:
    """Return the correction that a sentence is; None if it is none."""
    found = compile_pattern("messages", "short_correction").match(sentence.strip())
    if found is None or not (found["cue"] or found["old"]):
        return None
    new, old = found["new"].strip(".,:'"), (found["old"] or "").strip(".,:'")
    if not new or {new.lower(), old.lower()} & read_words("messages", "no_value").keys():
        return None
    names = old and all(_find_sort(each) is _SORTS[-1] for each in (new, old))
    most = (max(len(new), len(old)) + 1) // 2
    spelt = found["letter"] or (names and found["named"] and measure_distance(new, old, most) <= most)
    return ShortCorrection(new, old or None, one=found["one"] is not None, spelt=bool(spelt))


def apply_correction(correction: ShortCorrection, fact: str, heard: Iterable[str]) -> str | None:
    """Return a fact with the new value in the place of the old one; None if the correction is not about it.

    Args:
        correction: The correction.
        fact: The fact that may be meant.
        heard: What was said before the correction: a value that nobody said is not corrected.
    """
    said = {each.lower() for text in heard for each in _VALUE.findall(text)}
    old = correction.old or _find_old(correction, fact, said)
    if old is None:
        return None
    completed, count = re.subn(
        rf"(?<![\w-]){re.escape(old)}(?![\w-])", lambda _: correction.new, fact, count=1, flags=re.IGNORECASE
    )
    return completed if count else None


def change_instruction(correction: str, standing: str) -> str | None:
    """Return a standing instruction with the value that a correction of it names; None if the correction is not about it.

    >>> change_instruction("answer in English.", "Please always answer me in French.")
    'Please always answer me in English.'
    """
    new, old = correction.strip(" .!").split(), standing.strip(" .!").split()
    held = [word.lower() for word in old]
    shared = [word.lower() for word in new[:-1]]
    if not shared or new[-1].lower() in held or not set(shared) <= set(held) or shared[-1:] != held[-2:-1]:
        return None
    sort, older = map(_find_sort, (new[-1], old[-1]))
    return f"{' '.join(old[:-1])} {new[-1]}." if sort is not None and sort is older else None


def _find_sort(value: str) -> re.Pattern[str] | None:
    return next((each for each in _SORTS if each.fullmatch(value)), None)


def _find_old(correction: ShortCorrection, fact: str, said: set[str]) -> str | None:
    """Return the only word of a fact that may be meant; None if there are several, or none."""
    new = correction.new
    sort = _find_sort(new)
    others = _MODIFIER.findall(fact) if correction.one else []
    words = [word for word in _VALUE.findall(fact[1:]) if sort.fullmatch(word)] if sort else others
    meant = {word for word in words if word.lower() in said and word.lower() != new.lower()}
    return meant.pop() if len(meant) == 1 else None


_NO_ITEMS: Mapping[str, str] = {}
_NOISES = ("deixis", "question", "joke")
MIN_WORDS = 3  # of a sentence that nobody asked to keep
MAX_QUESTION_WORDS, MAX_ANSWER_WORDS = 20, 15  # of a question of the assistant that makes a fact of its answer
LANGUAGE_WORDS = 8  # of a message, from which its language is not taken for another
_FIRST_NAME = re.compile(r"\A[A-Z][\w'-]++(?= (?:is|was|has|does|runs|lives|works|likes|hates|loves|comes|can)\b)")
_FULL_NAME = re.compile(r"[A-ZÄÖÜÉ][\w'-]+(?: [A-ZÄÖÜÉ][\w'-]+)*")
_PLACE_BEFORE = re.compile(r"\b(?:in|at|to|from|near|on) \Z", re.IGNORECASE)  # whom nobody means by "he" or "she"
_SUBJECT_PRONOUN = re.compile(r"^(?:he|she|they)\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_DIGIT = re.compile(r"\d")
_INFINITIVE = re.compile(r"^(not|never) to ", re.IGNORECASE)
_IMPERATIVES = {"not": "do not ", "never": "never "}
_ASKED_POLITELY = re.compile(r"^(?:can|could|would) you\b", re.IGNORECASE)
_ENGLISH = re.compile(r"\b(?:I|we|my|our|the|is|are)\b")
_CJK = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
_NAME = re.compile(
    r"(?<=[a-z,:] )(?!I\b|I'|(?:OK|TODO|API|URL|JSON|CSV|HTML|CSS|SQL|PDF|IDE)\b)[A-ZÄÖÜÉ][\w'-]*\w"
    r"|^(?!(?:I|We|My|Our|The|There|He|She|They|It|An?)\b)[A-Z][a-z]+(?= (?:is|was|has|handles|manages|leads|took|left|runs|lives"
    r"|works|hates|likes|starts|joined|owns|[A-Z]))"
)


def find_facts(
    turns: Sequence[exchange.Turn],
    *,
    now: float,
    time_zone: str | None = None,
    standing: Mapping[str, str] = _NO_ITEMS,
) -> Iterator[FoundFact]:
    """Yield the facts in the new turns of the user, in the order in which they were said.

    Args:
        turns: An exchange.
        now: Unix seconds, for turns without a time.
        time_zone: Its clock tells the day from which "tomorrow" is counted; see `get_today`.
        standing: The standing preferences, each with the id of its item.
    """
    earlier, known = list[str](), dict(standing)
    spoken = _find_language(" ".join(exchange.list_own_words(turn.text) for turn in turns if turn.speaker == "user"))
    for number, turn in enumerate(turns):
        if turn.speaker != "user" or turn.has_secret:
            continue
        language = _find_language_beside(exchange.list_own_words(turn.text), spoken)
        said = [sentence.text for sentence in exchange.split_sentences(turn.text)]
        solved = _find_solution(said, language or spoken or "en", earlier)
        earlier += said
        if not turn.new:
            continue
        asked = _find_question(turns[:number])
        said_at = now if turn.said_at is None else turn.said_at
        stated = [
            fact
            for fact in _join_pronouns(turn.text, language, known, asked)
            if fact.content.rstrip(".!") not in solved
        ]
        for fact in [*stated, *([FoundFact(content=solved)] if solved else [])]:
            if fact.kind == "preference":
                known[fact.content] = ""
            content = fact.content if fact.short else resolve_days(fact.content, get_day(time_zone, said_at))
            yield replace(fact, content=content, said_at=turn.said_at, turn=number)


def _find_solution(sentences: Sequence[str], language: str, earlier: Sequence[str]) -> str:
    """Return a problem and what a message says of how it was solved; "" if it says nothing of that.

    Args:
        sentences: Those of the message; they may tell a problem, too.
        language: Of the message.
        earlier: The user's sentences before it.
    """
    solved, told = list[str](), list[str]()
    for text in sentences:
        if _tells_solution(text, language) and not _find("doubt", text):
            problem = _find_problem(text, earlier, told, language)
            if solved or problem or compile_pattern(language, "cause").search(text):
                leading = told[-1:] if told and _count_words(told[-1]) >= MIN_WORDS else []  # "the belt was loose"
                solved += [each for each in (problem, *leading, text) if each and (each != problem or not solved)]
        if "?" not in text:
            told.append(text)
    return " ".join(_end(exchange.capitalize(each)) for each in dict.fromkeys(solved))


def _find_problem(solution: str, earlier: Sequence[str], told: Sequence[str], language: str) -> str:
    """Return the last sentence that tells a problem, or else one before the message about a thing that the solution names."""
    tells_problem = compile_pattern(language, "problem").search
    things = {found[1].lower() for found in compile_pattern("messages", "thing").finditer(solution)}
    named = (each for each in reversed(earlier) if things & {*_WORD.findall(each.lower())})
    return next(filter(tells_problem, reversed([*earlier, *told])), next(named, ""))


def _find_language(text: str) -> str | None:
    """Return the language of a text; None if the rules do not know it, or if it is too short to be known for English."""
    language, is_long = detect_language(text), len(_WORD.findall(text)) >= LANGUAGE_WORDS
    return language if language in LANGUAGES or (language == "en" and is_long) else None


def _find_language_beside(message: str, spoken: str | None) -> str | None:
    """Return the language of a message in a conversation; None where one that is too short to be sure seems to change it."""
    if len(_WORD.findall(message)) >= LANGUAGE_WORDS:
        return _find_language(message) or spoken
    return spoken if detect_language(message) in (None, spoken) else None


def _find_question(turns: Sequence[exchange.Turn]) -> tuple[str, str]:
    """Return the questions with which the assistant ends the last turn, and the sentence to which they refer."""
    if not turns or turns[-1].speaker != "assistant" or turns[-1].has_secret:
        return "", ""
    told = [text for line in turns[-1].text.split("\n") for text in exchange.cut_sentences(line)]
    asked = " ".join(reversed([*takewhile(lambda text: text.endswith("?"), reversed(told))]))
    heard = (asked, *(turn.text for turn in turns if turn.speaker == "user")) if asked else ()
    if not asked or any(map(compile_pattern("messages", "invented").search, heard)):
        return "", ""
    refers = compile_pattern("messages", "referring").search(asked)
    before = turns[-2] if refers and len(turns) > 1 else None
    if before and before.has_secret:
        return "", ""
    said = [*exchange.split_sentences(before.text)] if before and before.speaker == "user" else []
    return asked, _end(exchange.capitalize(said[-1].text)) if said and _count_words(said[-1].text) >= MIN_WORDS else ""


def _read_answer(asked: tuple[str, str], answer: str, language: str | None) -> FoundFact | None:
    """Return an answer behind its question, if that is about the user's world: when, where, how old, or by which name."""
    question, topic = asked
    words = _count_words(question), _count_words(answer)
    doubted = _find("doubt", answer) or (language in LANGUAGES and compile_pattern(language, "doubt").search(answer))
    if words[0] > MAX_QUESTION_WORDS or words[1] > MAX_ANSWER_WORDS or "?" in answer or doubted:
        return None
    for kind, holds in _ANSWERS.items():
        if compile_pattern("messages", "asked", kind).search(question) and holds(answer):
            return FoundFact(content=f"{topic} {question} {_end(exchange.capitalize(answer))}".strip())
    return None


# What an answer must hold, by the kind of its question.
_ANSWERS: Mapping[str, Callable[[str], object]] = {
    "date": lambda answer: names_day(answer) and not compile_pattern("messages", "denied").search(answer),
    "name": lambda answer: compile_pattern("messages", "named_answer").search(answer),
    "number": lambda answer: compile_pattern("messages", "aged_answer").search(answer),
}


def _join_pronouns(
    message: str, language: str | None, standing: Mapping[str, str], asked: tuple[str, str]
) -> Iterator[FoundFact]:
    """Yield the facts of a message; a sentence about somebody whom the fact before it names stands in one fact with it.

    Args:
        message: Its first sentence may be an answer.
        language: Of the message; None if it is unknown.
        standing: See `find_facts`.
        asked: See `_find_question`.
    """
    held: FoundFact | None = None
    last = ""
    sentences = exchange.split_sentences(message)
    for sentence in (part for each in sentences for part in _split_coordinated(each, language, standing)):
        follows = held is not None and sentence.before.endswith(last)
        if follows and _takes_back(sentence.whole):
            held = None
            continue
        continues = follows and held is not None and _continues(sentence.text, held.content)
        found = None if sentence.before else _read_answer(asked, sentence.text, language)
        found = found or next(_list_facts(sentence, language, standing, continues=continues), None)
        if found is not None and sentence.dictated and not sentence.asked_to_keep:
            found = replace(found, tier="pending")
        if held is not None and found is not None and continues:
            held, last = replace(held, content=f"{_end(held.content)} {found.content}"), sentence.text
        elif found is not None:
            if held is not None:
                yield held
            held, last = found, sentence.text
    if held is not None:
        yield held


def _split_coordinated(
    sentence: exchange.Sentence, language: str | None, standing: Mapping[str, str]
) -> Iterator[exchange.Sentence]:
    """Yield the two statements that "and" joins, if each is a fact: "we sail on Fridays, and call me Kit"; else the sentence."""
    ordering = compile_pattern("orders", "ordering").match(sentence.text)
    found = compile_pattern("messages", "coordinated").match(sentence.text, ordering.end() if ordering else 0)
    if found is not None:
        first, second = sentence.text[: found.end("first")], found["second"]
        asked = sentence.asked_to_keep or ordering is not None
        parts = (
            replace(sentence, text=first, whole=first),
            replace(sentence, text=second, whole=second, before=first, asked_to_keep=asked),
        )
        facts = [next(_list_facts(part, language, standing, continues=False), None) for part in parts]
        if all(fact is not None and fact.tier == "sure" for fact in facts):
            yield from parts
            return
    yield sentence


def _takes_back(text: str) -> bool:
    """Return True for a short correction of the sentence before it that nothing can be made of, as "no wait, port 9090"."""
    corrects = compile_pattern("messages", "corrects").match(text)
    return corrects is not None and read_short_correction(text) is None


def _continues(text: str, fact: str) -> bool:
    """Return True if a sentence speaks of what the fact before it names."""
    named = _FIRST_NAME.match(text)
    return exchange.begins_with_pronoun(text) or (named is not None and named[0].lower() in fact.lower().split())


def _list_facts(
    sentence: exchange.Sentence, language: str | None, standing: Mapping[str, str], *, continues: bool
) -> Iterator[FoundFact]:
    """Yield what may be read from a sentence, the surest first.

    Args:
        sentence: The sentence.
        language: Of its message; None if it is unknown.
        standing: See `find_facts`.
        continues: It speaks of what the fact before it names.
    """
    text = sentence.text
    yield from _read_changed_instruction(text, standing)
    if (short := read_short_correction(sentence.whole)) is not None:
        yield FoundFact(content=sentence.whole, kind="correction", short=short)
    if find_taken_back(text):
        yield FoundFact(content=exchange.capitalize(text), kind="correction")
    if (explicit := _read_explicit(text)) is not None:
        yield explicit
    if sentence.asked_to_keep and _can_be_kept(text, language):
        read = _read_foreign(text, language) if language in LANGUAGES else None
        yield FoundFact(content=exchange.capitalize(text), kind=read[0] if read else _name_kind(text))
    unknown = LANGUAGES if language is None and not _ENGLISH.search(text) else ()
    for each in (language,) if language in LANGUAGES else unknown:
        beside = f"{sentence.before} " if sentence.before else ""
        them = compile_pattern(each, "them").search(f"{beside}{text}")
        named = (
            _read_foreign(f"{them['who']} {them['told']}", each) if them and them.start("told") >= len(beside) else None
        )
        if (stated := named or _read_foreign(text, each)) is not None:
            about_them = not continues and compile_pattern("messages", "about_them").search(stated[1])
            told = f"{sentence.before} {stated[1]}" if about_them and sentence.before else stated[1]
            yield FoundFact(content=exchange.capitalize(told), kind=stated[0])
    if language in LANGUAGES:
        return
    text = compile_pattern("messages", "bare_contraction").sub(
        lambda found: "'".join(filter(None, found.groups())), text
    )
    if continues and (found := _read_statement(text, own=True)) is not None:
        yield found
    readings = [_name_subject(text, sentence.before)]
    if not _finds_any(text, "question", "doubt", "condition"):
        clauses = exchange.split_clauses(text)
        if len(clauses) > 1:
            readings.append(clauses[0])
        readings += [_name_subject(clause, before) for before, clause in pairwise(clauses)]
    statements = filter(None, map(_read_statement, filter(None, readings)))
    yield from sorted(statements, key=lambda fact: fact.tier == "pending")


def _read_changed_instruction(text: str, standing: Mapping[str, str]) -> Iterator[FoundFact]:
    """Yield a standing preference as "no, answer in English" changes it."""
    cue = _find("correcting", text)
    if cue and _find("imperative", text[cue.end() :]):
        for preference, item in standing.items():
            if (changed := change_instruction(text[cue.end() :], preference)) is not None:
                yield FoundFact(content=changed, kind="correction", supersedes=(item,) if item else ())


def _read_explicit(text: str) -> FoundFact | None:
    """Return what the user asks to remember, in so many words."""
    to_do = _find("to_do", text)
    if to_do:
        lasting = _find("standing", to_do["what"])
        return FoundFact(content=exchange.capitalize(to_do["what"]), kind="preference") if lasting else None
    if forbidden := compile_pattern("orders", "forbidding").match(text):
        order = _INFINITIVE.sub(lambda found: _IMPERATIVES[found[1].lower()], forbidden["fact"])
        done = forbidden["fact"].partition(",")[0]  # "not to touch legacy/, it is frozen"
        if compile_pattern("orders", "momentary").search(done) or _finds_any(done, *_NOISES, "work", "passing"):
            return None
        is_of_day = _find("date", done) and not _find("recurring", f"I {done}")
        return FoundFact(content=exchange.capitalize(order), kind="fact" if is_of_day else "preference")
    asked = compile_pattern("orders", "telling").match(text) or _find("explicit", text) or _find("explicit_last", text)
    if asked is None:
        return None
    fact = next(filter(None, asked.groups())).strip()
    if _ASKED_POLITELY.match(text):
        fact = fact.rstrip("? ")
    noises = [*_NOISES]
    if not compile_pattern("orders", "ordering").match(text):  # "hangs" and "breaks" may be words of what is to be kept
        noises.append("work")
    vague = _finds_any(_drop_place(fact), *noises) or (_find("passing", fact) and not _find("date", fact))
    if vague or (len(fact.split()) < 2 and not _CJK.search(fact)):
        return None
    return FoundFact(content=exchange.capitalize(fact), kind=_name_kind(fact))


def _can_be_kept(text: str, language: str | None) -> bool:
    """Return True if what the user has asked to keep tells something that is understood without the conversation."""
    if language not in LANGUAGES and _find("question", text):
        return False
    return not _find("deixis", text) or _is_lasting(text) or _count_words(text) > exchange.TINY_WORDS


def _read_statement(text: str, *, own: bool = False) -> FoundFact | None:
    """Return the fact that a sentence states by itself; `own` says that it is about the user's world."""
    correcting, deciding = _find("correcting", text), _find("deciding", text)
    opened = correcting or deciding
    bare = text[opened.end() :] if opened else text
    plain = _complete(bare)
    if _is_rule_of_place(plain):
        return FoundFact(content=exchange.capitalize(bare), kind="preference")
    if _is_no_statement(plain):
        return None
    reading = next(_list_readings(plain, correcting=bool(correcting), deciding=bool(deciding), own=own), None)
    content = exchange.capitalize(text if bare.lower().startswith("it's ") else bare)
    return None if reading is None else FoundFact(content=content, kind=reading[0], tier=reading[1])


def _list_readings(text: str, *, correcting: bool, deciding: bool, own: bool) -> Iterator[tuple[str, Tier]]:
    """Yield kind and tier of the fact that a sentence may state, the surest first."""
    anchored, decided = _is_anchored(text, own=own), _finds_any(text, "decisions")
    planned = _find("plan", text) and _find("far", text)
    if _find("passing", text) and not (planned or _find("recurring", text)):
        if anchored and _find("date", text):
            yield "fact", "pending"
        return
    if _find("imperative", text) and not decided:
        if _is_lasting(text):
            yield "preference", "sure"
        return
    preferred = _finds_any(text, "preferences", "lasting_imperative")
    denied = correcting and preferred and compile_pattern("likeness", "negation").search(text)
    if denied or (correcting and anchored) or _finds_any(text, "corrections", "withdrawn"):
        yield "correction", "sure"
    if preferred:
        yield "preference", "sure"
    if decided or deciding:
        yield "decision", "sure"
    if _is_about_life(text, anchored=anchored) or _find("plan", text):
        yield "fact", "sure"
    if correcting and _holds_value(text):
        yield "correction", "pending"
    if anchored or _find("liking", text):
        yield "fact", "pending"


def _is_about_life(text: str, *, anchored: bool) -> bool:
    """Return True if a statement says who people are, what belongs to them, or what happens when."""
    if _finds_any(text, "identities", "own_named", "events", "recurring", "life"):
        return True
    if _find("belongings", text) and _holds_value(text):
        return True
    return _finds_any(text, "practices") and (anchored or _finds_any(text, "contrast"))


def _complete(text: str) -> str:
    """Return a sentence as the phrases expect it: with the subject that people leave out, and with "is" for "'s"."""
    full = _compile("have_got").sub(r"\1 have", _compile("is").sub(" is", text))
    if _find("without_i", full):
        return f"I {full}"
    if _find("without_i_am", full):
        return f"I'm {full}"
    return f"our {full}" if _find("without_our", full) else full


_compile = partial(compile_pattern, "en")


def _find(name: str, text: str) -> re.Match[str] | None:
    return _compile(name).search(text)


def _finds_any(text: str, *names: str) -> bool:
    return any(_find(name, text) for name in names)


def _holds_value(text: str) -> bool:
    """Return True if a text holds a name or a number."""
    return _NAME.search(text) is not None or _finds_any(text, "number")


def _is_no_statement(text: str) -> bool:
    """Return True if a sentence asks, doubts, points at something unseen, or is about the work of the moment."""
    if len(_WORD.findall(text)) < MIN_WORDS and not _CJK.search(text):
        return True
    noises = ["question", "doubt", "deixis", *(() if _find("order", text) else ("work",))]
    return _finds_any(text, *noises)


def _is_rule_of_place(text: str) -> bool:
    """Return True if an order says where it holds, and that beyond the moment: "never use tabs here"."""
    rule = _drop_place(text)
    is_rule = _finds_any(text, "placed") or all(_find(name, rule) for name in ("enduring", "order", "imperative"))
    return rule != text and bool(is_rule) and not _is_no_statement(rule)


def _drop_place(text: str) -> str:
    """Return a sentence without the words that say where it holds, before it or behind it."""
    return compile_pattern("messages", "place").sub("", text)


def _is_lasting(text: str) -> bool:
    """Return True if an imperative holds beyond the task of the moment."""
    return _finds_any(text, "standing", "lasting_imperative")


def _is_anchored(text: str, *, own: bool) -> bool:
    """Return True if a plain statement of the user's world holds a name, a number, a date or a relative."""
    return _finds_any(text, "statement") and (own or _finds_any(text, "own", "relative", "role")) and _holds_value(text)


def _name_kind(text: str) -> str:
    """Return the kind of a fact that the user asked to keep."""
    if _is_lasting(text) or _finds_any(text, "preferences"):
        return "preference"
    return "decision" if _finds_any(text, "decisions") else "fact"


def _name_subject(text: str, before: str) -> str | None:
    """Return a sentence with the name of the person for its pronoun, from the words before it; None if they name nobody."""
    if not exchange.begins_with_pronoun(text) or text.lower().startswith("it's"):
        return text
    names = [
        found
        for found in _NAME.finditer(before)
        if not _PLACE_BEFORE.search(before, max(found.start() - 6, 0), found.start())
    ]
    relatives = list(_compile("relative").finditer(before))
    if not _SUBJECT_PRONOUN.match(text) or not (names or relatives):
        return None
    subject = relatives[-1][0] if relatives else _FULL_NAME.findall(before[: names[-1].end()])[-1]
    return exchange.capitalize(_SUBJECT_PRONOUN.sub(subject, text, count=1))


def _end(text: str) -> str:
    return text if text.endswith((".", "!", "?", "。")) else f"{text}."


def resolve_days(text: str, day: date) -> str:
    """Return a sentence with the date behind words like "tomorrow", or with the day on which it was said at its end.

    Args:
        text: A sentence.
        day: On which it was said.
    """

    at = 0
    for found, later in find_either(_drop_place(text), day):
        is_near = found.period == later.period and not (found.is_date or found.is_holiday or _DIGIT.search(found.text))
        start = text.find(found.text, at)
        weekday = any(names_weekday(found.text, number, found.language) for number in range(7))  # "passe vendredi"
        means_here = found.text.lower() == "hier" and detect_language(text) != found.language  # as in German and Dutch
        if start < 0 or not is_near or weekday or means_here or _find("unclear_day", found.text):
            continue
        if found.is_day or found.period.last == day:
            at = start + len(found.text)
            dated = f"{text[:at]} ({found.period.first.isoformat()})"
            text, at = f"{dated}{text[at:]}", len(dated)
    return f"{text.rstrip('.')} (said on {day.isoformat()})." if _find("unclear_day", text) else text


# ---- German, French and Spanish.
#
# Verbs stand in any place of a German sentence, and Spanish leaves out its subjects. So no phrase is looked for as in English: a
# clause is a fact if it speaks of the speaker's own world, holds words of one kind of fact, and none of a question, a request, a
# doubt or the work of the moment.

LANGUAGES = ("de", "fr", "es")
MIN_CLAUSE_WORDS = 2  # of a clause: "Soy carpintera"
MIN_SOLUTION_WORDS = 5  # "Jetzt geht es" names no cause
_OPENING_WORDS = 2  # "Chez nous": so few words are no clause of their own
_LASTING = frozenset({"standing", "decision", "correction", "habit"})  # kinds that words of the moment do not take away
_KEPT_AS = {"standing": "preference", "habit": "preference", "life": "fact", "plan": "fact", "value": "fact"}


def _read_foreign(sentence: str, language: str) -> tuple[str, str] | None:
    """Return kind and content of the fact that a sentence states; None if it states none.

    The clauses beside the fact are kept with it, but not questions and requests: "ich esse kein Fleisch, planst du das ein?".

    Args:
        sentence: Without words that only open or close it.
        language: One of `LANGUAGES`.
    """
    if compile_pattern(language, "doubt").search(sentence):
        return None
    if compile_pattern(language, "placed").search(sentence):  # "Hier nie Tabs benutzen"
        return "preference", sentence
    unsaid = compile_pattern(language, "unsaid")
    corrects = compile_pattern("messages", "correcting").match(sentence)
    if corrects:
        sentence = sentence[corrects.end() :]
    contrast, now = (compile_pattern("messages", name).search(sentence) for name in ("contrast", "now"))
    if (corrects or now) and contrast and not unsaid.search(sentence):
        return "correction", sentence
    clauses = [clause.strip() for clause in compile_pattern(language, "joints").split(sentence) if clause.strip()]
    opening = clauses[0] if len(clauses) > 1 and _count_words(clauses[0]) <= _OPENING_WORDS else None
    if opening and sentence.startswith(f"{opening},") and not corrects and not unsaid.search(opening):
        clauses[:2] = [f"{opening}, {clauses[1]}"]
    said = [unsaid.search(clause) is None for clause in clauses]
    follows = compile_pattern("messages", "consequence")
    for number, clause in enumerate(clauses):
        kind = next(_list_kinds(clause, language, said=said[number]), None)
        if kind is None:
            continue
        first, last = number, number
        while first and said[first - 1]:
            first -= 1
        while last + 1 < len(clauses) and (said[last + 1] or follows.search(clauses[last + 1])):
            last += 1
        if last - first + 1 < len(clauses) and not compile_pattern(language, "back").search(clause):
            sentence = ", ".join(clauses[first : last + 1])
        return "correction" if corrects and kind in ("fact", "preference") else kind, sentence
    whole = None if unsaid.search(sentence) else next(_list_kinds(sentence, language, said=True), None)
    return (whole, sentence) if whole else None  # "our new dentist, Dr. Lind, has moved to Ghent"


def _list_kinds(clause: str, language: str, *, said: bool) -> Iterator[str]:
    """Yield the kinds of fact that a clause may state, the surest first.

    Args:
        clause: Of a sentence without a doubt.
        language: One of `LANGUAGES`.
        said: It is neither a question nor a request; a standing instruction is a request, too.
    """
    if _count_words(clause) < MIN_CLAUSE_WORDS or "?" in clause:
        return
    own, passing = (compile_pattern(language, name).search(clause) for name in ("own", "passing"))
    for name in list_kinds(language):
        kind = name.removeprefix("own ")
        fits = (said or kind == "standing") and (own or kind == name) and (not passing or kind in _LASTING)
        if fits and compile_pattern(language, "kinds", name).search(clause):
            yield _KEPT_AS.get(kind, kind)
    if said and own and tells_end(clause):
        yield "correction"


def _tells_solution(sentence: str, language: str) -> bool:
    """Return True if a sentence names the cause of a problem, or what has cured it."""
    if _count_words(sentence) < MIN_SOLUTION_WORDS or "?" in sentence:
        return False
    doubted = language in LANGUAGES and compile_pattern(language, "doubt").search(sentence)
    return not doubted and any(compile_pattern(language, name).search(sentence) for name in ("solved", "cause"))


def _count_words(text: str) -> int:
    return len(_WORD.findall(text))
