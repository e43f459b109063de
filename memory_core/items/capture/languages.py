"""Facts stated in German, French and Spanish, and solutions of problems, found by the patterns in grammars.toml. Pure.

Verbs stand in any place of a German sentence, and Spanish leaves out its subjects. So no phrase is looked for as in English: a
clause is a fact if it speaks of the speaker's own world, holds words of one kind of fact, and none of a question, a request, a
doubt or the work of the moment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_core.items.grammar import compile_pattern, list_kinds
from memory_core.text.tense import tells_end

LANGUAGES = ("de", "fr", "es")
MIN_WORDS = 2  # of a clause: "Soy carpintera"
MIN_SOLUTION_WORDS = 5  # "Jetzt geht es" names no cause
_OPENING_WORDS = 2  # "Chez nous": so few words are no clause of their own
_WORD = re.compile(r"\w+")
_LASTING = frozenset({"standing", "decision", "correction", "habit"})  # kinds that words of the moment do not take away
_KEPT_AS = {"standing": "preference", "habit": "preference", "life": "fact", "plan": "fact"}


def read_statement(sentence: str, language: str) -> tuple[str, str] | None:
    """Return kind and content of the fact that a sentence states; None if it states none.

    The clauses beside the fact are kept with it, but not questions and requests: "ich esse kein Fleisch, planst du das ein?".

    Args:
        sentence: Without words that only open or close it.
        language: One of `LANGUAGES`.
    """
    if compile_pattern(language, "doubt").search(sentence):
        return None
    unsaid = compile_pattern(language, "unsaid")
    corrects = compile_pattern("messages", "correcting").match(sentence)
    if corrects:
        sentence = sentence[corrects.end() :]
    contrast, now = (compile_pattern("messages", name).search(sentence) for name in ("contrast", "now"))
    if (corrects or now) and contrast and not unsaid.search(sentence):
        return "correction", sentence
    clauses = [clause.strip() for clause in compile_pattern(language, "joints").split(sentence) if clause.strip()]
    opening = clauses[0] if len(clauses) > 1 and _count_words(clauses[0]) <= _OPENING_WORDS else None
    if opening and not unsaid.search(opening):
        clauses[:2] = [f"{opening}, {clauses[1]}"]
    said = [unsaid.search(clause) is None for clause in clauses]
    for number, clause in enumerate(clauses):
        kind = next(_list_kinds(clause, language, said=said[number]), None)
        if kind is None:
            continue
        first, last = number, number
        while first and said[first - 1]:
            first -= 1
        while last + 1 < len(clauses) and said[last + 1]:
            last += 1
        if last - first + 1 < len(clauses) and not compile_pattern(language, "back").search(clause):
            sentence = ", ".join(clauses[first : last + 1])
        return "correction" if corrects and kind == "fact" else kind, sentence
    return None


def _list_kinds(clause: str, language: str, *, said: bool) -> Iterator[str]:
    """Yield the kinds of fact that a clause may state, the surest first.

    Args:
        clause: Of a sentence without a doubt.
        language: One of `LANGUAGES`.
        said: It is neither a question nor a request; a standing instruction is a request, too.
    """
    if _count_words(clause) < MIN_WORDS or "?" in clause:
        return
    own, passing = (compile_pattern(language, name).search(clause) for name in ("own", "passing"))
    for name in list_kinds(language):
        kind = name.removeprefix("own ")
        fits = (said or kind == "standing") and (own or kind == name) and (not passing or kind in _LASTING)
        if fits and compile_pattern(language, "kinds", name).search(clause):
            yield _KEPT_AS.get(kind, kind)
    if said and own and tells_end(clause):
        yield "correction"


def tells_problem(sentence: str, language: str) -> bool:
    """Return True if a sentence may tell a problem."""
    return compile_pattern(language, "problem").search(sentence) is not None


def tells_solution(sentence: str, language: str) -> bool:
    """Return True if a sentence names the cause of a problem, or what has cured it."""
    if _count_words(sentence) < MIN_SOLUTION_WORDS or "?" in sentence:
        return False
    doubted = language in LANGUAGES and compile_pattern(language, "doubt").search(sentence)
    return not doubted and compile_pattern(language, "solved").search(sentence) is not None


def _count_words(text: str) -> int:
    return len(_WORD.findall(text))
