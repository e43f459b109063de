"""What passes the default minScore in the workspaces of every set: a line for each set and system.

own       share of the judged questions that find nothing
lists     the same of their bare words, without those that only build sentences
foreign   share of questions of the other sets in the same script that find something; at most 200 for all workspaces
          of a set, but 10 for each
shuffled  the same of 150 texts of ideographs of the set, in any order (CJK sets only)
letters   the same of 150 texts of pseudo-words and of letters of other alphabets
salad     the same of 150 texts of unconnected everyday words
said      the same of up to 200 statements of the other sets in the same script: the short ones among their lines of evidence

A list of words in CJK is the question without its hiragana and the characters of `FUNCTIONAL`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache

from memory_core.text.terms import classify, extract_words
from tests.benchmarks.judged import Judged
from tests.benchmarks.nonsense import EVERYDAY_WORDS, gibberish, pseudo_words, word_salad

FOREIGN, LEAST, ODD = 200, 10, 150
MOST_SAID = 140  # characters of a statement: a message, not a paragraph
FUNCTIONAL = re.compile("[的了是在什么哪谁几多少何为怎样吗呢吧个\\u3041-\\u309f？?。、，,]+")
_HAN = re.compile("[\u3400-\u9fff]")
_CJK = re.compile("[\\u3041-\\u30ff\\u3400-\\u9fff]")


@dataclass(frozen=True)
class Probes:
    """Texts to ask in one workspace, by kind."""

    lists: Sequence[str]
    foreign: Sequence[str]
    shuffled: Sequence[str]
    letters: Sequence[str]
    salad: Sequence[str]
    said: Sequence[str]


@dataclass
class Passed:
    """For every kind of text, how many were asked and how many found something."""

    own: tuple[int, int] = (0, 0)
    lists: tuple[int, int] = (0, 0)
    foreign: tuple[int, int] = (0, 0)
    shuffled: tuple[int, int] = (0, 0)
    letters: tuple[int, int] = (0, 0)
    salad: tuple[int, int] = (0, 0)
    said: tuple[int, int] = (0, 0)

    def add(self, kind: str, asked: int, found: int) -> None:
        before = getattr(self, kind)
        setattr(self, kind, (before[0] + asked, before[1] + found))

    def __str__(self) -> str:
        return "  ".join(f"{each.name} {self.show(each.name)}" for each in fields(self))

    def share(self, kind: str) -> float:
        """Return the share of texts of a kind that went wrong: own and lists find nothing, the others something."""
        asked, found = self._counts(kind)
        return (asked - found if kind in {"own", "lists"} else found) / asked

    def show(self, kind: str) -> str:
        """Return that share, or a dash where none was asked."""
        return f"{self.share(kind):.3f}" if self._counts(kind)[0] else "   -"

    def _counts(self, kind: str) -> tuple[int, int]:
        counts: tuple[int, int] = getattr(self, kind)
        return counts


def is_cjk(questions: Sequence[Judged]) -> bool:
    """True if most of the questions are written in CJK characters."""
    return 2 * sum(bool(_CJK.search(each.text)) for each in questions) > len(questions)


def probes(
    name: str, number: int, workspaces: int, sets: Mapping[str, Sequence[Judged]], own: Sequence[Judged]
) -> Probes:
    """The texts for one workspace of a set; the same in every run.

    Args:
        name: Of the set.
        number: Of the workspace in it.
        workspaces: Of the set.
        sets: All questions of every set.
        own: The questions of the workspace.
    """
    rng = random.Random(f"{name}/{number}")
    cjk = is_cjk(sets[name])
    strangers = [each for other in sets if other != name and is_cjk(sets[other]) is cjk for each in sets[other]]
    others = [each.text for each in strangers]
    said = sorted({text for each in strangers for text in each.evidence if _is_short_statement(text)})
    odd = -(-ODD // workspaces)
    marks = [mark for each in own for mark in _HAN.findall(each.text)] if cjk else []
    return Probes(
        lists=[word_list(each.text) for each in own],
        foreign=rng.sample(others, min(max(FOREIGN // workspaces, LEAST), len(others))),
        shuffled=["".join(rng.choices(marks, k=rng.randint(8, 20))) for _ in range(odd)] if marks else [],
        letters=[(pseudo_words, gibberish)[index % 2](rng) for index in range(odd)],
        salad=[word_salad(rng, EVERYDAY_WORDS) for _ in range(odd)],
        said=rng.sample(said, min(max(FOREIGN // workspaces, LEAST), len(said))),
    )


def _is_short_statement(text: str) -> bool:
    return len(text) <= MOST_SAID and classify(text) == "statement"


@cache
def word_list(text: str) -> str:
    """The bare words of a question."""
    if _CJK.search(text):
        return " ".join(part for part in FUNCTIONAL.split(text) if part)
    return " ".join(word for word in re.findall(r"\w+", text) if extract_words(word))
