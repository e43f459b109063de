"""The provider `local`: a model on this machine. A GGUF file, or one on a Hugging Face hub that is downloaded first, is computed
by llama.cpp, a BERT in a folder or in an installed package by numpy.

The model is opened in a thread, at the first call: a query waits for it, or for its download, no longer than its deadline.
The model computes for one caller at a time; a query goes before the next texts of a backfill.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from memory_core.config.agent import AgentConfig
from memory_core.config.environment import expand_home
from memory_core.embeddings import vectors
from memory_core.embeddings.local.hub import HubFile, fetch
from memory_core.embeddings.local.model import PACKAGE, Computed, Model, find_model_file, find_weights, is_package
from memory_core.embeddings.models import Plan, make_plan
from memory_core.embeddings.protocols import (
    Deadline,
    TextKind,
    TokenEmbedding,
    blame_texts,
    find_runs,
    list_failures,
    make_unusable,
    summarise,
)
from memory_core.errors import InvalidEmbedding, ProviderError, RequestTimeout
from memory_core.records import Space
from memory_core.threads import NoAnswer, start_call, wait_for

if TYPE_CHECKING:
    from memory_core.embeddings.vectors import Row, Rows


# Bytes hashed at the beginning, the middle and the end of a model file to tell it from others of its size.
_SAMPLE_BYTES = 1 << 16
# How long close() waits for the texts that are being computed.
_CLOSE_SECONDS = 30.0


def open_provider(config: AgentConfig, *, environ: Mapping[str, str]) -> LocalProvider:
    """Open the provider for `memorySearch.local`. Opens no model and downloads nothing yet.

    Raises:
        ProviderUnavailable: `modelPath` is no file, no folder, no package and no hf: URI.
    """
    path = find_model_file(config)
    plan = _plan_model(config, path)
    source = path or HubFile.parse(plan.space.model)
    folder = config.search.local.model_cache_dir
    return LocalProvider(
        plan,
        source,
        folder=config.workspace / expand_home(folder) if folder else config.state_dir / "models",
        endpoint=environ.get("HF_ENDPOINT"),
        context_tokens=config.search.local.context_tokens,
    )


def _plan_model(config: AgentConfig, path: Path | None) -> Plan:
    """Name the model by its file, folder, package or URI; samples of its content tell it from another of that name."""
    configured = config.search.local.model_path
    name = (
        configured.removeprefix(PACKAGE).replace("_", "-") if path and configured and is_package(configured) else None
    )
    named = replace(config, search=replace(config.search, model=name or (path.name if path else configured)))
    return make_plan(named, "local", endpoint=_hash_samples(find_weights(path)) if path else "")


def _hash_samples(path: Path) -> str:
    size = path.stat().st_size
    digest = hashlib.blake2s(str(size).encode(), digest_size=6)
    with path.open("rb") as file:
        for start in (0, size // 2, max(0, size - _SAMPLE_BYTES)):
            file.seek(start)
            digest.update(file.read(_SAMPLE_BYTES))
    return digest.hexdigest()


class LocalProvider:
    """An `EmbeddingProvider` on a model in this process. The constructor opens nothing."""

    def __init__(
        self, plan: Plan, source: Path | HubFile, *, folder: Path, endpoint: str | None, context_tokens: int | None
    ) -> None:
        self._plan = plan
        self._space = plan.space
        self._source = source
        self._folder = folder
        self._endpoint = endpoint
        self._context_tokens = context_tokens
        self._turns = Turns()
        self._opening: Future[Model] | None = None
        self._lock = threading.Lock()
        self._stop = threading.Event()

    @property
    def space(self) -> Space:
        """The space of its vectors; its dimensions are known at the latest when the model is open."""
        return self._space

    def embed_documents(self, texts: Sequence[str]) -> Iterator[tuple[int, Rows]]:
        """See `EmbeddingProvider`; yields rows for a few texts at a time."""
        import numpy as np

        for first, found in self.embed_document_tokens([[text] for text in texts]):
            yield first, np.stack([embedding.row for embedding in found])

    def embed_document_tokens(self, texts: Sequence[Sequence[str]]) -> Iterator[tuple[int, list[TokenEmbedding]]]:
        """See `TokenEmbedder`; yields embeddings of a few texts at a time."""
        failures: list[ProviderError] = []
        few = self._plan.provider.max_items
        for start in range(0, len(texts), few):
            found = blame_texts(self._embed(texts[start : start + few], "document", Deadline()))
            outcomes = dict(enumerate(found, start))
            failures += list_failures(outcomes)
            yield from find_runs(outcomes)
        if failures:
            raise summarise(failures, len(texts))

    def embed_query(self, text: str, *, timeout_seconds: float | None = None) -> Row:
        """See `EmbeddingProvider`."""
        return self.embed_query_tokens([text], timeout_seconds=timeout_seconds).row

    def embed_query_tokens(self, parts: Sequence[str], *, timeout_seconds: float | None = None) -> TokenEmbedding:
        """See `TokenEmbedder`."""
        (outcome,) = self._embed([parts], "query", Deadline.until(timeout_seconds))
        if isinstance(outcome, ProviderError):
            raise outcome
        return outcome

    def close(self) -> None:
        """Stop a download, wait for the texts that are being computed, free the model."""
        self._stop.set()
        with self._lock:
            opening, self._opening = self._opening, None
        if opening is not None:
            opening.add_done_callback(self._free)  # at once when it is open, else where it is opened

    def _embed(
        self, texts: Sequence[Sequence[str]], kind: TextKind, deadline: Deadline
    ) -> list[TokenEmbedding | ProviderError]:
        """Return each text's outcome; for a text too long for the model the mean of its stretches, weighted by their tokens."""
        model = self._wait_for_model(deadline)
        with self._take_turn(kind, deadline):
            cuts = [self._cut(model, parts, kind) for parts in texts]
        made = iter(self._compute(model, [stretch for cut in cuts for stretch in cut.stretches], kind, deadline))
        return [self._combine([next(made) for _ in cut.stretches], cut) for cut in cuts]

    def _cut(self, model: Model, parts: Sequence[str], kind: TextKind) -> _Cut:
        """Cut a text's tokens where the model's limit demands it; every stretch begins with the prefix."""
        prefix = self._plan.add_prefix("", kind)
        begin, *rest = [model.tokenize(part) for part in [prefix + parts[0], *parts[1:]]]
        skip = len(model.tokenize(prefix.rstrip())) if prefix else 0  # white space behind it may go with the text
        body = [*begin[skip:], *(token for tokens in rest for token in tokens)]
        size = max(1, model.room - skip)
        stretches = [[*begin[:skip], *body[start : start + size]] for start in range(0, max(len(body), 1), size)]
        return _Cut(stretches, skip, [len(begin) - skip, *map(len, rest)])

    def _compute(
        self, model: Model, sequences: Sequence[Sequence[int]], kind: TextKind, deadline: Deadline
    ) -> Iterator[Computed]:
        for batch in model.split_batches(sequences):
            with self._take_turn(kind, deadline):
                yield from model.embed(batch)

    def _combine(self, made: Sequence[Computed], cut: _Cut) -> TokenEmbedding | ProviderError:
        row = vectors.join_parts([self._check(computed.pooled) for computed in made], list(map(len, cut.stretches)))
        if isinstance(row, ProviderError):
            return row
        return TokenEmbedding(row, self._join_tokens(made, cut.skip), cut.counts)

    def _join_tokens(self, made: Sequence[Computed], skip: int) -> Rows | None:
        """Return the vectors of a text's tokens, without those of the prefix."""
        import numpy as np

        rows = [computed.tokens[skip:] for computed in made if computed.tokens is not None]
        return np.concatenate(rows)[:, : self._space.dimensions] if rows else None

    def _check(self, row: Row) -> Row | InvalidEmbedding:
        short = vectors.shorten(row, self._plan.shortened_dimensions)
        (outcome,) = vectors.check([short], count=1, dimensions=self._space.dimensions, provider="local")
        if not self._space.dimensions:
            self._space = replace(self._space, dimensions=len(short))
        return outcome

    @contextlib.contextmanager
    def _take_turn(self, kind: TextKind, deadline: Deadline) -> Iterator[None]:
        with self._turns.take(kind, deadline):
            self._refuse_if_closed()
            yield

    def _refuse_if_closed(self) -> None:
        if self._stop.is_set():
            raise make_unusable("local", "it was closed while it was needed")

    def _wait_for_model(self, deadline: Deadline) -> Model:
        """Return the model, which is opened at the first call, and again after a failure."""
        with self._lock:
            self._refuse_if_closed()
            opening = self._opening
            if opening is None or (opening.done() and opening.exception()):
                opening = self._opening = start_call(self._open, name="memory-core-local")
        try:
            return wait_for(opening, deadline.left_seconds)
        except NoAnswer as error:
            message = "the model is still being opened, or downloaded"
            raise RequestTimeout("local", message, action="Try again in a while.") from error

    def _open(self) -> Model:
        from memory_core.embeddings.local.gguf import GgufModel, import_llama_cpp

        source = self._source
        if isinstance(source, HubFile):
            import_llama_cpp()  # without it, a download would be of no use
            source = fetch(source, self._folder, endpoint=self._endpoint, stop=self._stop)
        if source.is_dir():
            from memory_core.embeddings.local.bert import BertModel

            return BertModel(source, context_tokens=self._context_tokens)
        return GgufModel(source, context_tokens=self._context_tokens)

    def _free(self, opening: Future[Model]) -> None:
        if not opening.exception():
            with self._turns.take("query", Deadline.until(_CLOSE_SECONDS)):
                opening.result().close()


@dataclass(frozen=True, slots=True)
class _Cut:
    """One text, cut for the model.

    Attributes:
        stretches: Its tokens, in sequences that fit.
        skip: The number of tokens of the prefix at the beginning of each.
        counts: The number of tokens of each part of the text.
    """

    stretches: Sequence[Sequence[int]]
    skip: int
    counts: Sequence[int]


class Turns:
    """Lets one caller at a time use the model, queries before documents."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._busy = False
        self._queries = 0

    @contextlib.contextmanager
    def take(self, kind: TextKind, deadline: Deadline) -> Iterator[None]:
        """Wait for a turn and hold it.

        Raises:
            RequestTimeout: The turn did not come in time.
        """
        query = kind == "query"
        with self._condition:
            self._queries += query
            try:
                if not self._condition.wait_for(
                    lambda: not self._busy and (query or not self._queries), deadline.left_seconds
                ):
                    raise RequestTimeout("local", "the model was busy with other texts")
                self._busy = True
            finally:
                self._queries -= query
                self._condition.notify_all()
        try:
            yield
        finally:
            with self._condition:
                self._busy = False
                self._condition.notify_all()
