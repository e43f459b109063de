"""When a server that stays looks after its memory: some time after calls, and when none has come for longer."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Awaitable, Callable

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


class Cycle:
    """Garbage that only a round of the upkeep collects, as long as Python does not collect by itself."""

    def __init__(self) -> None:
        self.me = self


def test_what_loading_needed_goes_back_soon_after_the_first_call_and_after_a_rest() -> None:
    model = Model()

    async def serve() -> None:
        upkeep = Upkeep(round_seconds=HANG_GUARD_SECONDS, settle_seconds=0.02, rest_seconds=0.3)
        async with upkeep.work():
            await _wait_until_gone(weakref.ref(Cycle()))  # what the start needed
            for released in (1, 2):
                garbage = weakref.ref(Cycle())
                upkeep.note_call()
                await _wait_until_gone(garbage)
                while model.released < released:
                    await anyio.sleep(0.01)
                model.loaded = True

    _run_without_collecting(serve)


def test_later_calls_are_followed_by_a_round_only_after_a_while() -> None:
    async def serve() -> None:
        upkeep = Upkeep(round_seconds=HANG_GUARD_SECONDS, settle_seconds=0.02, rest_seconds=HANG_GUARD_SECONDS)
        async with upkeep.work():
            await _wait_until_gone(weakref.ref(Cycle()))  # what the start needed
            garbage = weakref.ref(Cycle())
            upkeep.note_call()
            await _wait_until_gone(garbage)
            upkeep.note_call()
            garbage = weakref.ref(Cycle())
            await anyio.sleep(0.2)
            assert garbage() is not None

    _run_without_collecting(serve)


def _run_without_collecting(serve: Callable[[], Awaitable[None]]) -> None:
    gc.disable()
    try:
        anyio.run(_limited, serve)
    finally:
        gc.enable()


async def _wait_until_gone(garbage: weakref.ref[Cycle]) -> None:
    while garbage() is not None:
        await anyio.sleep(0.01)


async def _limited(serve: Callable[[], Awaitable[None]]) -> None:
    with anyio.fail_after(HANG_GUARD_SECONDS):
        await serve()
