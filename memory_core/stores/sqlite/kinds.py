"""The kinds of database files that memory-core writes, and the words in which errors speak of them."""

from __future__ import annotations

from dataclasses import dataclass

REBUILD = "rebuild it from the notes: memory-core index"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileKind:
    """A kind of database file of ours: its mark in the header, and the words in which its errors speak of it.

    Attributes:
        noun: Its name in a sentence, behind "the".
        application_id: Stands in the header of every file of the kind.
        repair: What the user can do about a damaged file.
        retry: What the user can do once there is space again.
        elsewhere: What the user can do about a file that cannot be opened or written.
        empty: A sentence about one that does not exist yet.
        fill: What the user can do about that.
    """

    noun: str
    application_id: int
    repair: str
    retry: str
    elsewhere: str
    empty: str
    fill: str

    @property
    def article(self) -> str:
        """The indefinite article of its noun."""
        return "an" if self.noun[0] in "aeiou" else "a"


INDEX = FileKind(
    noun="index",
    application_id=0x4D454D43,  # "MEMC"
    repair=REBUILD,
    retry="free some space, then run: memory-core index",
    elsewhere="choose another place: memorySearch.store.path",
    empty="nothing is indexed yet",
    fill="run: memory-core index",
)
