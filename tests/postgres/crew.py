"""Writers of one tenant and what is done to them: kills of writers and of the server, and leases that end while a writer sleeps.

`python -m tests.postgres.crew --minutes 10` runs it for long, prints what was done and each finding, and exits 1 if there is any.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import psycopg

from tests.postgres.agents import open_agent
from tests.postgres.writer import write_text
from tests.servers.postgres import Database, RealServer, make_database

WRITERS = 8
_COUNTERS = """
SELECT t.chunks, (SELECT count(*) FROM chunks c WHERE c.tenant_id = t.id),
  t.words, (SELECT coalesce(sum(words), 0)::bigint FROM chunks c WHERE c.tenant_id = t.id) FROM tenants t
"""
_ODD = {
    "a chunk of no note": "SELECT count(*) FROM chunks c WHERE NOT EXISTS (SELECT 1 FROM notes n WHERE n.tenant_id ="
    " c.tenant_id AND n.id = c.note_id)",
    "a window of no chunk": "SELECT count(*) FROM windows w WHERE NOT EXISTS (SELECT 1 FROM chunks c WHERE c.tenant_id"
    " = w.tenant_id AND c.id = w.chunk_id)",
    "a chunk without windows": "SELECT count(*) FROM chunks c WHERE NOT EXISTS (SELECT 1 FROM windows w WHERE"
    " w.tenant_id = c.tenant_id AND c.id = w.chunk_id)",
    "a doubled path": "SELECT count(*) - count(DISTINCT (tenant_id, source, path)) FROM notes",
    "a doubled chunk": "SELECT count(*) - count(DISTINCT (tenant_id, note_id, start_line, hash)) FROM chunks",
}
_UNEMBEDDED = (
    "SELECT count(*) FROM windows w WHERE NOT EXISTS (SELECT 1 FROM embeddings e WHERE e.tenant_id = w.tenant_id"
    " AND e.hash = w.hash)"
)
_TEXTS = (
    "SELECT n.path, c.context || chr(10) || c.text FROM notes n"
    " JOIN chunks c ON c.tenant_id = n.tenant_id AND c.note_id = n.id ORDER BY n.path, c.start_line"
)


class Crew:
    """Eight processes that change and sync the notes of one workspace.

    Attributes:
        done: How often each thing was done to them.
        findings: What is wrong, a sentence each.
    """

    def __init__(self, folder: Path, server: RealServer, database: Database, *, seed: int) -> None:
        self._folder, self._server, self._database = folder, server, database
        self._dice = random.Random(seed)
        self._seed = seed
        self._started = 0
        self._writers: list[subprocess.Popen[bytes]] = []
        self.done: Counter[str] = Counter()
        self.findings: list[str] = []
        for name in ("revisions", "notes/memory", "drafts", "journals", "states"):
            (folder / name).mkdir(parents=True)
        self._dsn = database.add_role("crew", writes=("shared",))
        (folder / "dsn").write_text(f"{self._dsn}\n{database.schema}\n")

    def run(self, *, rounds: int, pause_seconds: float) -> None:
        """Let them write, do something to them `rounds` times, end all, and check what is on the server."""
        try:
            for _ in range(WRITERS):
                self._start_writer()
            attacks = [self._kill_writer, self._kill_server, self._steal_lease]
            for number in range(rounds):
                self._let_them_write(pause_seconds)
                attacks[number % len(attacks)]()
            self._let_them_write(pause_seconds)
        finally:
            for writer in self._writers:
                writer.kill()
                writer.wait()
        self._check_acknowledged()
        self._check_whole()

    def _start_writer(self) -> None:
        self._started += 1
        name = f"w{self._started}"
        command = [sys.executable, "-m", "tests.postgres.writer", str(self._folder), name, f"{self._seed}-{name}"]
        self._writers.append(subprocess.Popen(command, stdin=subprocess.DEVNULL))

    def _let_them_write(self, seconds: float) -> None:
        """Wait that long, and then until somebody has synced since."""
        time.sleep(self._dice.uniform(0.2, 1.8) * seconds)
        before, until = self._count_synced(), time.monotonic() + 120
        while self._count_synced() == before:
            if any(writer.poll() is not None for writer in self._writers):
                raise RuntimeError("a writer ended by itself")
            if time.monotonic() > until:
                raise RuntimeError("no writer syncs any more")
            time.sleep(0.05)

    def _count_synced(self) -> int:
        return sum(line.startswith("synced") for line in self._list_lines())

    def _list_lines(self) -> list[str]:
        """Return the whole lines of all journals."""
        texts = [path.read_text() for path in (self._folder / "journals").iterdir()]
        return [line for text in texts for line in text[: text.rfind("\n") + 1].splitlines()]

    def _kill_writer(self) -> None:
        victim = self._writers.pop(self._dice.randrange(len(self._writers)))
        victim.kill()
        victim.wait()
        self._start_writer()
        self.done["writers killed"] += 1

    def _kill_server(self) -> None:
        self._server.kill()
        self._server.start()
        self.done["servers killed"] += 1

    def _steal_lease(self) -> None:
        """Let all but two writers sleep, and the lease end: what they push when they wake up comes late."""
        sleeping = self._dice.sample(self._writers, WRITERS - 2)
        for writer in sleeping:
            writer.send_signal(signal.SIGSTOP)
        try:
            with self._connect() as admin:
                admin.execute("UPDATE tenants SET lease_until = now() - interval '1 second'")
            self._let_them_write(0.5)
        finally:
            for writer in sleeping:
                writer.send_signal(signal.SIGCONT)
        self.done["leases stolen"] += 1

    def _connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        """Connect as the server's superuser; wait until it takes connections again."""
        until = time.monotonic() + 60
        while True:
            try:
                connection = psycopg.connect(self._database.admin_dsn, autocommit=True)
            except psycopg.OperationalError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)
            else:
                connection.execute(f'SET search_path = "{self._database.schema}"'.encode())
                return connection

    def _check_acknowledged(self) -> None:
        """Compare the server with the journals: of each note it holds what was synced last, or something begun later."""
        synced: dict[int, tuple[int, str]] = {}
        begun: defaultdict[int, set[tuple[int, str]]] = defaultdict(set)
        for line in self._list_lines():
            what, _, rest = line.partition(" ")
            if what == "failed":
                self.done[f"syncs that ended with {rest.partition(' ')[0]}"] += 1
                continue
            note, revision, kind = rest.split()
            change = int(revision), kind
            if what == "synced":
                self.done["changes acknowledged"] += 1
                synced[int(note)] = max(change, synced.get(int(note), change))
            else:
                begun[int(note)].add(change)
        held = self._load_texts()
        for number, (last, how) in sorted(synced.items()):
            text = held.get(f"memory/note-{number:02}.md")
            allowed = {each for each in begun[number] if each[0] >= last}
            if text is None:
                if "deleted" not in {each for _, each in allowed}:
                    self.findings.append(f"lost: note {number}, of which revision {last} was {how} and synced")
            elif not any(text == write_text(number, each) for each, way in allowed if way == "written"):
                self.findings.append(f"lost: note {number} has an older text than revision {last}, {how} and synced")

    def _load_texts(self) -> dict[str, str]:
        """Return the notes as the server holds them, the last sync of a killed writer's included or not."""
        backend = open_agent(
            self._folder / "states", "reader", self._dsn, self._database.schema,
            tenant="shared", workspace=self._folder / "notes",
        )  # fmt: skip
        try:
            with backend._server.read() as reader, self._connect() as admin:
                paths = [path for (path,) in admin.execute("SELECT path FROM notes WHERE hash <> ''").fetchall()]
                return {path: f"{reader.load_text(path)}\n" for path in paths}
        finally:
            backend.memory_close()

    def _check_whole(self) -> None:
        """Sync once more, then compare the tenant with one that holds the same notes from the start."""
        self._check_rows()
        fresh_dsn = self._database.add_role("fresh", writes=("fresh",))
        workspace = self._folder / "notes"
        rows = {}
        for name, dsn in (("shared", self._dsn), ("fresh", fresh_dsn)):
            backend = open_agent(
                self._folder / "states", f"last-{name}", dsn, self._database.schema, tenant=name, workspace=workspace
            )
            report = backend.memory_sync(False, None)
            backend.memory_close()
            with psycopg.connect(dsn) as connection:
                connection.execute(f'SET search_path = "{self._database.schema}"'.encode())
                rows[name] = connection.execute(_TEXTS.encode()).fetchall()
            if report.failures or report.pending:
                self.findings.append(f"the last sync of {name} leaves something out: {report}")
        if rows["shared"] != rows["fresh"]:
            self.findings.append("the tenant holds other chunks than one made anew")
        self.done["notes at the end"] = len(list((workspace / "memory").iterdir()))
        self._check_rows(embedded=True)

    def _check_rows(self, *, embedded: bool = False) -> None:
        """Check counters and rows, which are right at every moment; embeddings after a sync that has ended."""
        with self._connect() as admin:
            for chunks, counted, words, summed in admin.execute(_COUNTERS).fetchall():
                if (chunks, words) != (counted, summed):
                    self.findings.append(f"counters: {chunks} chunks of {counted}, {words} words of {summed}")
            odd = _ODD | ({"a window without its embedding": _UNEMBEDDED} if embedded else {})
            for what, query in odd.items():
                ((count,),) = admin.execute(query.encode()).fetchall()
                if count:
                    self.findings.append(f"{what}: {count}")


def main() -> int:
    """Run for some minutes."""
    parser = argparse.ArgumentParser(prog="python -m tests.postgres.crew")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=14)
    arguments = parser.parse_args()
    until, seed = time.monotonic() + arguments.minutes * 60, arguments.seed
    findings = 0
    while time.monotonic() < until:
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            server = RealServer()
            stack.callback(server.stop)
            crew = Crew(Path(folder), server, make_database(server), seed=seed)
            crew.run(rounds=12, pause_seconds=2.0)
        print(f"seed {seed}: {dict(crew.done)}", *crew.findings, sep="\n  ", flush=True)
        findings += len(crew.findings)
        seed += 1
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
