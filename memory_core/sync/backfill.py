"""Makes the embeddings that an index lacks; commits each as it comes."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from memory_core.embeddings.calibration import SAMPLE, estimate, is_outdated
from memory_core.embeddings.credentials import announce, find_destination
from memory_core.embeddings.protocols import Calibrated, EmbeddingProvider, TokenEmbedder
from memory_core.errors import InputTooLarge, InvalidEmbedding, ProviderError, ProviderUnavailable
from memory_core.records import Progress, Space
from memory_core.stores.interface import IndexedText, StagedIndex
from memory_core.stores.values import EmbeddedWindows, PendingWindow, PreparedChunk, digest, slice_units
from memory_core.sync.context import SyncContext

log = logging.getLogger(__name__)

REFUSALS = (InputTooLarge, InvalidEmbedding)  # of single texts: the others were tried
VERIFY_SECONDS = 10.0  # for one vector, which shows if the model has changed under its name
EMBED_STEP = 4096  # texts handed to the provider together: bounds memory, far above every request's cap


class Backfill:
    """The vector side of one sync."""

    def __init__(self, context: SyncContext) -> None:
        self._context = context
        self._store = context.store
        self._ids: dict[Space, int] = {}

    def is_complete(self) -> bool:
        """Return True if no text lacks an embedding of the configured provider now."""
        provider = self._context.provider
        space = None if provider is None else self._look_up_space(provider)
        return space is not None and self._store.load_state().complete == self._get_space_id(space)

    def embed_staged(self, staged: StagedIndex) -> None:
        """Make embeddings for a rebuild, before the switch to it."""
        context = self._context
        if context.provider is None or not context.embeds:
            return
        space = self._find_space(context.provider, staged)
        if space is None or not context.embeds:
            return
        self._embed(context.provider, space, *self._find_pending(staged, self._get_space_id(space)))

    def run(self) -> None:
        """Embed what is pending in the configured space, and let that space serve once every text was tried."""
        context, fresh = self._context, self._context.fresh
        if context.provider is None:
            self._run_without_provider()
            return
        space = self._find_space(context.provider, self._store)
        if space is None:
            self._store.set_target("unknown")
            return
        space_id = self._get_space_id(space)
        state = self._store.load_state()
        target = None if state.serving in (None, space_id) else space_id
        if state.target != target:
            self._store.set_target(target)
        if state.complete == space_id:
            return
        if fresh is not None:
            steps, count, texts = self._find_fresh(space_id, fresh.values())
        else:
            steps, count = self._find_pending(self._store, space_id)
            texts = self._store.count_windows(distinct=True)
        context.counts.cached = texts - count - context.counts.embedded
        if not context.embeds:
            context.counts.pending = count
            return
        tried = self._embed(context.provider, space, steps, count)
        if tried:
            self._calibrate(context.provider, space_id)
            self._store.serve(space_id, complete=not context.counts.pending)

    def _get_space_id(self, space: Space) -> int:
        if space not in self._ids:
            self._ids[space] = self._store.add_space(space)
        return self._ids[space]

    def _find_pending(self, text: IndexedText, space_id: int) -> tuple[Iterable[Sequence[PendingWindow]], int]:
        """Return the windows to embed in steps, and the number of different texts."""
        tokens = isinstance(self._context.provider, TokenEmbedder)
        steps = text.find_pending_windows(space_id, step=EMBED_STEP, tokens=tokens)
        return steps, text.count_pending(space_id, tokens=tokens)

    def _find_fresh(
        self, space_id: int, fresh: Iterable[PreparedChunk]
    ) -> tuple[Iterable[Sequence[PendingWindow]], int, int]:
        """Return the windows to embed of fresh chunks, the number of different texts, and of those with an embedding, too."""
        tokens = isinstance(self._context.provider, TokenEmbedder)
        texts = dict(window for chunk in fresh for window in _split_windows(chunk))
        embedded = self._store.find_embedded(space_id, texts.keys(), tokens=tokens)
        pending = [PendingWindow(key, units) for key, units in texts.items() if key not in embedded]
        return [pending], len(pending), len(texts)

    def _calibrate(self, provider: EmbeddingProvider, space_id: int) -> None:
        """Estimate what cosines of a space are worth, unless the provider knows or the estimate that is held will do."""
        if isinstance(provider, Calibrated):
            return
        windows, held = self._store.count_windows(), self._store.load_calibration(space_id)
        if held is None or is_outdated(held[1], windows):
            rows = self._store.sample_embeddings(space_id, SAMPLE)
            self._store.put_calibration(space_id, estimate(rows, windows), windows=windows)

    def _run_without_provider(self) -> None:
        """Count what a provider that could not be opened has to embed; with "none", let no space serve any more."""
        context, state = self._context, self._store.load_state()
        if context.problem is not None:
            context.counts.pending = self._store.count_pending(state.serving)
            context.counts.warnings.append(_advise(str(context.problem), context.problem))
            self._store.set_pending_reason(_advise(str(context.problem), context.problem))
        elif state.serving is not None:
            self._store.stop_serving()

    def _look_up_space(self, provider: EmbeddingProvider) -> Space | None:
        """Return the provider's space, with dimensions from the index where the provider does not know them; else None."""
        space = provider.space
        if space.dimensions:
            return space
        known = self._store.find_space_like(space)
        if known is not None and self._context.verifies:
            self._context.verifies = False  # once
            try:
                return replace(known, dimensions=len(provider.embed_query("memory", timeout_seconds=VERIFY_SECONDS)))
            except ProviderError as error:
                log.debug("the dimensions of %s cannot be verified: %s", space.model, error)
        return known

    def _find_space(self, provider: EmbeddingProvider, text: IndexedText) -> Space | None:
        """Return the provider's space, read from its first embeddings where nobody knows it; None when it made none."""
        context = self._context
        space = self._look_up_space(provider)
        if space is not None or not context.embeds:
            return space
        pending = next(text.find_pending_windows(None, step=EMBED_STEP), ())
        try:
            for windows in self._embed_windows(provider, pending):
                space = space or replace(provider.space, dimensions=windows.rows.shape[1])
                self._put(space, windows)
        except ProviderError as error:
            if space is None or not isinstance(error, REFUSALS):
                self._record_pending(
                    self._store.count_pending(None if space is None else self._get_space_id(space)), error
                )
                context.embeds = False
        return space

    def _put(self, space: Space, windows: EmbeddedWindows) -> None:
        """Commit some embeddings; where no space served before, this one does from then on."""
        dimensions = windows.rows.shape[1]
        if dimensions != space.dimensions:
            self._store.set_target(self._get_space_id(replace(space, dimensions=dimensions)))
        _check_dimensions(space, dimensions)
        space_id = self._get_space_id(space)
        self._store.put_embeddings(space_id, windows, serve=self._store.load_state().serving is None)
        self._context.counts.embedded += len(windows.rows)

    def _record_pending(self, count: int, problem: ProviderError) -> None:
        self._context.check_stop()
        counts = self._context.counts
        counts.pending, counts.problem = count, problem
        counts.warnings.append(_advise(f"{count} texts wait for their embedding ({problem})", problem))
        self._store.set_pending_reason(_advise(str(problem), problem))
        log.warning("%d texts wait for their embedding: %s", count, problem)

    def _embed(
        self, provider: EmbeddingProvider, space: Space, steps: Iterable[Sequence[PendingWindow]], count: int
    ) -> bool:
        """Embed and commit; return False when the provider is out of order, so that not every text was tried.

        Args:
            provider: Embeds.
            space: Its space.
            steps: What to embed.
            count: The number of different texts in it.
        """
        context, before, problem = self._context, self._context.counts.embedded, None
        log.debug("embedding %d texts", count)
        for step in steps:
            try:
                for windows in self._embed_windows(provider, step):
                    self._put(space, windows)
                    done = context.counts.embedded - before
                    context.report_progress(Progress(phase="embeddings", done=done, total=count))
            except ProviderError as error:
                problem = error
                if not isinstance(error, REFUSALS):
                    break
        if problem is None:
            return True
        self._record_pending(count - (context.counts.embedded - before), problem)
        context.embeds = isinstance(problem, REFUSALS)
        return context.embeds

    def _embed_windows(
        self, provider: EmbeddingProvider, pending: Sequence[PendingWindow]
    ) -> Iterator[EmbeddedWindows]:
        """Embed some windows; before the first of them leave this machine, say in the log where they go."""
        destination = find_destination(provider.space) if pending else None
        if destination is not None and self._store.record_destination(destination):
            announce(destination, self._context.config.workspace)
        yield from _embed_windows(provider, pending)


def _split_windows(chunk: PreparedChunk) -> Iterator[tuple[bytes, tuple[str, ...]]]:
    """Yield the digest and the units of every window of a chunk."""
    for window in chunk.windows:
        yield digest(window.text), slice_units(chunk.chunk.text, chunk.units[window.first : window.last + 1])


def _embed_windows(provider: EmbeddingProvider, pending: Sequence[PendingWindow]) -> Iterator[EmbeddedWindows]:
    """Yield embeddings of some consecutive windows as each request returns, with those of tokens where there are any."""
    if not isinstance(provider, TokenEmbedder):
        for first, rows in provider.embed_documents([window.text for window in pending]):
            yield EmbeddedWindows([window.hash for window in pending[first : first + len(rows)]], rows)
        return
    import numpy as np

    for first, found in provider.embed_document_tokens([window.parts for window in pending]):
        hashes = [window.hash for window in pending[first : first + len(found)]]
        yield EmbeddedWindows(hashes, np.stack([embedding.row for embedding in found]), found)


def _advise(sentence: str, problem: ProviderError) -> str:
    """Return a sentence with what to do about a problem, as one that stands without a full stop."""
    action = problem.action.rstrip(".")
    return f"{sentence}; {action[:1].lower()}{action[1:]}" if action else sentence


def _check_dimensions(space: Space, dimensions: int) -> None:
    """Refuse vectors of a model that has changed under its name; the next sync finds another space.

    Raises:
        ProviderUnavailable: The vectors have other dimensions than those of their space.
    """
    if dimensions != space.dimensions:
        raise ProviderUnavailable(
            space.provider,
            f"its vectors have {dimensions} dimensions now, and had {space.dimensions}",
            action="sync again",
        )
