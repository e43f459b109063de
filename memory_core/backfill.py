"""Pays the embeddings that an index owes, and the token ids that late interaction needs; commits piece by piece."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from memory_core.calibration import SAMPLE, estimated, is_outdated
from memory_core.errors import InputTooLarge, InvalidEmbedding, ProviderError, ProviderUnavailable
from memory_core.hookspecs import Calibrated, Calibration, EmbeddingProvider, Space, TokenEmbedder, TokenModel
from memory_core.pieces import Piece, as_bytes, packed_ids, pieces
from memory_core.records import Progress
from memory_core.store import token_bits
from memory_core.store.rows import (
    NEXT,
    OwedWindow,
    chunks_without_tokens,
    count_owed,
    digest,
    embedded,
    owed_windows,
    texts_of,
)
from memory_core.store.spaces import calibration, find_space, newest_space_like, sample, serving_space
from memory_core.store.vectors import as_rows
from memory_core.work import GENERATION, LEVEL, OWED_BECAUSE, SERVING, WANTED, Work

log = logging.getLogger(__name__)

TOKEN_STEP = 256  # chunks whose tokens are computed and committed together
REFUSALS = (InputTooLarge, InvalidEmbedding)  # of single texts: the others were tried
EMBED_STEP = 4096  # texts handed to the provider together: bounds memory, far above every request's cap


class Backfill:
    """The vector side of one sync."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def is_level(self) -> bool:
        """Whether nothing is owed to the configured provider at this moment."""
        if self._work.provider is None:
            return False
        space = self._known_space(self._work.provider)
        return space is not None and self._spaces(space)[2]

    def ahead(self) -> None:
        """For a rebuild, before the switch: embeddings and tokens of its chunks."""
        work = self._work
        if work.provider is None or not work.embeds:
            return
        space = self._space(work.provider, NEXT)
        if space is None or not work.embeds:
            return
        space_id, _, _ = self._spaces(space)
        with work.store.read() as connection:
            owed = list(owed_windows(connection, space_id, NEXT, tokens=isinstance(work.provider, TokenEmbedder)))
        self._embed(work.provider, space, owed)
        self._fill_missing_tokens(work.provider, NEXT)

    def run(self, *, was_level: bool) -> None:
        """Embed what is owed in the configured space, and let that space serve once all of it was tried.

        Args:
            was_level: Nothing was owed before this sync, so only its fresh chunks can owe anything.
        """
        work = self._work
        if work.provider is None:
            self._without_provider()
            return
        space = self._space(work.provider)
        if space is None:
            self._note(WANTED, "")
            return
        space_id, serving, level = self._spaces(space)
        self._note(WANTED, None if serving in (None, space_id) else str(space_id))
        if level:
            return
        owed, windows = self._owed(space_id, fresh_only=was_level)
        work.tally.cached = windows - len(owed) - work.tally.embedded
        if not work.embeds:
            work.tally.owed = len(owed)
            return
        tried = self._embed(work.provider, space, owed)
        if was_level:
            fresh = [(number, texts_of(item.chunk.text, item.units)) for number, item in work.fresh.items()]
            self._fill_tokens(work.provider, fresh)
        else:
            self._fill_missing_tokens(work.provider)
        if tried:
            self._let_serve(space_id)

    def _spaces(self, space: Space) -> tuple[int, int | None, bool]:
        """The ids of the configured space and of the one that serves, and whether nothing is owed in the first."""
        with self._work.store.read() as connection:
            space_id = find_space(connection, space)
            serving = serving_space(connection)
            level, generation = (
                connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).get for key in (LEVEL, GENERATION)
            )
        if space_id is None:
            with self._work.store.write(content=False) as writer:
                space_id = writer.space_id(space)
        return space_id, None if serving is None else serving[0], level == f"{generation}:{space_id}"

    def _owed(self, space_id: int, *, fresh_only: bool) -> tuple[list[OwedWindow], int]:
        """What is owed, and among how many texts."""
        tokens = isinstance(self._work.provider, TokenEmbedder)
        with self._work.store.read() as connection:
            if not fresh_only:
                owed = list(owed_windows(connection, space_id, tokens=tokens))
                return owed, int(connection.execute("SELECT count(DISTINCT hash) FROM windows").get)
            wanted = {
                digest(window.text): texts_of(chunk.chunk.text, chunk.units[window.first : window.last + 1])
                for chunk in self._work.fresh.values()
                for window in chunk.windows
            }
            have = embedded(connection, space_id, wanted, tokens=tokens)
        return [OwedWindow(key, units) for key, units in wanted.items() if key not in have], len(wanted)

    def _let_serve(self, space_id: int) -> None:
        """Let this space serve; where nothing is owed, syncs that find no change need not look again."""
        worth, windows = self._calibration(space_id)
        with self._work.store.write(content=False) as writer:
            if worth is not None:
                writer.put_calibration(space_id, worth, windows=windows)
            self._work.index.level_bits(writer.connection, space_id)
            generation = writer.connection.execute("SELECT value FROM meta WHERE key = ?", (GENERATION,)).get
            level = None if self._work.tally.owed else f"{generation}:{space_id}"
            writer.set_meta({SERVING: str(space_id), LEVEL: level, WANTED: None})
            if level is not None:
                writer.set_meta({OWED_BECAUSE: None})

    def _calibration(self, space_id: int) -> tuple[Calibration | None, int]:
        """A new estimate of what cosines are worth, and among how many windows; None where the one that is held will do."""
        with self._work.store.read() as connection:
            windows = int(connection.execute("SELECT count(*) FROM windows").get)
            held = calibration(connection, space_id)
            current = held is not None and not is_outdated(held[1], windows)
            if current or isinstance(self._work.provider, Calibrated):
                return None, windows
            rows = sample(connection, space_id, SAMPLE)
        return estimated(as_rows(rows), windows), windows

    def _without_provider(self) -> None:
        """Count what is owed to a provider that could not be opened; with "none", no space serves any more."""
        work = self._work
        with work.store.read() as connection:
            serving = serving_space(connection)
            if work.problem is not None:
                work.tally.owed = count_owed(connection, serving[0] if serving else None)
                work.tally.warnings.append(str(work.problem))
        if work.problem is not None:
            self._note(OWED_BECAUSE, str(work.problem))
        elif serving is not None:
            work.note({SERVING: None, LEVEL: None, WANTED: None, OWED_BECAUSE: None})

    def _note(self, key: str, value: str | None) -> None:
        """For the status, in whatever process it is asked for."""
        with self._work.store.read() as connection:
            noted = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).get
        if noted != value:  # most searches write nothing
            self._work.note({key: value})

    def _known_space(self, provider: EmbeddingProvider) -> Space | None:
        """The provider's space; what it does not know of its dimensions, the index may. None when neither does."""
        space = provider.space
        if space.dimensions:
            return space
        with self._work.store.read() as connection:
            return newest_space_like(connection, space)

    def _space(self, provider: EmbeddingProvider, prefix: str = "") -> Space | None:
        """The same, learnt from the first embeddings where nobody knows; None when none came, and all is owed."""
        work = self._work
        space = self._known_space(provider)
        if space is not None or not work.embeds:
            return space
        with work.store.read() as connection:
            owed = list(islice(owed_windows(connection, None, prefix), EMBED_STEP))
        try:
            for offset, piece in pieces(provider, owed):
                space = space or replace(provider.space, dimensions=piece.rows.shape[1])
                self._put(space, owed[offset : offset + len(piece.rows)], piece)
        except ProviderError as error:
            if space is None or not isinstance(error, REFUSALS):
                self._owe(self._count_owed(space), error)
                work.embeds = False
        return space

    def _put(self, space: Space, windows: Sequence[OwedWindow], piece: Piece) -> None:
        """Commit one piece; where nothing served before, it counts at once."""
        _check_dimensions(space, piece.rows.shape[1])
        space_id, serving, _ = self._spaces(space)
        with self._work.store.write() as writer:
            writer.put_embeddings(space_id, as_bytes(windows, piece.rows))
            token_bits.put(
                writer.connection, space_id, zip((window.hash for window in windows), piece.bits, strict=False)
            )
            if serving is None:
                writer.set_meta({SERVING: str(space_id)})
        self._work.tally.embedded += len(piece.rows)

    def _count_owed(self, space: Space | None) -> int:
        space_id = None if space is None else self._spaces(space)[0]
        with self._work.store.read() as connection:
            return count_owed(connection, space_id)

    def _owe(self, count: int, problem: ProviderError) -> None:
        self._work.check_stop()
        self._work.tally.owed = count
        self._work.tally.problem = problem
        self._work.tally.warnings.append(f"{count} texts wait for their embedding ({problem})")
        self._note(OWED_BECAUSE, str(problem))
        log.warning("%d embeddings are owed: %s", count, problem)

    def _embed(self, provider: EmbeddingProvider, space: Space, owed: Sequence[OwedWindow]) -> bool:
        """Embed and commit piece by piece; False when the provider is out of order, so that not all were tried."""
        work, before, problem = self._work, self._work.tally.embedded, None
        log.debug("embedding %d texts", len(owed))
        for first in range(0, len(owed), EMBED_STEP):
            step = owed[first : first + EMBED_STEP]
            try:
                for offset, piece in pieces(provider, step):
                    self._put(space, step[offset : offset + len(piece.rows)], piece)
                    done = work.tally.embedded - before
                    work.step(Progress(phase="embeddings", done=done, total=len(owed)))
            except ProviderError as error:
                problem = error
                if not isinstance(error, REFUSALS):
                    break
        if problem is None:
            return True
        self._owe(len(owed) - (work.tally.embedded - before), problem)
        work.embeds = isinstance(problem, REFUSALS)
        return work.embeds

    def _fill_missing_tokens(self, provider: EmbeddingProvider, prefix: str = "") -> None:
        if isinstance(provider, TokenModel):
            with self._work.store.read() as connection:
                missing = list(chunks_without_tokens(connection, prefix))
            self._fill_tokens(provider, missing, prefix)

    def _fill_tokens(
        self, provider: EmbeddingProvider, missing: Sequence[tuple[int, Sequence[str]]], prefix: str = ""
    ) -> None:
        """Token ids of the units of some chunks, for late interaction."""
        if not isinstance(provider, TokenModel):
            return
        for first in range(0, len(missing), TOKEN_STEP):
            step = missing[first : first + TOKEN_STEP]
            ids = iter(provider.token_ids([text for _, texts in step for text in texts]))
            packed = [(chunk_id, packed_ids([next(ids) for _ in texts])) for chunk_id, texts in step]
            with self._work.store.write(content=False) as writer:
                (writer.building() if prefix else writer).put_tokens(packed)


def _check_dimensions(space: Space, dimensions: int) -> None:
    """A model that changed under its name must not be mixed with what it was; the next sync finds another space.

    Raises:
        ProviderUnavailable: The vectors have other dimensions than those of their space.
    """
    if dimensions != space.dimensions:
        raise ProviderUnavailable(
            space.provider,
            f"its vectors have {dimensions} dimensions now, and had {space.dimensions}",
            action="sync again",
        )
