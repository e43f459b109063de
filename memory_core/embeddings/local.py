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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from memory_core.embeddings import packing, vectors
from memory_core.embeddings.answers import Patience, summed_up
from memory_core.embeddings.credentials import ResolveApiKey, local_file
from memory_core.embeddings.failures import lasting
from memory_core.embeddings.gguf_model import Computed, GgufModel
from memory_core.embeddings.hub import HubFile, fetched
from memory_core.embeddings.plan import Plan, plan
from memory_core.embeddings.requests import Kind
from memory_core.errors import InvalidEmbedding, ProviderError, ProviderUnavailable, RequestTimeout
from memory_core.hookspecs import Space, TokenEmbedding
from memory_core.settings import AgentConfig

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Row = NDArray[np.float32]
    Rows = NDArray[np.float32]

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

    def embed_documents(self, texts: Sequence[str]) -> Iterator[tuple[int, Rows]]:
        """See `EmbeddingProvider`; a piece for every few texts."""
        import numpy as np

        for first, found in self.embed_document_tokens([[text] for text in texts]):
            yield first, np.stack([embedding.row for embedding in found])

    def embed_document_tokens(self, texts: Sequence[Sequence[str]]) -> Iterator[tuple[int, list[TokenEmbedding]]]:
        """See `TokenEmbedder`; a piece for every few texts."""
        failures: list[ProviderError] = []
        few = self._plan.provider.max_items
        for start in range(0, len(texts), few):
            outcomes = dict(enumerate(self._outcomes(texts[start : start + few], "document", Patience()), start))
            failures += (outcome for outcome in outcomes.values() if isinstance(outcome, ProviderError))
            good = {number: found for number, found in outcomes.items() if isinstance(found, TokenEmbedding)}
            numbers, found = list(good), list(good.values())
            for first, last in packing.runs(numbers):
                yield numbers[first], found[first:last]
        if failures:
            raise summed_up(failures, len(texts))

    def embed_query(self, text: str, *, timeout_seconds: float | None = None) -> Row:
        """See `EmbeddingProvider`."""
        return self.embed_query_tokens([text], timeout_seconds=timeout_seconds).row

    def embed_query_tokens(self, parts: Sequence[str], *, timeout_seconds: float | None = None) -> TokenEmbedding:
        """See `TokenEmbedder`."""
        (outcome,) = self._outcomes([parts], "query", Patience.until(timeout_seconds))
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

    def _outcomes(
        self, texts: Sequence[Sequence[str]], kind: Kind, patience: Patience
    ) -> list[TokenEmbedding | ProviderError]:
        """What each text got; one too long for the model is the mean of its stretches, weighted by their tokens."""
        model = self._model(patience)
        with self._turn(kind, patience):
            cuts = [self._cut(model, parts, kind) for parts in texts]
        made = iter(self._computed(model, [stretch for cut in cuts for stretch in cut.stretches], kind, patience))
        return [self._outcome([next(made) for _ in cut.stretches], cut) for cut in cuts]

    def _cut(self, model: GgufModel, parts: Sequence[str], kind: Kind) -> _Cut:
        """A text's tokens, cut where the model's limit demands it; every stretch begins with the prefix."""
        prefix = self._plan.announce.applied("", kind)
        begin, *rest = [model.tokens(part) for part in [prefix + parts[0], *parts[1:]]]
        skip = len(model.tokens(prefix.rstrip())) if prefix else 0  # white space behind it may go with the text
        body = [*begin[skip:], *(token for tokens in rest for token in tokens)]
        size = max(1, model.room - skip)
        stretches = [[*begin[:skip], *body[start : start + size]] for start in range(0, max(len(body), 1), size)]
        return _Cut(stretches, skip, [len(begin) - skip, *map(len, rest)])

    def _computed(
        self, model: GgufModel, sequences: Sequence[Sequence[int]], kind: Kind, patience: Patience
    ) -> Iterator[Computed]:
        for stretch in model.together(sequences):
            with self._turn(kind, patience):
                yield from model.embedded([sequences[number] for number in stretch])

    def _outcome(self, made: Sequence[Computed], cut: _Cut) -> TokenEmbedding | ProviderError:
        outcomes = [self._checked(computed.pooled) for computed in made]
        failed = next((outcome for outcome in outcomes if isinstance(outcome, ProviderError)), None)
        units = [outcome for outcome in outcomes if not isinstance(outcome, ProviderError)]
        if failed:
            return failed
        row = units[0] if len(units) == 1 else vectors.mean(units, list(map(len, cut.stretches)))
        return TokenEmbedding(row, self._tokens(made, cut.skip), cut.counts)

    def _tokens(self, made: Sequence[Computed], skip: int) -> Rows | None:
        """The vectors of a text's tokens, without those of the prefix."""
        import numpy as np

        rows = [computed.tokens[skip:] for computed in made if computed.tokens is not None]
        return np.concatenate(rows)[:, : self._space.dimensions] if rows else None

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


@dataclass(frozen=True, slots=True)
class _Cut:
    """One text as the model takes it.

    Attributes:
        stretches: Its tokens, in sequences that fit.
        skip: So many tokens at the beginning of each are the prefix.
        counts: How many tokens each part of the text has.
    """

    stretches: Sequence[Sequence[int]]
    skip: int
    counts: Sequence[int]


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
