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
from memory_qmd.queries import Bounds, PreparedQuestion, QmdRow, Scale, build_lines, join_lines
from memory_qmd.warm_server import Route, WarmServer

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
        self._qmd = qmd
        self._warm = warm
        self.cooldown = Cooldown(RETRIES)

    def search(self, question: PreparedQuestion, bounds: Bounds, *, contents: Contents | None) -> QmdAnswer:
        """Search in the configured mode, or for words alone if that mode cannot work now.

        Args:
            question: The question.
            bounds: Of each search of QMD.
            contents: The size of the index; None if it is not known.

        Raises:
            BackendUnavailable: QMD gave no answer.
        """
        if self._qmd.settings.search_mode == "search":
            return self._search_words(question, bounds)
        problem = self._find_problem(contents, bounds.deadline)
        if problem is not None:
            answer = self._search_words(question, bounds)
            warning = f"QMD searched for words only, not by meaning: {problem.reason}"
            return replace(answer, warning=warning, action=problem.action)
        try:
            answer = self._search_meaning(question, bounds)
        except BackendUnavailable as error:
            self.cooldown.record_failure(error.reason)
            raise
        self.cooldown.record_success()
        return answer

    def _find_problem(self, contents: Contents | None, deadline: float) -> BackendUnavailable | None:
        """Return the reason why the configured mode cannot work now; None if it can."""
        typed_lines = self._qmd.client.takes_typed_lines(deadline=deadline)
        problems = self._qmd.models.find_problems(self._qmd.settings.search_mode, typed_lines=typed_lines)
        if problems:
            return problems[0]
        if contents is not None and not contents.embedded:
            return unavailable("its index has no embeddings yet", action=INDEX)
        return None if (reason := self.cooldown.reason) is None else unavailable(reason)

    def _search_words(self, question: PreparedQuestion, bounds: Bounds) -> QmdAnswer:
        lines = build_lines(question, by_meaning=False)
        rows = self._ask("/query", lines, bounds) if lines else []
        if rows is None:
            rows = self._ask_old("search", question.known[:OLD_WORDS], bounds)
        return QmdAnswer(rows=rows, scale="words", mode="keyword")

    def _search_meaning(self, question: PreparedQuestion, bounds: Bounds) -> QmdAnswer:
        reranks = self._qmd.settings.search_mode == "query"
        lines = question.text if reranks else build_lines(question, by_meaning=True)
        rows = None
        if self._qmd.client.takes_typed_lines(deadline=bounds.deadline):
            rows = self._ask("/evidence", lines, bounds)
        if rows is not None:
            return QmdAnswer(rows=rows, scale="blend" if reranks else "explained", mode="hybrid")
        rows = self._ask_old(self._qmd.settings.search_mode, [question.text], bounds)
        rows.sort(key=lambda row: -row.score)
        return QmdAnswer(rows=rows, scale="blend" if reranks else "cosine", mode="hybrid" if reranks else "vector")

    def _ask(self, route: Route, asked: str | Sequence[tuple[str, str]], bounds: Bounds) -> list[QmdRow] | None:
        """Ask the warm server, else run QMD; None if this QMD takes no typed lines. See `WarmServer.search`."""
        rows, deadline = self._warm.search(route, asked, bounds), bounds.deadline
        if rows is not None or not self._qmd.client.takes_typed_lines(deadline=deadline):
            return rows
        options = [*(["--explain"] if route == "/evidence" else []), *_build_options(bounds.names, bounds.limit)]
        if isinstance(asked, str):
            return self._qmd.client.search(["query", *options], asked, deadline=deadline)
        return self._qmd.client.search(["query", "--no-rerank", *options], join_lines(asked), deadline=deadline)

    def _ask_old(self, command: str, texts: Sequence[str], bounds: Bounds) -> list[QmdRow]:
        """Search for each text in each collection and keep each file's first row.

        For a QMD that joins words with AND and takes one collection only.
        """
        found: dict[tuple[str, str], QmdRow] = {}
        for text in texts:
            for name in bounds.names:
                options = _build_options([name], bounds.limit)
                for row in self._qmd.client.search([command, *options], text, deadline=bounds.deadline):
                    found.setdefault((row.collection, row.path), row)
        return list(found.values())


def _build_options(names: Sequence[str], limit: int) -> list[str]:
    return ["-n", str(limit), *(word for name in names for word in ("-c", name))]
