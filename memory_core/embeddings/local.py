"""The provider `local`: a GGUF model on this machine, a file or one on a Hugging Face hub that is downloaded first.

The model is opened in a thread, at the first call: a query waits for it, or for its download, no longer than its deadline.
One text at a time is computed; a query goes before the next piece of a backfill.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from memory_core.embeddings import vectors
from memory_core.embeddings.answers import Answer, Patience, summed_up
from memory_core.embeddings.credentials import ResolveApiKey, local_file
from memory_core.embeddings.failures import lasting
from memory_core.embeddings.gguf_model import GgufModel
from memory_core.embeddings.hub import HubFile, fetched
from memory_core.embeddings.plan import Plan, plan
from memory_core.embeddings.requests import Kind
from memory_core.errors import InvalidEmbedding, ProviderError, ProviderUnavailable, RequestTimeout
from memory_core.hookspecs import Space
from memory_core.settings import AgentConfig

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory_core.embeddings.answers import Outcome

    Row = NDArray[np.float32]

# Bytes hashed at the beginning, the middle and the end of a model file to tell it from others of its size.
_SAMPLE_BYTES = 1 << 16
# How long close() waits for the piece that is being computed.
_CLOSE_SECONDS = 30.0


def open_provider(
    config: AgentConfig,
    *,
    environ: Mapping[str, str],
    resolve_api_key: ResolveApiKey | None = None,  # noqa: ARG001 - all modules of providers are opened alike
) -> LocalProvider:
    """The provider for `memorySearch.local`. Opens no model and downloads nothing yet.

    Raises:
        ProviderUnavailable: `modelPath` is neither a file nor an hf: URI.
    """
    path = local_file(config)
    if path is not None and not path.is_file():
        message = f"memorySearch.local.modelPath is no file: {config.search.local.model_path}"
        raise lasting(ProviderUnavailable("local", message))
    what = _planned(config, path)
    source = path or HubFile.parse(what.space.model)
    folder = config.search.local.model_cache_dir
    return LocalProvider(
        what,
        source,
        folder=config.workspace / Path(folder).expanduser() if folder else config.state_dir / "models",
        endpoint=environ.get("HF_ENDPOINT"),
        context_tokens=config.search.local.context_tokens,
    )


def _planned(config: AgentConfig, path: Path | None) -> Plan:
    """The model's name is its file's or its URI; a file is told from another of that name by samples of its content."""
    name = path.name if path else config.search.local.model_path
    named = replace(config, search=replace(config.search, model=name))
    return plan(named, "local", endpoint=_sampled(path) if path else "")


def _sampled(path: Path) -> str:
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
        self, what: Plan, source: Path | HubFile, *, folder: Path, endpoint: str | None, context_tokens: int | None
    ) -> None:
        self._plan = what
        self._space = what.space
        self._source = source
        self._folder = folder
        self._endpoint = endpoint
        self._context_tokens = context_tokens
        self._turns = _Turns()
        self._opening: Future[GgufModel] | None = None
        self._lock = threading.Lock()
        self._stop = threading.Event()

    @property
    def space(self) -> Space:
        """The space of its vectors; its dimensions are known at the latest when the model is open."""
        return self._space

    def embed_documents(self, texts: Sequence[str]) -> Iterator[tuple[int, Row]]:
        """See `EmbeddingProvider`; a piece for every few texts."""
        failures: list[ProviderError] = []
        few = self._plan.provider.max_items
        for start in range(0, len(texts), few):
            group = list(range(start, min(start + few, len(texts))))
            answer = Answer(group, self._outcomes([texts[index] for index in group], "document", Patience()))
            failures += answer.failures()
            yield from answer.pieces()
        if failures:
            raise summed_up(failures, len(texts))

    def embed_query(self, text: str, *, timeout_seconds: float | None = None) -> Row:
        """See `EmbeddingProvider`."""
        (outcome,) = self._outcomes([text], "query", Patience.until(timeout_seconds))
        if isinstance(outcome, ProviderError):
            raise outcome
        return outcome

    def close(self) -> None:
        """Stop a download, wait for the piece that is computed, free the model."""
        self._stop.set()
        with self._lock:
            opening, self._opening = self._opening, None
        if opening is not None and opening.done() and not opening.exception():
            with self._turns.taken("query", Patience.until(_CLOSE_SECONDS)):
                opening.result().close()

    def _outcomes(self, texts: Sequence[str], kind: Kind, patience: Patience) -> list[Outcome]:
        """What each text got; a text too long for the model is the mean of its parts, weighted by their tokens."""
        model = self._model(patience)
        with self._turn(kind, patience):
            parts = [self._parts(model, text, kind) for text in texts]
        rows = iter(self._rows(model, [part for text_parts in parts for part in text_parts], kind, patience))
        return [self._outcome([next(rows) for _ in text_parts], list(map(len, text_parts))) for text_parts in parts]

    def _parts(self, model: GgufModel, text: str, kind: Kind) -> list[list[int]]:
        """The text's tokens, cut where the model's limit demands it; every part begins with the prefix."""
        whole = model.tokens(self._plan.announce.applied(text, kind))
        if len(whole) <= model.room:
            return [whole]
        prefix, body = model.tokens(self._plan.announce.applied("", kind)), model.tokens(text)
        size = max(1, model.room - len(prefix))
        return [[*prefix, *body[start : start + size]] for start in range(0, len(body), size)]

    def _rows(
        self, model: GgufModel, sequences: Sequence[Sequence[int]], kind: Kind, patience: Patience
    ) -> Iterator[Row]:
        for stretch in model.together(sequences):
            with self._turn(kind, patience):
                yield from model.embedded([sequences[number] for number in stretch])

    def _outcome(self, rows: list[Row], weights: list[int]) -> Outcome:
        outcomes = [self._checked(row) for row in rows]
        failed = next((outcome for outcome in outcomes if isinstance(outcome, ProviderError)), None)
        units = [outcome for outcome in outcomes if not isinstance(outcome, ProviderError)]
        return failed or (units[0] if len(units) == 1 else vectors.mean(units, weights))

    def _checked(self, row: Row) -> Row | InvalidEmbedding:
        wanted = self._plan.dimensions if self._plan.model.shortens else None
        short = vectors.shortened(row, wanted or 0)
        (outcome,) = vectors.checked([short], count=1, dimensions=self._space.dimensions, provider="local")
        if not self._space.dimensions:
            self._space = replace(self._space, dimensions=len(short))
        return outcome

    @contextlib.contextmanager
    def _turn(self, kind: Kind, patience: Patience) -> Iterator[None]:
        with self._turns.taken(kind, patience):
            self._refuse_if_closed()
            yield

    def _refuse_if_closed(self) -> None:
        if self._stop.is_set():
            raise lasting(ProviderUnavailable("local", "it was closed while it was needed"))

    def _model(self, patience: Patience) -> GgufModel:
        """The model, opened at the first call, and again after a failure."""
        with self._lock:
            self._refuse_if_closed()
            opening = self._opening
            if opening is None or (opening.done() and opening.exception()):
                opening = self._opening = Future()
                thread = threading.Thread(target=self._open, args=(opening,), name="memory-core-local", daemon=True)
                thread.start()
        try:
            return opening.result(patience.seconds())
        except TimeoutError as error:
            message = "the model is still being opened, or downloaded"
            raise RequestTimeout("local", message, action="Try again in a while.") from error

    def _open(self, opening: Future[GgufModel]) -> None:
        try:
            source = self._source
            if isinstance(source, HubFile):
                source = fetched(source, self._folder, endpoint=self._endpoint, stop=self._stop)
            model = GgufModel(source, context_tokens=self._context_tokens)
        except Exception as error:  # noqa: BLE001 - handed to those who wait for it
            opening.set_exception(error)
            return
        with self._lock:
            if not self._stop.is_set():
                opening.set_result(model)
                return
        model.close()
        opening.set_exception(lasting(ProviderUnavailable("local", "it was closed while it was opened")))


class _Turns:
    """Lets one caller at a time use the model, queries before documents."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._busy = False
        self._queries = 0

    @contextlib.contextmanager
    def taken(self, kind: Kind, patience: Patience) -> Iterator[None]:
        """Wait for a turn and hold it.

        Raises:
            RequestTimeout: It did not come in time.
        """
        query = kind == "query"
        with self._condition:
            self._queries += query
            try:
                if not self._condition.wait_for(lambda: self._free(query), patience.seconds()):
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

    def _free(self, query: bool) -> bool:
        return not self._busy and (query or not self._queries)
