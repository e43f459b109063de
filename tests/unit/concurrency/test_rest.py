"""A process at rest: every owner lets go of what it keeps, as long as it lives."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from memory_core.concurrency.rest import release_at_rest, rest

if TYPE_CHECKING:
    import pytest


class Keeper:
    def __init__(self) -> None:
        self.kept: list[str] = ["a table"]
        release_at_rest(self, Keeper.release)

    def release(self) -> bool:
        was_kept = bool(self.kept)
        self.kept.clear()
        return was_kept


def test_all_owners_release_what_they_keep() -> None:
    keepers = [Keeper(), Keeper()]
    assert rest()
    assert [keeper.kept for keeper in keepers] == [[], []]
    keepers[1].kept.append("another")
    assert rest()
    assert not keepers[1].kept
    assert not any(keeper.release() for keeper in keepers)


def test_an_owner_is_not_kept_alive() -> None:
    keeper = Keeper()
    released: list[str] = keeper.kept
    del keeper
    gc.collect()
    rest()
    assert released == ["a table"]


def test_an_owner_that_fails_keeps_no_other_from_it(caplog: pytest.LogCaptureFixture) -> None:
    class Failing:
        def __init__(self) -> None:
            release_at_rest(self, Failing.release)

        def release(self) -> bool:
            raise OSError("the disk is gone")

    failing, keeper = Failing(), Keeper()
    assert rest()
    assert not keeper.kept
    assert "Failing cannot release what it keeps" in caplog.text
    del failing
