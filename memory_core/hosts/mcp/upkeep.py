"""The memory of a server that stays: what calls needed for a moment goes back to the system, and at rest nearly all of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from memory_core.concurrency.rest import rest
from memory_core.hosts.allocation import give_back, unmap_code

ROUND_SECONDS = 15.0  # from a call to a round, which follows others too, and takes a twentieth of a second
SETTLE_SECONDS = (
    1.0  # the same from the first call at the start or after a rest: what loads the model needs 8 MB for a moment
)
REST_SECONDS = 60.0  # without a call; the next search takes a fifteenth of a second longer, with 10,000 chunks


class Upkeep:
    """Runs in the event loop, and begins as after a call: a server indexes what has changed as soon as it starts.

    Args:
        round_seconds: See `ROUND_SECONDS`.
        settle_seconds: See `SETTLE_SECONDS`.
        rest_seconds: See `REST_SECONDS`.
    """

    def __init__(
        self,
        *,
        round_seconds: float = ROUND_SECONDS,
        settle_seconds: float = SETTLE_SECONDS,
        rest_seconds: float = REST_SECONDS,
    ) -> None:
        self._round_seconds = round_seconds
        self._settle_seconds = settle_seconds
        self._rest_seconds = rest_seconds
        self._called = anyio.Event()

    def note_call(self) -> None:
        """Note that a call has ended."""
        self._called.set()

    @asynccontextmanager
    async def work(self) -> AsyncIterator[None]:
        """Look after the memory inside of the block."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._look_after_memory)
            yield
            group.cancel_scope.cancel()

    async def _look_after_memory(self) -> None:
        await self._give_back_after(self._settle_seconds, loaded=True)
        has_rested, left = True, self._rest_seconds
        while True:
            while not self._called.is_set():  # a sync that follows an edit reads some of it again
                with anyio.move_on_after(left):
                    await self._called.wait()
                    break
                await anyio.to_thread.run_sync(_rest, abandon_on_cancel=True)
                has_rested, left = True, self._rest_seconds
            pause = self._settle_seconds if has_rested else self._round_seconds
            await self._give_back_after(pause, loaded=has_rested)
            has_rested, left = False, max(self._rest_seconds - pause, 0)

    async def _give_back_after(self, seconds: float, *, loaded: bool) -> None:
        """Give back what calls needed; the code as well that only loading needed."""
        self._called = anyio.Event()
        await anyio.sleep(seconds)
        await anyio.to_thread.run_sync(give_back, abandon_on_cancel=True)
        if loaded:
            await anyio.to_thread.run_sync(unmap_code, abandon_on_cancel=True)


def _rest() -> None:
    if rest():
        give_back()
