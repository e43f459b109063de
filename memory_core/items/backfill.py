"""Embeds items that have no embedding yet: in batches, in the background, one run at a time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from memory_core.errors import MemoryCoreError
from memory_core.items.embedder import ItemEmbedder
from memory_core.items.store.file import ItemsFile
from memory_core.records import Progress, ProgressCallback
from memory_core.threads import Backoff, Cooldown, SharedRun

log = logging.getLogger(__name__)

BATCH = 50
CLOSE_SECONDS = 5.0  # that closing waits for a batch that is under way
PAUSE = Backoff(first_seconds=30.0, longest_seconds=600.0)  # after a run that left items without an embedding


class ItemBackfill:
    """Runs the backfill of one items file. Each batch is committed as it comes, so that a stopped run is resumed."""

    def __init__(self, file: ItemsFile, embedder: ItemEmbedder) -> None:
        self._file = file
        self._embedder = embedder
        self._stop = threading.Event()  # of the run in the background
        self._refused = False
        self._running = SharedRun("memory-core-items-backfill", self._run_quietly)
        self._cooldown = Cooldown(PAUSE)

    def start(self) -> None:
        """Run in the background, unless it runs already or has a pause."""
        if self._refused or self._cooldown.left_seconds or self._running.is_running():
            return
        self._stop.clear()
        self._running.begin()

    def run(self, progress: ProgressCallback | None = None, *, stop: Callable[[], bool] | None = None) -> int:
        """Embed all items that lack an embedding in the space of the provider that serves.

        A run without `stop` is one that somebody waits for: it tries the provider also in a pause after failures.

        Args:
            progress: Called after every batch.
            stop: Ends the run before its next batch.

        Returns:
            The number of items that still lack one.

        Raises:
            StoreError: The file cannot be read or written.
        """
        space = self._embedder.find_space()
        if space is None:
            return 0
        total, done = self._file.count_pending(space), 0
        tried: set[bytes] = set()
        while stop is None or not stop():
            pending = self._file.find_pending(space, BATCH + len(tried))
            batch = [each for each in pending if each[0] not in tried][:BATCH]
            if not batch:
                break
            embedded, problem = self._embed(batch, asked=stop is None)
            done += embedded
            tried |= {text_hash for text_hash, _ in batch}
            if progress is not None:
                progress(Progress(phase="embeddings", done=min(done, total), total=total))
            log.info("items: %d of %d embedded", done, total)
            if problem is not None:
                log.warning("items: %d wait for their embedding: %s", total - done, problem)
                if not embedded:
                    break
        left = self._file.count_pending(self._embedder.find_space() or space)
        if left and stop is not None and not stop():
            self._cooldown.record_failure()
        elif not left:
            self._cooldown.record_success()
        return left

    def refuse(self) -> None:
        """Start no run in the background from now on."""
        self._refused = True

    def close(self) -> bool:
        """End the run in the background, until one is started again; return False if it still waits for its provider."""
        self._stop.set()
        return self._running.wait(timeout_seconds=CLOSE_SECONDS)

    def _run_quietly(self) -> int:
        try:
            return self.run(stop=self._stop.is_set)
        except MemoryCoreError as error:
            if not self._stop.is_set():
                log.warning("items wait for their embedding: %s", error)
                self._cooldown.record_failure()
        return 0

    def _embed(self, batch: list[tuple[bytes, str]], *, asked: bool) -> tuple[int, str | None]:
        """Embed and commit one batch; return how many texts got an embedding, and why others did not."""
        import numpy as np

        embedded, problem = 0, None
        for found in self._embedder.stream([content for _, content in batch], asked=asked):
            problem = found.problem or problem
            if found.rows and found.space is not None:
                self._file.put_embeddings(
                    found.space, [batch[number][0] for number in found.rows], np.stack(list(found.rows.values()))
                )
                embedded += len(found.rows)
        return embedded, problem
