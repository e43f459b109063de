"""When a server that stays looks after its memory: some time after calls, and when none has come for longer."""

from __future__ import annotations

import anyio

from memory_core.concurrency.rest import release_at_rest
from memory_core.hosts.mcp.upkeep import Upkeep
from tests.waiting import HANG_GUARD_SECONDS


class Model:
    """Is loaded by use, and counts how often it was let go of."""

    def __init__(self) -> None:
        self.loaded = True
        self.released = 0
        release_at_rest(self, Model.release)

    def release(self) -> bool:
        was_loaded, self.loaded = self.loaded, False
        self.released += was_loaded
        return was_loaded


def test_a_server_that_nobody_calls_lets_go_of_what_it_keeps_again_and_again() -> None:
    model = Model()

    async def serve() -> None:
        upkeep = Upkeep(round_seconds=0.01, rest_seconds=0.05)
        async with upkeep.work():
            for times in (1, 2):
                while model.released < times:
                    await anyio.sleep(0.01)
                model.loaded = True  # a sync in the background has used it
            upkeep.note_call()
            while model.released < 3:
                await anyio.sleep(0.01)

    anyio.run(_limited, serve)


def test_a_server_that_is_called_keeps_it() -> None:
    model = Model()

    async def serve() -> None:
        upkeep = Upkeep(round_seconds=0.01, rest_seconds=HANG_GUARD_SECONDS)
        async with upkeep.work():
            for _ in range(10):
                upkeep.note_call()
                await anyio.sleep(0.02)

    anyio.run(_limited, serve)
    assert model.loaded


async def _limited(serve) -> None:  # type: ignore[no-untyped-def]
    with anyio.fail_after(HANG_GUARD_SECONDS):
        await serve()
