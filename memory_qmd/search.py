"""One search of QMD: in the configured mode while that works, for words alone while it does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memory_core.errors import BackendUnavailable
from memory_core.records import Mode
from memory_core.threads import Cooldown
from memory_qmd.client import INDEX, RETRIES, QmdContext
from memory_qmd.database import Contents
from memory_qmd.home import unavailable
from memory_qmd.queries import PreparedQuestion, QmdRow, Scale, build_lines, join_lines
from memory_qmd.warm_server import WarmServer

OLD_WORDS = 3  # an old QMD is asked once for each word and collection


@dataclass(frozen=True, slots=True, kw_only=True)
class QmdAnswer:
    """The rows that QMD returned.

    Attributes:
        rows: In QMD's order.
        scale: The meaning of their scores.
        mode: The evidence that was used.
        warning: The reason why QMD was asked for words alone although more was configured; None if it was not.
        action: What to do about that; "" if nothing.
    """

    rows: Sequence[QmdRow]
    scale: Scale
    mode: Mode
    warning: str | None = None
    action: str = ""


class Searcher:
    """Searches in one agent's home."""

    def __init__(self, qmd: QmdContext, warm: WarmServer) -> None:
        self._client = qmd.client
        self._models = qmd.models
        self._mode = qmd.settings.search_mode
        self._warm = warm
        self.cooldown = Cooldown(RETRIES)

    def search(
        self,
        question: PreparedQuestion,
        names: Sequence[str],
        *,
        contents: Contents | None,
        limit: int,
        deadline: float,
    ) -> QmdAnswer:
        """Search in the configured mode, or for words alone if that mode cannot work now.

        Args:
            question: The question.
            names: The collections to search, which every search names.
            contents: The size of the index; None if it is not known.
            limit: The greatest number of rows of one search.
            deadline: `time.monotonic()` at which QMD is killed.

        Raises:
            BackendUnavailable: QMD gave no answer.
        """
        if self._mode == "search":
            return self._search_words(question, names, limit, deadline)
        problem = self._find_problem(contents, deadline)
        if problem is not None:
            answer = self._search_words(question, names, limit, deadline)
            warning = f"QMD searched for words only, not by meaning: {problem.reason}"
            return replace(answer, warning=warning, action=problem.action)
        try:
            answer = self._search_meaning(question, names, limit, deadline)
        except BackendUnavailable as error:
            self.cooldown.record_failure(error.reason)
            raise
        self.cooldown.record_success()
        return answer

    def _find_problem(self, contents: Contents | None, deadline: float) -> BackendUnavailable | None:
        """Return the reason why the configured mode cannot work now; None if it can."""
        typed_lines = self._client.takes_typed_lines(deadline=deadline)
        problems = self._models.find_problems(self._mode, typed_lines=typed_lines)
        if problems:
            return problems[0]
        if contents is not None and not contents.embedded:
            return unavailable("its index has no embeddings yet", action=INDEX)
        return None if (reason := self.cooldown.reason) is None else unavailable(reason)

    def _search_words(self, question: PreparedQuestion, names: Sequence[str], limit: int, deadline: float) -> QmdAnswer:
        lines = build_lines(question, by_meaning=False)
        if not lines:
            return QmdAnswer(rows=(), scale="words", mode="keyword")
        rows = self._warm.search_words(lines, names, limit, deadline)
        if rows is None and self._client.takes_typed_lines(deadline=deadline):
            command = ["query", "--no-rerank", *_build_options(names, limit)]
            rows = self._client.search(command, join_lines(lines), deadline=deadline)
        elif rows is None:
            rows = self._search_one_by_one(question.known[:OLD_WORDS], names, limit, deadline)
        return QmdAnswer(rows=rows, scale="words", mode="keyword")

    def _search_one_by_one(
        self, words: Sequence[str], names: Sequence[str], limit: int, deadline: float
    ) -> list[QmdRow]:
        """Search for each word in each collection and keep each file's first row.

        For a QMD that joins words with AND and takes one collection only.
        """
        found: dict[tuple[str, str], QmdRow] = {}
        for word in words:
            for name in names:
                for row in self._client.search(["search", *_build_options([name], limit)], word, deadline=deadline):
                    found.setdefault((row.collection, row.path), row)
        return list(found.values())

    def _search_meaning(
        self, question: PreparedQuestion, names: Sequence[str], limit: int, deadline: float
    ) -> QmdAnswer:
        if not self._client.takes_typed_lines(deadline=deadline):
            return self._search_each_collection(question, names, limit, deadline)
        options = ["--explain", *_build_options(names, limit)]
        if self._mode == "vsearch":
            lines = build_lines(question, by_meaning=True)
            rows = self._warm.search_meaning(lines, names, limit, deadline)
            if rows is None:
                rows = self._client.search(["query", "--no-rerank", *options], join_lines(lines), deadline=deadline)
            return QmdAnswer(rows=rows, scale="explained", mode="hybrid")
        rows = self._warm.search_reranked(question.text, names, limit, deadline)
        if rows is None:
            rows = self._client.search(["query", *options], question.text, deadline=deadline)
        return QmdAnswer(rows=rows, scale="blend", mode="hybrid")

    def _search_each_collection(
        self, question: PreparedQuestion, names: Sequence[str], limit: int, deadline: float
    ) -> QmdAnswer:
        """Search one collection after the other, with a QMD that takes no typed lines."""
        found: list[QmdRow] = []
        for name in names:
            found += self._client.search([self._mode, *_build_options([name], limit)], question.text, deadline=deadline)
        rows = sorted(found, key=lambda row: -row.score)
        if self._mode == "vsearch":
            return QmdAnswer(rows=rows, scale="cosine", mode="vector")
        return QmdAnswer(rows=rows, scale="blend", mode="hybrid")


def _build_options(names: Sequence[str], limit: int) -> list[str]:
    return ["-n", str(limit), *(word for name in names for word in ("-c", name))]
