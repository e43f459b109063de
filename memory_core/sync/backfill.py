"""Makes the embeddings that an index lacks; commits each as it comes, and waits for the provider in no transaction."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from memory_core.embeddings.protocols import EmbeddingProvider, TokenEmbedder, TokenModel, is_calibrated
from memory_core.embeddings.vectors import SAMPLE, estimate, is_outdated
from memory_core.errors import InputTooLarge, InvalidEmbedding, ProviderError, ProviderUnavailable, TextRefused
from memory_core.records import Progress, Space
from memory_core.sources.files import list_folders
from memory_core.stores.interface import Pending, Place, Writer
from memory_core.stores.values import (
    EmbeddedWindows,
    PendingWindow,
    PreparedFile,
    StateValues,
    SyncState,
    name_refused,
)
from memory_core.sync.context import SyncContext

log = logging.getLogger(__name__)

REFUSALS = (InputTooLarge, InvalidEmbedding)  # of single texts: the others were tried
VERIFY_SECONDS = 10.0  # for one vector, which shows if the model has changed under its name
EMBED_STEP = 4096  # texts handed to the provider together: bounds memory, far above every request's cap
REFUSED_SECONDS = 24 * 3600.0  # for which a text is not sent again to a model that has refused it alone
MOST_REFUSED = 1000  # texts of which that is remembered
START: Place = (0, -1)  # before all windows


class Backfill:
    """The vector side of one sync: `look`, perhaps `verify` and `plan`, then `run` and `end`."""

    def __init__(self, context: SyncContext) -> None:
        self._context = context
        self._store = context.store
        self._state = SyncState()  # as the sync has found it
        self._space: Space | None = None  # of the provider; None until its dimensions are known
        self._id: int | None = None  # of that space in the index
        self._is_planned = False
        self._missing: tuple[int, Pending] | None = None  # the number of texts to embed, and the first of them
        self._has_tried = False  # every pending text
        self._problem: ProviderError | None = None  # that has ended `embed_ahead`
        self._refused: dict[str, float] = {}  # see `SyncState`, those that are not sent again
        self._unsent: set[bytes] = set()  # texts of these

    def look(self, state: SyncState, spaces: Mapping[Space, int]) -> None:
        """Learn what the index knows of the provider's space.

        Args:
            state: Of the index, as the sync has found it.
            spaces: That it has seen, with their ids.
        """
        provider, self._state = self._context.provider, state
        if provider is not None:
            self._space = provider.space if provider.space.dimensions else _find_like(provider.space, state, spaces)
        self._id = None if self._space is None else spaces.get(self._space)
        ages = {name: time.time() - at for name, at in state.refused.items()}
        self._refused = {name: state.refused[name] for name, age in ages.items() if 0 <= age < REFUSED_SECONDS}

    @property
    def is_complete(self) -> bool:
        """True if no text that may be sent lacked an embedding of the provider when the index was looked at."""
        is_held = self._id is not None and self._state.complete == self._id
        return is_held and len(self._refused) == len(self._state.refused)

    @property
    def is_idle(self) -> bool:
        """True if there is nothing to do as long as no text changes."""
        if self._context.provider is None:
            return self._context.problem is None and self._state.serving is None
        return self.is_complete and self._state.target is None and not self._wants_to_verify

    @property
    def _wants_to_verify(self) -> bool:
        provider = self._context.provider
        return self._context.verifies and provider is not None and not provider.space.dimensions

    def verify(self) -> None:
        """Ask the provider for its dimensions where only the index knows them: its model may have changed under its name."""
        provider, known = self._context.provider, self._space
        if provider is None or known is None or not self._wants_to_verify:
            return
        try:
            dimensions = len(provider.embed_query("memory", timeout_seconds=VERIFY_SECONDS))
        except ProviderError as error:
            log.debug("the dimensions of %s cannot be verified: %s", known.model, error)
            return
        if dimensions != known.dimensions:
            self._space, self._id = replace(known, dimensions=dimensions), None

    @property
    def may_embed(self) -> bool:
        """True if a provider makes embeddings in this sync."""
        return self._context.provider is not None and self._context.embeds

    def embed_ahead(self, prepared: Sequence[PreparedFile]) -> None:
        """Make the embeddings that some files will need once a rebuild has put them."""
        provider = self._context.provider
        if provider is None or not self._context.embeds:
            return
        wanted = {window.hash: window for file in prepared for chunk in file.chunks for window in chunk.list_pending()}
        if self._space is None:
            self._discover(provider, [*wanted.values()][:EMBED_STEP])
        if self._space is None or not self._context.embeds:
            return
        tokens = isinstance(provider, TokenEmbedder)
        with self._store.read() as reader:
            space_id = reader.list_spaces().get(self._space)
            held = set() if space_id is None else reader.find_embedded(space_id, wanted, tokens=tokens)
        missing = [window for key, window in wanted.items() if key not in held]
        try:
            for windows in self._embed_windows(provider, missing):
                self._put(self._space, windows)
                done = self._context.counts.embedded
                self._context.report_progress(Progress(phase="embeddings", done=done, total=max(done, len(missing))))
        except ProviderError as error:
            if not isinstance(error, REFUSALS):  # single texts are tried again with all that is missing
                self._problem, self._context.embeds = error, False

    def plan(self, writer: Writer, since: int | None = 0) -> None:
        """Find what lacks an embedding, in the transaction that has put the last texts, and tell the index which space is filled.

        Args:
            writer: Of the index.
            since: The id of the first chunk that may lack some; None if none does.
        """
        context, provider, state = self._context, self._context.provider, writer.load_state()
        if provider is None:
            self._is_planned = True
            if context.problem is not None:
                reason = _advise(str(context.problem), context.problem)
                context.counts.pending = writer.count_pending(state.serving)
                context.counts.warnings.append(reason)
                writer.save_state(pending_reason=reason)
            elif state.serving is not None:
                writer.save_state(serving=None, complete=None, target=None, pending_reason=None)
            return
        if self._space is None:  # until its first vectors are there
            return
        self._is_planned = True
        self._id = space_id = writer.add_space(self._space)
        writer.save_state(target=None if state.serving in (None, space_id) else space_id)
        if since is None:
            self._missing = 0, Pending([])
            return
        tokens = isinstance(provider, TokenEmbedder)
        count = writer.count_pending(space_id, since=since, tokens=tokens)
        context.counts.cached = writer.count_windows(since=since, distinct=True) - count - context.counts.embedded
        first = Pending([])
        if count and context.embeds:
            first = writer.find_pending(space_id, (since, -1), EMBED_STEP, tokens=tokens)
        self._missing = count, first

    def run(self, since: int | None = 0) -> None:
        """Embed what is pending in the configured space.

        Args:
            since: See `plan`, which is called if nobody has.
        """
        context, provider = self._context, self._context.provider
        if provider is not None and self._space is None:
            if context.embeds:
                with self._store.read() as reader:
                    pending = reader.find_pending(None, START, EMBED_STEP)
                self._discover(provider, pending.windows)
            if self._space is None:
                if self._state.target != "unknown":
                    with self._store.write() as writer:
                        writer.save_state(target="unknown")
                return
        is_done = self.is_idle if provider is None else self.is_complete and self._state.target is None
        if not self._is_planned and not is_done:
            with self._store.write() as writer:
                self.plan(writer, since)
        space, space_id = self._space, self._id
        if self._missing is None or provider is None or space is None:
            return
        count, first = self._missing
        if not context.embeds:
            context.counts.pending = count
            if self._problem is not None:
                self._record_pending(count, self._problem)
            return
        steps = self._list_steps(space_id, first, tokens=isinstance(provider, TokenEmbedder))
        self._has_tried = self._embed(provider, space, steps, count)

    def _list_steps(self, space_id: int | None, step: Pending, *, tokens: bool) -> Iterator[Sequence[PendingWindow]]:
        """Yield the windows to embed in steps, each but the first of which is found when it is asked for."""
        while step.behind is not None:
            yield step.windows
            with self._store.read() as reader:
                step = reader.find_pending(space_id, step.behind, EMBED_STEP, tokens=tokens)
        if step.windows:
            yield step.windows

    @property
    def has_ended(self) -> bool:
        """True if `end` has nothing to do."""
        return not self._has_tried

    def end(self, writer: Writer) -> None:
        """Let the configured space serve once every text was tried."""
        context, space_id = self._context, self._id
        if not self._has_tried or space_id is None:
            return
        calibrate(writer, space_id, context.provider)
        values: StateValues = {"serving": space_id, "target": None, "complete": None, "refused": self._refused}
        if context.counts.pending <= len(self._unsent):
            values["complete"] = space_id
        if not context.counts.pending:
            values["pending_reason"] = None
        writer.save_state(**values)

    def _discover(self, provider: EmbeddingProvider, pending: Sequence[PendingWindow]) -> None:
        """Embed some texts, whose vectors tell the dimensions of the provider's space."""
        try:
            for windows in self._embed_windows(provider, pending):
                self._space = self._space or replace(provider.space, dimensions=windows.rows.shape[1])
                self._put(self._space, windows)
        except ProviderError as error:
            if self._space is None or not isinstance(error, REFUSALS):
                with self._store.read() as reader:
                    space_id = None if self._space is None else reader.list_spaces().get(self._space)
                    count = reader.count_pending(space_id)
                self._record_pending(count, error)
                self._context.embeds = False

    def _put(self, space: Space, windows: EmbeddedWindows) -> None:
        """Commit some embeddings; where no space served before, this one does from then on.

        Raises:
            ProviderUnavailable: The vectors have other dimensions than those of their space: the model has changed under its
                name. The next sync fills another space.
        """
        dimensions = windows.rows.shape[1]
        with self._store.write() as writer:
            space_id = writer.add_space(replace(space, dimensions=dimensions))
            if dimensions != space.dimensions:
                writer.save_state(target=space_id)
            else:
                writer.put_embeddings(space_id, windows)
                if writer.load_state().serving is None:
                    writer.save_state(serving=space_id)
        if dimensions != space.dimensions:
            raise ProviderUnavailable(
                space.provider,
                f"its vectors have {dimensions} dimensions now, and had {space.dimensions}",
                action="sync again",
            )
        self._context.counts.embedded += len(windows.rows)

    def _record_pending(self, count: int, problem: ProviderError) -> None:
        self._context.check_stop()
        counts, reason = self._context.counts, _advise(str(problem), problem)
        counts.pending, counts.problem = count, problem
        counts.warnings.append(_advise(f"{count} texts wait for their embedding ({problem})", problem))
        if self._state.pending_reason != reason:
            self._state = replace(self._state, pending_reason=reason)
            with self._store.write() as writer:
                writer.save_state(pending_reason=reason)
        log.warning("%d texts wait for their embedding: %s", count, problem)

    def _embed(
        self, provider: EmbeddingProvider, space: Space, steps: Iterator[Sequence[PendingWindow]], count: int
    ) -> bool:
        """Embed and commit; return False when the provider is out of order, so that not every text was tried.

        Args:
            provider: Embeds.
            space: Its space.
            steps: The windows to embed.
            count: The number of different texts in them.
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
            context.counts.pending = len(self._unsent)
            if self._unsent:
                told = f"{len(self._unsent)} texts have no embedding: the provider refuses them alone; status names their notes"
                context.counts.warnings.append(told)
            return True
        self._record_pending(count - (context.counts.embedded - before), problem)
        context.embeds = isinstance(problem, REFUSALS)
        return context.embeds

    def _embed_windows(
        self, provider: EmbeddingProvider, pending: Sequence[PendingWindow]
    ) -> Iterator[EmbeddedWindows]:
        """Embed some windows; before the first of them leave this machine, say in the log where they go.

        A text that the provider refuses alone is remembered, and not sent to its model again for `REFUSED_SECONDS`.
        """
        names = {window.hash: name_refused(provider.space, window.hash) for window in pending}
        self._unsent |= {key for key, name in names.items() if name in self._refused}
        pending = [window for window in pending if names[window.hash] not in self._refused]
        from memory_core.embeddings.credentials import announce, find_destination

        destination = find_destination(provider.space) if pending else None
        folders = list_folders(self._context.config) if destination is not None else ()
        told = dict.fromkeys((*self._state.destinations, *(f"{destination}: {folder}" for folder in folders)))
        if destination is not None and len(told) > len(self._state.destinations):
            self._state = replace(self._state, destinations=tuple(told))
            with self._store.write() as writer:
                writer.save_state(destinations=self._state.destinations)
            announce(destination, folders)
        left = {window.hash for window in pending}
        try:
            for windows in _embed_windows(provider, pending):
                left.difference_update(windows.hashes)
                yield windows
        except TextRefused:
            self._unsent |= left
            refused = self._refused | dict.fromkeys((names[key] for key in left), time.time())
            self._refused = dict([*refused.items()][-MOST_REFUSED:])
            with self._store.write() as writer:
                writer.save_state(refused=self._refused)
            raise


def _find_like(space: Space, state: SyncState, spaces: Mapping[Space, int]) -> Space | None:
    """Return the space that differs in nothing but its dimensions; None when there is none.

    Of several, the one that syncs fill goes before the one that serves, and that before the one last made.
    """
    found = [each for each in spaces if replace(each, dimensions=0) == replace(space, dimensions=0)]
    return max(
        reversed(found), key=lambda each: (spaces[each] == state.target, spaces[each] == state.serving), default=None
    )


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
    """Return a sentence followed by what to do about a problem, without a full stop."""
    action = problem.action.rstrip(".")
    return f"{sentence}; {action[:1].lower()}{action[1:]}" if action else sentence


def calibrate(writer: Writer, space_id: int, provider: object, *, anew: bool = False) -> None:
    """Estimate the calibration of a space and store it, unless the provider knows its own.

    Args:
        writer: Of the index.
        space_id: The space.
        provider: The provider of the space. For a table of tokens the estimate is made at every call.
        anew: Make it although the number of windows has hardly changed since the last estimate.
    """
    if is_calibrated(provider):
        return
    windows, held = writer.count_windows(), writer.load_calibration(space_id)
    if anew or isinstance(provider, TokenModel) or held is None or is_outdated(held[1], windows):
        rows = writer.sample_embeddings(space_id, SAMPLE)
        writer.put_calibration(space_id, estimate(rows, windows), windows=windows)
