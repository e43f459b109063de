"""Ask QMD one question, in the configured mode while that works, in words alone while it does not."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from memory_core.errors import BackendUnavailable
from memory_core.records import Mode
from memory_qmd.client import Client
from memory_qmd.config import SearchMode
from memory_qmd.database import Contents
from memory_qmd.meaning import Scale
from memory_qmd.models import Models
from memory_qmd.output import Row
from memory_qmd.questions import Question, document, typed

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 60.0, 3600.0
OLD_WORDS = 3  # an old QMD is asked once a word and collection


class Warm(Protocol):
    """A warm server: rows for a question in collections, at most so many; None when QMD is to be run instead."""

    def words(
        self, lines: Sequence[tuple[str, str]], names: Sequence[str], limit: int, deadline: float
    ) -> list[Row] | None:
        """For typed lines without a "vec" one."""

    def meaning(
        self, lines: Sequence[tuple[str, str]], names: Sequence[str], limit: int, deadline: float
    ) -> list[Row] | None:
        """For any typed lines, with cosines."""

    def reranked(self, text: str, names: Sequence[str], limit: int, deadline: float) -> list[Row] | None:
        """For a question as it was asked, expanded and with the reranker's judgement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What QMD said.

    Attributes:
        rows: In its order.
        scale: What their scores mean.
        mode: Which evidence was used.
        warning: Why it was asked in words alone although more was configured; None when it was not.
    """

    rows: Sequence[Row]
    scale: Scale
    mode: Mode
    warning: str | None = None


class Demotion:
    """Keeps a mode that failed from being tried for a pause, which doubles with every failure in a row."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._until = 0.0
        self._reason = ""

    def reason(self) -> str | None:
        """Why the mode is not to be tried now; None when it is."""
        with self._lock:
            return self._reason if self._clock() < self._until else None

    def failed(self, reason: str) -> None:
        """The mode was tried in vain."""
        with self._lock:
            pause = min(FIRST_PAUSE_SECONDS * 2**self._failures, LONGEST_PAUSE_SECONDS)
            self._failures += 1
            self._reason, self._until = reason, self._clock() + pause

    def succeeded(self) -> None:
        """The mode works."""
        with self._lock:
            self._failures, self._until = 0, 0.0


class Asker:
    """Asks in one agent's home."""

    def __init__(self, client: Client, models: Models, mode: SearchMode, warm: Warm) -> None:
        self._client = client
        self._models = models
        self._mode = mode
        self._warm = warm
        self.demotion = Demotion()

    def ask(
        self, question: Question, names: Sequence[str], *, contents: Contents | None, limit: int, deadline: float
    ) -> Answer:
        """Rows for a question.

        Args:
            question: Made ready.
            names: The collections to search; every search names them.
            contents: What the index holds; None when that is not known.
            limit: At most so many rows a search.
            deadline: `time.monotonic()` at which QMD is killed.

        Raises:
            BackendUnavailable: It gave no answer.
        """
        if self._mode == "search":
            return self._words(question, names, limit, deadline)
        why_not = self._why_not(contents)
        if why_not is not None:
            answer = self._words(question, names, limit, deadline)
            warning = f"QMD searched for words only, not by meaning: {why_not}"
            return Answer(rows=answer.rows, scale=answer.scale, mode=answer.mode, warning=warning)
        try:
            answer = self._meaning(question, names, limit, deadline)
        except BackendUnavailable as error:
            self.demotion.failed(error.reason)
            raise
        self.demotion.succeeded()
        return answer

    def _why_not(self, contents: Contents | None) -> str | None:
        """Why the configured mode cannot be asked now."""
        if contents is not None and not contents.vectors:
            return "its index has no embeddings yet"
        problems = self._models.problems(self._mode, typed=self._client.typed())
        return problems[0] if problems else self.demotion.reason()

    def _words(self, question: Question, names: Sequence[str], limit: int, deadline: float) -> Answer:
        lines = typed(question, by_meaning=False)
        if not lines:
            return Answer(rows=(), scale="words", mode="keyword")
        rows = self._warm.words(lines, names, limit, deadline)
        if rows is None and self._client.typed():
            command = ["query", "--no-rerank", *_options(names, limit)]
            rows = self._client.search(command, document(lines), deadline=deadline)
        elif rows is None:
            rows = self._one_by_one(question.known[:OLD_WORDS], names, limit, deadline)
        return Answer(rows=rows, scale="words", mode="keyword")

    def _one_by_one(self, words: Sequence[str], names: Sequence[str], limit: int, deadline: float) -> list[Row]:
        """For a QMD that joins words with AND and takes one collection: each word in each, a file's first row each."""
        found: dict[tuple[str, str], Row] = {}
        for word in words:
            for name in names:
                for row in self._client.search(["search", *_options([name], limit)], word, deadline=deadline):
                    found.setdefault((row.collection, row.path), row)
        return list(found.values())

    def _meaning(self, question: Question, names: Sequence[str], limit: int, deadline: float) -> Answer:
        if not self._client.typed():
            return self._one_collection_a_time(question, names, limit, deadline)
        options = ["--explain", *_options(names, limit)]
        if self._mode == "vsearch":
            lines = typed(question, by_meaning=True)
            rows = self._warm.meaning(lines, names, limit, deadline)
            if rows is None:
                rows = self._client.search(["query", "--no-rerank", *options], document(lines), deadline=deadline)
            return Answer(rows=rows, scale="explained", mode="hybrid")
        rows = self._warm.reranked(question.text, names, limit, deadline)
        if rows is None:
            rows = self._client.search(["query", *options], question.text, deadline=deadline)
        return Answer(rows=rows, scale="blend", mode="hybrid")

    def _one_collection_a_time(self, question: Question, names: Sequence[str], limit: int, deadline: float) -> Answer:
        """For a QMD that takes no typed lines."""
        found: list[Row] = []
        for name in names:
            found += self._client.search([self._mode, *_options([name], limit)], question.text, deadline=deadline)
        rows = sorted(found, key=lambda row: -row.score)
        if self._mode == "vsearch":
            return Answer(rows=rows, scale="cosine", mode="vector")
        return Answer(rows=rows, scale="blend", mode="hybrid")


def _options(names: Sequence[str], limit: int) -> list[str]:
    return ["-n", str(limit), *(word for name in names for word in ("-c", name))]
