"""kill -9 at any moment of a sync: nothing that was committed is lost, nothing is left behind, nothing needs repair.

`MEMORY_CORE_KILLS` says how many; each is aimed at the phase that was hit least so far, and counted where it fell.
"""

from __future__ import annotations

import itertools
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw
import pytest
import sqlite_vec

from memory_core.backends.builtin import BuiltinBackend
from memory_core.config.settings import Cache, Chunking, SearchSettings, SyncSettings, Vector
from memory_core.embeddings.static import StaticProvider
from memory_core.hookspecs import BackendContext
from memory_core.records import Query
from memory_core.stores.sqlite.vectors import VectorIndex
from tests.command import REPOSITORY
from tests.index import Index

KILLS = int(os.environ.get("MEMORY_CORE_KILLS", "8"))
FILES, SECTIONS = 100, 20  # one chunk a section
WORDS = ("harbour", "dentist", "fence", "paint", "school", "kettle", "marble", "violin", "copper", "lantern")
PHASES = ("file", "embedding", "switch", "cleanup")
KINDS = ("index", "reindex", "force", "watch")
PATIENCE_SECONDS = 60.0

# Syncs as the backend and its background sync do, and writes one letter to standard output whenever a phase begins.
PROGRAM = """
import logging, os, sys
from pathlib import Path
from memory_core.embeddings.static import StaticProvider
from memory_core.sync.background import BackgroundSync
from memory_core.sync.watcher import Watcher
from tests.integration.test_crash import index_of

def tell(letter):
    os.write(1, letter.encode())

class Phases(logging.Handler):
    def emit(self, record):
        if letter := {"embedding": "e", "switching": "s", "giving": "c", "sync": "."}.get(str(record.msg).split()[0]):
            tell(letter)

def progress(step):
    if step.phase == "files" and step.done < step.total:
        tell("f")

logger = logging.getLogger("memory_core")
logger.setLevel(logging.DEBUG)
logger.addHandler(Phases())
kind, workspace, state, tokens = sys.argv[1:]
index, provider = index_of(Path(workspace), Path(state), int(tokens)), StaticProvider()
provider.embed_query("loads the model")
tell("r")
sys.stdin.readline()
if kind == "watch":
    background = BackgroundSync(lambda stop: index.sync(provider, stop=stop, progress=progress), debounce_seconds=0.05)
    Watcher(index.config).start(background)
    tell("w")
    sys.stdin.readline()
else:
    index.sync(provider, force=kind == "force", progress=progress)
"""
LETTERS = {"f": "file", "e": "embedding", "s": "switch", "c": "cleanup"}


def index_of(workspace: Path, state: Path, tokens: int) -> Index:
    """Open the index as both processes do: without spare embeddings, so that a reindex embeds, and signs from 500 vectors on."""
    search = SearchSettings(
        provider="static",
        chunking=Chunking(tokens=tokens, overlap=0),
        cache=Cache(enabled=False),
        sync=SyncSettings(on_search=False),
    )
    return Index(workspace, state, search, VectorIndex(Vector(), exact_limit=500))


@dataclass
class Life:
    """One workspace and its index, through many deaths.

    Attributes:
        tokens: The chunking that the next syncs have.
        seconds: How long each phase of each kind of sync lasted when it was last seen whole.
        hits: Where the kills fell.
    """

    workspace: Path
    state: Path
    dice: random.Random
    tokens: int = 40
    seconds: dict[tuple[str, str], float] = field(default_factory=dict)
    hits: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.numbers = itertools.count()
        for n in range(FILES):
            self.write(n)

    def write(self, n: int) -> None:
        """Give a note new text, by renaming a whole one over it, so that no half of it is ever read."""
        sections = "\n".join(f"# Section {n}.{s}\n\n{self.line()}\n{self.line()}\n" for s in range(SECTIONS))
        file = self.workspace / "memory" / f"note-{n:03}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_suffix(".draft")
        draft.write_text(sections)
        draft.replace(file)

    def line(self) -> str:
        return " ".join([*self.dice.choices(WORDS, k=9), f"n{next(self.numbers)}."])

    def edit(self, kind: str) -> None:
        """Change settings or notes, so that the next sync has work."""
        if kind == "reindex":
            self.tokens = (
                88 - self.tokens
            )  # 40 or 48: both hold a section, so the texts are equal and their cuts are not
        if kind != "force":
            for n in self.dice.sample(range(FILES), 25):
                self.write(n)
        if kind == "reindex":
            for n in self.dice.sample(range(FILES), 25):
                self.write(n)
        if kind == "index" and self.dice.random() < 0.3:
            for file in self.dice.sample(sorted((self.workspace / "memory").glob("*.md")), 5):
                file.unlink()

    def index(self) -> Index:
        return index_of(self.workspace, self.state, self.tokens)


class Victim:
    """A process that syncs and tells its phases."""

    def __init__(self, life: Life, kind: str) -> None:
        self.life, self.kind, self.phase = life, kind, ""
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, kind, str(life.workspace), str(life.state), str(life.tokens)],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.wait_for("r")

    def letters(self, deadline: float) -> Iterator[str]:
        """Yield what it prints, until the deadline or its end."""
        assert self.process.stdout is not None
        fd = self.process.stdout.fileno()
        while (left := deadline - time.monotonic()) > 0 and select.select([fd], [], [], left)[0]:
            if not (letters := os.read(fd, 1)):
                return
            self.phase = LETTERS.get(letters.decode(), self.phase)
            yield letters.decode()

    def wait_for(self, letter: str) -> bool:
        return any(told == letter for told in self.letters(time.monotonic() + PATIENCE_SECONDS))

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def kill(self, target: str) -> str:
        """Kill it in some moment of a phase; where that was, "" when the sync had ended."""
        steps = self.life.dice.randrange(20) if target == "file" else 0
        began = (
            letter for letter in self.letters(time.monotonic() + PATIENCE_SECONDS) if LETTERS.get(letter) == target
        )
        next(itertools.islice(began, steps, None), None)
        usual = 0.01 if target == "file" else self.life.seconds.get((self.kind, target), 0.05)
        ended = False
        for letter in self.letters(time.monotonic() + self.life.dice.random() * usual):
            ended |= letter == "."
        self.process.send_signal(signal.SIGKILL)
        for letter in self.letters(time.monotonic() + PATIENCE_SECONDS):  # told before it died
            ended |= letter == "."
        self.end()
        return "" if ended else self.phase

    def measure(self) -> None:
        """Let it sync to the end; how long its phases last."""
        starts: dict[str, float] = {}
        for letter in self.letters(time.monotonic() + PATIENCE_SECONDS):
            starts.setdefault(letter, time.monotonic())
            if letter == ".":
                break
        order = sorted((at, letter) for letter, at in starts.items())
        for (at, letter), (after, _) in itertools.pairwise(order):
            if letter in LETTERS:
                self.life.seconds[self.kind, LETTERS[letter]] = after - at
        self.process.kill()
        self.end()

    def end(self) -> None:
        self.process.wait(PATIENCE_SECONDS)
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()


def started(life: Life, kind: str) -> Victim:
    """A process in the middle of the work that the edits before it made."""
    if kind == "watch":
        victim = Victim(life, kind)
        victim.go()
        assert victim.wait_for("w")
        assert victim.wait_for(".")  # the first sync, which finds nothing
        life.edit(kind)
        return victim
    life.edit(kind)
    victim = Victim(life, kind)
    victim.go()
    return victim


def check_whole(path: Path) -> None:
    """From a connection of its own: the file is sound and its tables agree."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        db.enable_load_extension(True)
        db.load_extension(sqlite_vec.loadable_path())
        assert db.pragma("integrity_check") == "ok"
        chunks = _ids(db, "SELECT id FROM chunks")
        assert chunks == _ids(db, "SELECT rowid FROM chunks_fts")
        assert chunks == _ids(db, "SELECT DISTINCT chunk_id FROM windows")
        assert _ids(db, "SELECT DISTINCT file_id FROM chunks") == _ids(db, "SELECT id FROM files")
        assert db.execute("SELECT count(*) FROM pragma_foreign_key_check").get == 0
        meta = dict(db.execute("SELECT key, value FROM meta"))
        if "bits_space" in meta:
            wanted = "SELECT id FROM embedding_cache WHERE space_id = ? AND id <= ?"
            among = _ids(db, "SELECT rowid FROM chunks_vec")
            assert _ids(db, wanted, meta["bits_space"], meta["bits_last"]) <= among
    finally:
        db.close()


def _ids(db: apsw.Connection, sql: str, *values: Any) -> set[int]:
    return {row[0] for row in db.execute(sql, values)}


def check_answers(index: Index, word: str) -> None:
    """A reader that may not write, and so repairs nothing, finds a word of an older note."""
    backend = BuiltinBackend(BackendContext(config=index.config, access="ro"))
    try:
        result = backend.memory_search(Query(text=word, min_score=0.0))
    finally:
        backend.memory_close()
    assert result.hits
    assert result.mode == "hybrid"


def check_level(life: Life, provider: StaticProvider) -> None:
    """The next sync makes what a rebuild from scratch makes, and leaves nothing else in the folder."""
    index = life.index()
    twin = index_of(life.workspace, life.state / "twin", life.tokens)
    try:
        index.sync(provider)
        twin.sync(provider)
        assert index.content(provider) == twin.content(provider)
        check_whole(index.config.store_path)
        grown = index.config.store_path.stat().st_size / twin.config.store_path.stat().st_size
        assert grown < 2, grown
    finally:
        index.close()
        twin.close()
        for file in twin.state.iterdir():
            file.unlink()
        twin.state.rmdir()
    assert {file.name for file in life.state.iterdir()} <= {"main.sqlite", "main.sqlite.lock"}


@pytest.fixture
def life(tmp_path: Path) -> Life:
    return Life(tmp_path / "notes", tmp_path / "state", random.Random(20261121))


def test_kills_at_any_moment_lose_nothing(life: Life) -> None:
    provider = StaticProvider()
    life.index().sync(provider)
    kinds = {"file": KINDS, "embedding": KINDS, "switch": ("reindex", "force"), "cleanup": KINDS}
    for kind in KINDS:
        started(life, kind).measure()
    tried, falls = 0, Counter[str]()
    while sum(life.hits.values()) < KILLS:
        tried += 1
        assert tried < 4 * KILLS + 20, life.hits
        target = min(PHASES, key=lambda phase: (life.hits[phase], life.dice.random()))
        kind = life.dice.choice(kinds[target])
        fell = started(life, kind).kill(target)
        life.hits.update([fell] if fell else [])
        falls.update([f"{kind} {fell}"] if fell else [])
        check_whole(life.index().config.store_path)
        check_answers(life.index(), "harbour")
        check_level(life, provider)
    print(f"\n{sum(life.hits.values())} kills: {dict(life.hits)}; {dict(sorted(falls.items()))}")
    assert all(life.hits[phase] >= KILLS // 10 for phase in PHASES)


def test_killed_before_there_is_an_index(life: Life) -> None:
    """The first sync of all: whatever stands is whole, and the next one finishes it."""
    provider = StaticProvider()
    for moment in (0.0, 0.002, 0.02, 0.2):
        victim = Victim(life, "index")
        victim.go()
        time.sleep(moment)  # the moment is what is tried, not waited for
        victim.process.kill()
        victim.end()
        path = life.index().config.store_path
        if path.exists() and path.stat().st_size:
            db = apsw.Connection(str(path))
            assert db.pragma("integrity_check") == "ok"
            db.close()
    check_level(life, provider)
