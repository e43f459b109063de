"""Embeddings of items and of questions about them, by the provider that embeds the notes."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memory_core.config.agent import AgentConfig
from memory_core.embeddings.credentials import announce, find_destination
from memory_core.embeddings.failover import Providers
from memory_core.embeddings.outage import OutageRecord
from memory_core.embeddings.protocols import Calibrated, TokenModel
from memory_core.embeddings.vectors import DEFAULT_CALIBRATION
from memory_core.errors import InvalidArgument, MemoryCoreError, ProviderError, TextRefused
from memory_core.items.likeness import Words
from memory_core.items.store.file import ItemsFile
from memory_core.records import Calibration, KeySources, Progress, ProgressCallback, Space
from memory_core.search import scores
from memory_core.text.terms import extract_words, find_cjk_share
from memory_core.threads import Backoff, Cooldown, NoAnswer, SharedRun, cached_property, start_call, wait_for

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Row = NDArray[np.float32]

log = logging.getLogger(__name__)

GIVEN = "given"  # the provider of embeddings that a caller computed while the configuration names none

BATCH = 50
SPELT_FROM = 0.5  # share of a question that a table spells in letters, from which on words alone decide
CLOSE_SECONDS = 5.0  # that closing waits for a batch that is under way
PAUSE = Backoff(first_seconds=30.0, longest_seconds=600.0)  # after a run that left items without an embedding


@dataclass(frozen=True, slots=True)
class Embedded:
    """Embeddings, or the reason why there are none.

    Attributes:
        space: The vector space; None without embeddings.
        rows: Rows of unit length or zero, by the number of the text.
        problem: Why some or all texts have none; None if no provider is wanted, or nothing failed.
    """

    space: Space | None
    rows: dict[int, Row]
    problem: str | None = None


class ItemEmbedder:
    """Embeds items and questions. The provider is opened when it is first needed. May be used from several threads.

    The backfill embeds items that lack an embedding: one run at a time, each batch committed as it comes, so that a stopped run
    is resumed.

    Args:
        config: The agent's.
        keys: Where keys come from.
        file: Theirs; also remembers that the provider is out.
    """

    def __init__(self, config: AgentConfig, keys: KeySources, file: ItemsFile) -> None:
        self._config = config
        self._providers = Providers(config, OutageRecord(file.load_outage, file.save_outage), keys)
        self._file = file
        self._lock = threading.Lock()
        self._announced: str | None = None
        self._stop = threading.Event()  # of the run in the background
        self._refused = False
        self._running = SharedRun("memory-core-items-backfill", self._run_quietly)
        self._cooldown = Cooldown(PAUSE)

    @property
    def seconds(self) -> float:
        """The seconds that somebody waits for an embedding."""
        return self._config.search.query.embed_timeout_ms / 1000

    @cached_property
    def words(self) -> Words | None:
        """The static model's knowledge of words; None where that model is not installed."""
        from memory_core.embeddings.static import StaticProvider

        words = Words(StaticProvider())
        try:
            words.embed("memory")
        except ProviderError as error:
            log.warning("facts are compared by their exact text only: %s", error)
            return None
        return words

    def find_space(self) -> Space | None:
        """Return the space in which items are embedded now; None without a provider."""
        provider = self._providers.choose_for_sync(self._providers.outages.current(), at_once=False).provider
        return None if provider is None else provider.space

    def find_calibration(self, question: str, sample: Callable[[], str]) -> Calibration | None:
        """Return the calibration of cosines for one question; None where they say nothing, as a table spells its letters.

        Texts of other languages than a table's lie near each other, the more the smaller the pieces of both sides.

        Args:
            question: Its words count.
            sample: Returns the text of some items.
        """
        provider = self._providers.choose_for_sync(self._providers.outages.current(), at_once=False).provider
        if provider is None:
            return DEFAULT_CALIBRATION
        known = provider.calibration if isinstance(provider, Calibrated) else DEFAULT_CALIBRATION
        words = extract_words(question)
        if not isinstance(provider, TokenModel) or not words:
            return known
        if not question.isascii() and scores.find_spelt(provider, words, find_cjk_share(question)) > SPELT_FROM:
            return None
        pieces = scores.find_pieces(provider, words)
        cone = scores.TABLE_CONE * min(pieces, scores.find_pieces(provider, extract_words(sample())) if pieces else 0.0)
        return Calibration(floor=cone + (1 - cone) * known.floor, span=(1 - cone) * known.span)

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Embed contents while somebody waits; a provider that is slow or out leaves them to the backfill."""
        try:
            return wait_for(start_call(lambda: self.request(texts), name="memory-core-items-embed"), self.seconds)
        except NoAnswer:
            return Embedded(None, {}, f"no embedding came within {self.seconds:g} s")

    def request(self, texts: Sequence[str], *, asked: bool = False) -> Embedded:
        """Embed contents, as many as the provider does before it fails.

        Args:
            texts: The contents.
            asked: Somebody has asked for it and waits: a provider that has a pause after failures is tried all the same.
        """
        import numpy as np

        outages = self._providers.outages
        outage = outages.current()
        active = self._providers.choose_for_sync(outage, at_once=asked)
        provider = active.provider
        if provider is None:
            return Embedded(None, {}, None if active.problem is None else str(active.problem))
        if outage is not None and not asked and not self._providers.may_send(active, outage):
            return Embedded(None, {}, str(outages.outage_error()))
        self._announce(provider.space)
        rows: dict[int, Row] = {}
        problem, is_refused = None, False
        try:
            for first, found in provider.embed_documents(list(texts)):
                rows.update(enumerate(found, first))
        except TextRefused as error:
            log.warning("facts stay without an embedding: %s", error)
            is_refused = True
        except ProviderError as error:
            problem = error
        self._providers.record_result(active, outages.current(), embedded=len(rows), problem=problem)
        if is_refused:  # those count as texts without direction, so that they are not sent again
            rows = dict.fromkeys(range(len(texts)), np.zeros(provider.space.dimensions, dtype=np.float32)) | rows
        return Embedded(provider.space, rows, None if problem is None else str(problem))

    def embed_question(self, text: str, *, seconds: float | None = None) -> tuple[Space, Row] | str | None:
        """Embed a question.

        Args:
            text: The question.
            seconds: How long that may take; None is as configured.

        Returns:
            The space and a row of unit length; a sentence if the provider failed; None without a provider, or if the question
            has no direction.
        """
        active = self._providers.choose_for_sync(self._providers.outages.current(), at_once=False)
        if active.provider is None:
            return None if active.problem is None else str(active.problem)
        try:
            found = self._providers.embed_question(
                active.provider.space,
                [text],
                outage=self._providers.outages.current(),
                timeout_seconds=self.seconds if seconds is None else seconds,
            )
        except ProviderError as error:
            return str(error)
        if found is None or not found.vector.any():
            return None
        return found.provider.space, found.vector

    def check_given(self, embedding: Sequence[float] | Row) -> tuple[Space, Row]:
        """Check an embedding that a caller computed: it has to be of the space in which items are embedded.

        Args:
            embedding: Numbers, of any length of vector.

        Raises:
            InvalidArgument: Its dimensions are not those of the space, or it holds what is no finite number.
        """
        from memory_core.embeddings import vectors

        try:
            row = vectors.decode(list(embedding), provider=GIVEN)
            checked = vectors.check([row], count=1, dimensions=0, provider=GIVEN)[0]
        except MemoryCoreError as error:
            raise InvalidArgument("embedding", "expected a list of finite numbers") from error
        if isinstance(checked, ProviderError):
            raise InvalidArgument("embedding", "expected a list of finite numbers")
        space = self.find_space() or Space(provider=GIVEN, model=GIVEN)
        known = space.dimensions or getattr(self._file.find_space(space), "dimensions", 0)
        if known and known != len(checked):
            raise InvalidArgument(
                "embedding",
                f"has {len(checked)} dimensions, and those of {space.provider} ({space.model}) have {known}",
                action="compute it with the configured model, or leave it out",
            )
        return replace(space, dimensions=len(checked)), checked

    def rest(self) -> None:
        """Let go of the static model and of what it said of words, which is soon read again."""
        self._providers.rest()
        self.__dict__.pop("words", None)

    def start(self) -> None:
        """Run in the background, unless it runs already or has a pause."""
        if self._refused or self._cooldown.left_seconds or self._running.is_running():
            return
        self._stop.clear()
        self._running.begin()

    def backfill(self, progress: ProgressCallback | None = None, *, stop: Callable[[], bool] | None = None) -> int:
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
        import numpy as np

        space = self.find_space()
        if space is None:
            return 0
        total, done = self._file.count_pending(space), 0
        tried: set[bytes] = set()
        while stop is None or not stop():
            pending = self._file.find_pending(space, BATCH + len(tried))
            batch = [each for each in pending if each[0] not in tried][:BATCH]
            if not batch:
                break
            found = self.request([content for _, content in batch], asked=stop is None)
            if found.rows and found.space is not None:
                hashes = [batch[number][0] for number in found.rows]
                self._file.put_embeddings(found.space, hashes, np.stack([*found.rows.values()]))
            done += len(found.rows)
            tried |= {text_hash for text_hash, _ in batch}
            if progress is not None:
                progress(Progress(phase="embeddings", done=min(done, total), total=total))
            log.info("items: %d of %d embedded", done, total)
            if found.problem is not None:
                log.warning("items: %d wait for their embedding: %s", total - done, found.problem)
                if not found.rows:
                    break
        left = self._file.count_pending(self.find_space() or space)
        if left and stop is not None and not stop():
            self._cooldown.record_failure()
        elif not left:
            self._cooldown.record_success()
        return left

    def refuse(self) -> None:
        """Start no run in the background from now on."""
        self._refused = True

    def close(self) -> bool:
        """Cancel what runs until it is started again, and close the providers; return False if a run still waits for one.

        May be called twice.
        """
        self._stop.set()
        self._providers.close()
        return self._running.wait(timeout_seconds=CLOSE_SECONDS)

    def _run_quietly(self) -> int:
        try:
            return self.backfill(stop=self._stop.is_set)
        except MemoryCoreError as error:
            if not self._stop.is_set():
                log.warning("items wait for their embedding: %s", error)
                self._cooldown.record_failure()
        return 0

    def _announce(self, space: Space) -> None:
        """Say once in the log where items go, before the first of them leave this machine."""
        destination = find_destination(space)
        with self._lock:
            if destination is None or destination == self._announced:
                return
            self._announced = destination
        announce(destination, [self._config.workspace])
