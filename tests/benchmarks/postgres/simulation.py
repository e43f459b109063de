"""Many agents at the rate of people at work: each has a role, a tenant, a workspace and a connection of its own.

They run in a few processes, because this machine cannot hold thousands; what they do on the server is the same. Each searches
twice a minute and writes 20 notes a day, at random moments that do not wait for earlier answers: a search that comes late because
the machine is busy counts from the moment at which it was due. The number of agents grows until half of the answers take more
than a second.
"""

from __future__ import annotations

import heapq
import multiprocessing
import os
import random
import shutil
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

import psutil
import psycopg

from memory_core.backends.postgres import PostgresBackend
from memory_core.records import Query
from tests.benchmarks.daily_notes import Vocabulary, questions
from tests.benchmarks.postgres.meter import Row, count_server_seconds, summarise_wall
from tests.postgres.agents import open_agent
from tests.servers.postgres import Database, RealServer

SEARCH_SECONDS = 60 / 2  # from one search of an agent to the next, on average
NOTE_SECONDS = 24 * 3600 / 20
DRIVERS = 2
THREADS = 16  # of each driver: searches at a time
ENOUGH_MS = 1000  # a median above this ends the simulation
QUESTIONS = 400

_COPIES = (
    "SELECT c.name, o.workspace FROM tenants c JOIN tenants o ON o.name = 'agent' || split_part(c.name, '-', 2)"
    " WHERE c.name LIKE 'copy%%' ORDER BY md5(c.name) LIMIT %s"
)

Kind = Literal["search", "note"]


@dataclass(frozen=True)
class SimulatedAgent:
    """One agent whose tenant is loaded.

    Attributes:
        tenant: Its name, and the agent's.
        dsn: With a role of its own.
        workspace: Its notes.
    """

    tenant: str
    dsn: str
    workspace: Path


@dataclass(frozen=True)
class Done:
    """One search or push.

    Attributes:
        kind: Which.
        late: Seconds from the moment at which it was due to its end.
    """

    kind: Kind
    late: float


@dataclass(frozen=True)
class Outcome:
    """A driver's part of a simulation: what was done, and the processor time that it took."""

    done: list[Done]
    own_seconds: float


def simulate(folder: Path, database: Database, levels: Sequence[int], seconds: float) -> list[Row]:
    """Let more and more agents work for some seconds each; return a row for each number of agents."""
    agents = make_agents(folder, database, max(levels))
    spawning = multiprocessing.get_context("spawn")
    drivers = []
    for number in range(DRIVERS):
        here, there = spawning.Pipe()
        process = spawning.Process(target=_drive, args=(folder, database.schema, agents[number::DRIVERS], there))
        process.start()
        drivers.append((process, here))
    rows: list[Row] = []
    try:
        for level in levels:
            rows.append(_run_level(database.server, [pipe for _, pipe in drivers], level, seconds))
            if float(rows[-1]["p50_ms"]) > ENOUGH_MS:
                break
        for _, pipe in drivers:
            pipe.send(None)
    finally:
        for process, pipe in drivers:
            pipe.close()  # ends one that waits for its next level
            process.join(60)
            process.kill()
    return rows


def count_copies(database: Database) -> int:
    """Return the number of loaded tenants, each of which an agent may get."""
    with psycopg.connect(database.admin_dsn) as admin:
        ((count,),) = admin.execute(
            f"SELECT count(*) FROM \"{database.schema}\".tenants WHERE name LIKE 'copy%'".encode()
        ).fetchall()
    return int(count)


def make_agents(folder: Path, database: Database, count: int) -> list[SimulatedAgent]:
    """Give loaded copies of tenants an agent each, chosen at random, with a role and a workspace of its own."""
    made = []
    operator = database.operator()
    try:
        with psycopg.connect(database.admin_dsn, autocommit=True) as admin:
            admin.execute(f'SET search_path = "{database.schema}"'.encode())
            rows = admin.execute(_COPIES.encode(), (count,)).fetchall()
            if len(rows) < count:
                raise ValueError(f"{count} agents want as many tenants; there are {len(rows)}: load more chunks")
            for tenant, origin in rows:
                workspace = folder / "simulated" / tenant / "notes"
                shutil.copytree(origin, workspace, copy_function=os.link)
                role = f"{database.name}_{tenant}"
                admin.execute(f'CREATE ROLE "{role}" LOGIN'.encode())
                operator.grant(role, tenant, write=True)
                made.append(SimulatedAgent(tenant, database.server.dsn(database.name, role), workspace))
            for agent in made:  # each link has changed the stamps of all
                _settle(admin, agent)
            admin.execute("VACUUM notes")
    finally:
        operator.close()
    return made


def _settle(admin: psycopg.Connection[tuple[Any, ...]], agent: SimulatedAgent) -> None:
    """Tell a tenant that its notes lie in the agent's workspace and were looked at there."""
    stamps = [(path.relative_to(agent.workspace).as_posix(), path.stat()) for path in agent.workspace.rglob("*.md")]
    admin.execute(
        "WITH tenant AS (UPDATE tenants SET workspace = %s WHERE name = %s RETURNING id) UPDATE notes n SET size = s.size,"
        " mtime_ns = s.mtime, ctime_ns = s.ctime, inode = s.inode FROM tenant, unnest(%s::text[], %s::bigint[], %s::bigint[],"
        " %s::bigint[], %s::bigint[]) s (path, size, mtime, ctime, inode) WHERE n.tenant_id = tenant.id AND n.path = s.path",
        (
            os.path.realpath(agent.workspace), agent.tenant, [path for path, _ in stamps],
            [held.st_size for _, held in stamps], [held.st_mtime_ns for _, held in stamps],
            [held.st_ctime_ns for _, held in stamps], [held.st_ino for _, held in stamps],
        ),
    )  # fmt: skip


def _run_level(server: RealServer, pipes: Sequence[Connection], level: int, seconds: float) -> Row:
    for number, pipe in enumerate(pipes):
        pipe.send((len(range(number, level, len(pipes))), seconds))
    for pipe in pipes:
        pipe.recv()  # all of its agents have connected
    began = time.monotonic() + 0.5
    served = count_server_seconds(server.pid)
    for pipe in pipes:
        pipe.send(began)
    parts: list[Outcome] = [pipe.recv() for pipe in pipes]
    elapsed = time.monotonic() - began
    served = count_server_seconds(server.pid) - served
    done = [each for part in parts for each in part.done]
    searches = [each.late for each in done if each.kind == "search"]
    own = sum(part.own_seconds for part in parts)
    return {
        "agents": level, **summarise_wall(searches), "searches_a_second": round(len(searches) / elapsed, 1),
        "notes": len(done) - len(searches), "own_cpu_ms": round(own / len(searches) * 1000, 1),
        "server_cpu_ms": round(served / len(searches) * 1000, 1), "server_cores": round(served / elapsed, 2),
        "machine_cores": round((own + served) / elapsed, 2), **_look_at_connections(server),
    }  # fmt: skip


def _look_at_connections(server: RealServer) -> Row:
    """Return the number of connections, and the memory that one holds for itself."""
    held = []
    for process in psutil.Process(server.pid).children():
        try:
            if "_copy" in " ".join(process.cmdline()):  # the title tells the role, and so the tenant
                held.append(process.memory_full_info().uss)
        except psutil.NoSuchProcess:
            continue
    return {"connections": len(held), "connection_mb": round(sum(held) / max(len(held), 1) / 1e6, 1)}


def _drive(folder: Path, schema: str, agents: Sequence[SimulatedAgent], pipe: Connection) -> None:
    """Run the levels that the pipe tells, until it tells None or ends."""
    backends: list[PostgresBackend] = []
    try:
        while (told := pipe.recv()) is not None:
            count, seconds = told
            backends += [_open(folder, schema, agent) for agent in agents[len(backends) : count]]
            pipe.send("ready")
            pipe.send(_work(backends[:count], agents, seconds, pipe.recv()))
    except (EOFError, BrokenPipeError):
        pass
    finally:
        for backend in backends:
            backend.memory_close()


def _open(folder: Path, schema: str, agent: SimulatedAgent) -> PostgresBackend:
    """Open an agent that has looked at its notes and has searched once."""
    backend = open_agent(
        folder / "simulated", agent.tenant, agent.dsn, schema, workspace=agent.workspace, statement_timeout_ms=60_000
    )
    backend.memory_sync(False, None)
    backend.memory_search(Query(text=f"Where is {agent.tenant}?"))
    return backend


def _work(
    backends: Sequence[PostgresBackend], agents: Sequence[SimulatedAgent], seconds: float, began: float
) -> Outcome:
    dice, words, asked = random.Random(agents[0].tenant), Vocabulary(3), questions(QUESTIONS)
    done: list[Done] = []

    def act(at: float, number: int, kind: Kind, text: str) -> None:
        if kind == "search":
            backends[number].memory_search(Query(text=text, min_score=0.0))
        else:
            (agents[number].workspace / f"memory/note-{at:.6f}.md").write_text(f"{text}\n")
            backends[number].memory_sync(False, None)
        done.append(Done(kind, time.monotonic() - began - at))

    own = time.process_time()
    with ThreadPoolExecutor(THREADS) as pool:
        calls = []
        for at, number, kind in _plan(len(backends), seconds, dice):
            text = dice.choice(asked) if kind == "search" else words.text(60)
            time.sleep(max(0.0, began + at - time.monotonic()))
            calls.append(pool.submit(act, at, number, kind, text))
        for call in calls:
            call.result()
    time.sleep(max(0.0, began + seconds - time.monotonic()))
    return Outcome(done, time.process_time() - own)


def _plan(agents: int, seconds: float, dice: random.Random) -> Iterator[tuple[float, int, Kind]]:
    """Yield (second, agent, kind) of all that is due, in order."""
    means: dict[Kind, float] = {"search": SEARCH_SECONDS, "note": NOTE_SECONDS}
    waiting = [(dice.expovariate(1 / mean), number, kind) for kind, mean in means.items() for number in range(agents)]
    heapq.heapify(waiting)
    while waiting and waiting[0][0] < seconds:
        at, number, kind = waiting[0]
        yield at, number, kind
        heapq.heapreplace(waiting, (at + dice.expovariate(1 / means[kind]), number, kind))
