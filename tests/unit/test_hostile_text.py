"""Hostile text: no pattern of the packages, and no function that reads strangers' text, takes quadratic time over it.

What takes little is passed at once; what takes longer must take about four times as long for four times the text.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import pkgutil
import re
from collections.abc import Callable, Iterator
from datetime import date
from types import ModuleType

import pytest

import memory_core
import memory_qmd
from memory_core.config.fields import parse_size_bytes
from memory_core.config.settings import Chunking
from memory_core.sources import notes, redaction, session_logs
from memory_core.text import (
    chunks,
    links,
    markdown,
    messages,
    names,
    paragraphs,
    periods,
    terms,
    tokens,
    units,
    wording,
)
from memory_qmd import queries
from tests.growth import MOST_GROWTH, measure_growth

ATOMS = (
    "a", "A", "aB", "1", "1a", "a1", "-", "_", ".", "/", " ", "\t", "\n", "#", "`", "~", "|", "*", ":", ",", "!",
    "?", '"', "'", "(", "[", "]", "{", "<", ">", "=", "$", "@", "…", "中", "年", "。", "é", "1.", "a.", "a ", "a-",
    "a/", "a:", "a.md", "/a.md", "--", "- ", "> ", "| ", "<!--", "<think>", "<think></think>", "NO_REPLY",
    "token ", "password ", "-----BEGIN ", "eyJa.", "ha", '\\"', "a:a@", "may ", "2020-", "phrase: ",
    "reply with ", "Source: ", "#L1", "x#L1-", "thank you ", "```\n", "- ```\n", "\r", "\x1b[",
)  # fmt: skip
# Patterns that are matched at one place of a text, and cannot say so themselves since that is not its beginning.
MATCHED_ONCE = {
    "memory_core.config.editing._REST_OF_LINE[0]",
    "memory_core.config.editing._STRING[0]",
    "memory_core.text.markdown._YAML_LINE[0]",
    "memory_core.text.names._ID[0]",
    "memory_core.text.terms._HASH[0]",
    "memory_core.text.tokens._CLAUSE_END[0]",
    "memory_core.text.tokens._SPACE[0]",
    "memory_core.text.units._LABEL[0]",
    "memory_core.upkeep.statements._OPENS_NEW[0]",
}
LENGTH = {"pattern": 4_000, "function": 12_000}
LITTLE_SECONDS = {"pattern": 0.05, "function": 0.2}


def load_modules() -> Iterator[ModuleType]:
    for package in (memory_core, memory_qmd):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if found.name.endswith("__main__"):
                continue
            try:
                yield importlib.import_module(found.name)
            except ImportError:  # of a host whose framework is not installed here
                if not found.name.startswith("memory_core.hosts."):
                    raise


def find_patterns(value: object) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        yield value
    elif isinstance(value, (tuple, list, set, frozenset)):
        for item in value:
            yield from find_patterns(item)
    elif isinstance(value, dict):
        yield from find_patterns(list(value.values()))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield from find_patterns([getattr(value, field.name) for field in dataclasses.fields(value)])
        yield from find_patterns([getattr(value, "pattern", None)])  # compiled when it is needed


def patterns() -> dict[str, re.Pattern[str]]:
    found: dict[tuple[str, int], tuple[str, re.Pattern[str]]] = {}
    for module in load_modules():
        for name, value in vars(module).items():
            for number, pattern in enumerate(find_patterns(value)):
                found.setdefault((pattern.pattern, pattern.flags), (f"{module.__name__}.{name}[{number}]", pattern))
    return dict(found.values())


def assert_linear(run: Callable[[str], object], kind: str) -> None:
    for atom in ATOMS:
        for end in ("", "!\x01"):

            def use(length: int, atom: str = atom, end: str = end) -> None:
                run(atom * (length // len(atom)) + end)

            growth = measure_growth(use, LENGTH[kind], little_seconds=LITTLE_SECONDS[kind])
            assert growth < MOST_GROWTH, (atom, end, growth)


def test_every_pattern_is_linear() -> None:
    slow = []
    for name, pattern in patterns().items():

        def use(text: str, name: str = name, pattern: re.Pattern[str] = pattern) -> None:
            pattern.match(text)
            pattern.fullmatch(text)
            for _ in () if name in MATCHED_ONCE else pattern.finditer(text):
                pass

        try:
            assert_linear(use, "pattern")
        except AssertionError as error:
            slow.append((name, pattern.pattern, error.args))
    assert not slow


def read_transcript(text: str) -> object:
    return session_logs.read_transcript([json.dumps({"role": "user", "content": text}).encode()])


def read_size(text: str) -> None:
    with pytest.raises(ValueError, match="expected a number of bytes"):
        parse_size_bytes(f"1{text}!")


FUNCTIONS: dict[str, Callable[[str], object]] = {
    "words": terms.extract_words,
    "parts": terms.split_question,
    "phrases": terms.extract_phrases,
    "identifiers": terms.extract_identifiers,
    "is_question": terms.is_question,
    "several": terms.asks_for_several,
    "file names": terms.extract_file_names,
    "cjk": terms.cut_cjk,
    "period": lambda text: periods.find_period(text, date(2026, 1, 1)),
    "units": units.split_units,
    "chunks": lambda text: chunks.split_chunks(text, Chunking()),
    "cut_long": lambda text: list(tokens.cut_long(text, 100)),
    "lines": lambda text: markdown.scan(["a", text, "| a", text]),
    "table": lambda text: markdown.scan(["a", f"{text}|{text}"]),
    "paragraphs": lambda text: paragraphs.split_paragraphs(paragraphs.clean(text)),
    "recalled": lambda text: paragraphs.fingerprint_recalled([text, f"a{text}b"]),
    "silent": messages.is_silent_reply,
    "note date": lambda text: notes.find_note_date("a.md", text),
    "redact": redaction.redact,
    "transcript": read_transcript,
    "size": read_size,
    "links": lambda text: [*links.find_links(links.read_lines(text.split("\n")).prose)],
    "one link": lambda text: [*links.find_links(links.read_lines([f"`{text}` <!-- {text} --> [[{text}]]"]).prose)],
    "blocks": lambda text: [*links.find_blocks(text.split("\n"))],
    "names": lambda text: [*names.find_names(text)],
    "spellings": lambda text: names.compile_spellings(["a - a", "aa", text[:200], "中"]).find_line(text),
    "name": names.make_key,
    "phrases of a name": names.split_phrases,
    "wording": lambda text: wording.Wording(text[:2000]).replace(f"{text} {text}", "-"),
    "a word": lambda text: [wording.Wording(each).replace(f"é{text}", "-") for each in ("a a", text[:1] * 9, "b")],
    "qmd words": queries.extract_words,
    "qmd text": queries.strip_syntax,
    "qmd version": lambda text: queries.parse_version(text.encode()),
}


@pytest.mark.parametrize("run", FUNCTIONS.values(), ids=FUNCTIONS)
def test_hostile_text_takes_linear_time(run: Callable[[str], object]) -> None:
    assert_linear(run, "function")
