"""What each part of the search brings, on every set: the product as it comes beside the product without the part.

`python -m tests.benchmarks.retrieval DATA --ablation` prints two tables. The first has the share of evidence that is seen, of
every set and of sets whose workspaces are searched as one, and what is seen more or less without each part of the ranking; an
asterisk stands where the 95 % interval of a paired bootstrap excludes 0. The second has what passes the gate without its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from unittest import mock

from memory_core.config.settings import SearchSettings
from memory_core.search import passages, question, scores, similarity
from memory_core.text import chunks
from tests.benchmarks.gates import Passed
from tests.benchmarks.measuring import Figures, Workspace, evaluate, interval
from tests.benchmarks.systems import OFFLINE

STATIC, KEYWORD = OFFLINE.values()
Patch = tuple[object, str, object]


@dataclass(frozen=True)
class Part:
    """A part of the search, and how it is taken out.

    Attributes:
        name: In the table.
        patches: (module, constant, value) of what is replaced.
        settings: Of the system that lacks it.
        cut: It changes how notes are cut, so that the index is another one.
    """

    name: str
    patches: Sequence[Patch] = ()
    settings: SearchSettings = STATIC
    cut: bool = False


RANKING = (
    Part("passages of several units: one line each", [(passages, "SPAN", -1)]),
    Part("all vectors", settings=KEYWORD),
    Part("late interaction of tokens", [(scores, "WITH_TABLE", scores.WITHOUT_TOKENS)]),
    Part("cosines of windows", [(scores, "WITH_TABLE", (0.0, 1.0))]),
    Part("a quarter of late interaction with the whole chunk", [(similarity, "AROUND", 0.0)]),
    Part("BM25 of chunks", [(scores, "UNIT_SHARE", 1.0)]),
    Part("BM25 of units", [(scores, "UNIT_SHARE", 0.0)]),
    Part("dates in questions", [(scores, "PERIOD_BONUSES", ())]),
    Part("lines of the other speaker rank lower", [(scores, "OTHER_SPEAKER", 0.0)]),
    Part("units without a word of the question open no passage", [(scores, "NEAR_BEST", 0.0)]),
    Part("sharing of room in lists of more than six results", [(passages, "SHARED", 100)]),
    Part("cutting of long lines where sentences begin", [(chunks, "find_sentence_starts", lambda *_: [])], cut=True),
    Part(
        "distance takes nothing from statements",
        [(scores, "LEAST_NEARNESS", dict.fromkeys(scores.LEAST_NEARNESS, -0.4))],
    ),
    Part("single characters of CJK statements", [(question, "CHARACTERS_AMONG", 0)]),
    Part("the static model's share in CJK", [(scores, "TABLE_SHARE", 1.0), (scores, "TABLE_TOKEN_SHARE", 1.0)]),
    Part(
        "hits of a statement score as the best",
        [(scores, "LEAST_OF_BEST", dict.fromkeys(scores.LEAST_OF_BEST, 0.0))],
    ),
)
_GATE: Mapping[str, Sequence[Patch]] = {
    "kinds of question": [(question, "classify", lambda _: "question")],
    "the lower exponent of statements": [(scores, "STATEMENT_LESS", 0.0), (scores, "CJK_STATEMENT_LESS", 0.0)],
    "the higher exponent of lists": [(scores, "LIST_EXPONENT", 0.0)],
    "distance that speaks against a chunk": [(scores, "LEAST_NEARNESS", dict.fromkeys(scores.LEAST_NEARNESS, 0.0))],
    "growth of chance": [(scores, "EXPONENT_GROWTH", 0.0)],
    "the lower exponent of CJK": [(scores, "CJK_EXPONENT", 1.0)],
    "function pairs of CJK weigh less": [(scores, "FUNCTIONAL_SHARE", 1.0)],
    "the static model's share in CJK": [(scores, "TABLE_SHARE", 1.0)],
    "characters of a statement as evidence": [(scores, "CHARACTER_EVIDENCE", 0.0)],
    "hits of a statement score as the best": [(scores, "LEAST_OF_BEST", dict.fromkeys(scores.LEAST_OF_BEST, 0.0))],
    "identifiers": [(scores, "IDENTIFIED", 0.0)],
}
GATE = tuple(Part(name, patches) for name, patches in _GATE.items())
WHOLE = Part("(nothing)")
Sets = Sequence[tuple[str, Sequence[Workspace]]]


def tables(sets: Sets, state: Path, report: Callable[[str], None]) -> Iterator[str]:
    """Measure every set without each part, and yield the two tables as Markdown.

    Args:
        sets: Names and workspaces.
        state: Where the indexes are kept.
        report: Is told what is being measured.
    """
    seen: dict[str, list[str]] = {}
    passing: dict[str, list[str]] = {}
    for name, workspaces in sets:
        report(name)
        whole, gate = _measure(workspaces, state, WHOLE, probing=True)
        rows = {WHOLE.name: f"{_mean(whole):.3f}"}
        rows |= {part.name: _differ(_measure(workspaces, state, part, probing=False)[0], whole) for part in RANKING}
        for part, cell in rows.items():
            seen.setdefault(part, []).append(cell)
        if any(each.probes for each in workspaces):
            gates = {WHOLE.name: gate}
            gates |= {part.name: _measure(workspaces, state, part, probing=True)[1] for part in GATE}
            for part, passed in gates.items():
                passing.setdefault(part, []).append(_describe(passed))
    yield _table("seen without", [name for name, _ in sets], seen)
    probed = [name for name, workspaces in sets if any(each.probes for each in workspaces)]
    yield _table(
        "own that find nothing / lists / foreign / salad or ideographs that find something, without", probed, passing
    )


def _measure(
    workspaces: Sequence[Workspace], state: Path, part: Part, *, probing: bool
) -> tuple[list[Figures], Passed]:
    passed, figures = Passed(), []
    with ExitStack() as stack:
        for patch in part.patches:
            stack.enter_context(mock.patch.object(*patch))
        for each in workspaces:
            probes = replace(each.probes, letters=(), said=()) if probing and each.probes else None
            workspace = replace(each, probes=probes)
            folder = state / f"{each.key}-{part.settings.provider}{'-otherwise-cut' if part.cut else ''}"
            figures += evaluate(workspace, folder, part.settings, passed, quick=True)
    return figures, passed


def _mean(figures: Sequence[Figures]) -> float:
    return sum(each.seen for each in figures) / len(figures)


def _differ(without: Sequence[Figures], whole: Sequence[Figures]) -> str:
    """Return how much more is seen without a part, with an asterisk if that is no chance."""
    ours, theirs = ([each.seen for each in figures] for figures in (without, whole))
    if ours == theirs:
        return "0"
    difference, low, high = interval(ours, theirs)
    return f"{difference:+.3f}{'*' if low > 0 or high < 0 else ''}".replace("0.", ".")


def _describe(passed: Passed) -> str:
    odd = passed.share("shuffled") if passed.shuffled[0] else passed.share("salad")
    shares = (passed.share("own"), passed.share("lists"), passed.share("foreign"), odd)
    return " / ".join(f"{share:.2f}".removeprefix("0") for share in shares)


def _table(title: str, columns: Sequence[str], rows: Mapping[str, Sequence[str]]) -> str:
    lines = [f"| {title} | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    return "\n".join([*lines, *(f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items())])
