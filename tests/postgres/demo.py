"""`make demo-postgres`: two agents on two "hosts" find each other's shared note, and not their private ones."""

from __future__ import annotations

import tempfile
from pathlib import Path

import memory_core
from memory_core import CallContext
from tests.servers.postgres import RealServer, make_database

CALLER = CallContext(session_key="agent:main:main", chat_type="direct")
PEOPLE = {"ada": "bob", "bob": "ada"}


def main() -> None:
    """Start a server, and two hosts that know nothing of each other's files."""
    print("Starting a PostgreSQL server with pgvector ...")
    server = RealServer()
    try:
        with tempfile.TemporaryDirectory() as scratch:
            show(Path(scratch), server)
    finally:
        server.stop()


def show(folder: Path, server: RealServer) -> None:
    """Let each agent write a private note and one for the team, then ask for all of them."""
    database = make_database(server)
    for name, other in PEOPLE.items():
        # The role writes its private tenant and its own part of the team's notes, and reads the other's part.
        database.add_role(name, writes=(name, f"team-{name}"))
        operator = database.operator()
        operator.grant(f"{database.name}_{name}", f"team-{other}", write=False)
        operator.close()
    notes = {
        "ada": ("My salary talk is on 3 May.", "The staging server needs a VPN since March."),
        "bob": ("My dentist is on Harbour Street.", "Deployments go out on Tuesdays, by Bob's script."),
    }
    for name, (private, shared) in notes.items():
        for tenant, text in ((name, private), (f"team-{name}", shared)):
            workspace = folder / name / tenant
            workspace.mkdir(parents=True)
            (workspace / "MEMORY.md").write_text(f"{text}\n")
            with open_host(folder, server, database.name, name, tenant) as memory:
                memory.sync()
            print(f"{name}'s host indexed into the tenant {tenant}: {text}")
    for name, other in PEOPLE.items():
        with open_host(folder, server, database.name, name, name, f"team-{name}", f"team-{other}") as memory:
            for question in ("When do deployments go out?", "What does the staging server need?", notes[other][0]):
                found = memory.call_tool("memory_search", {"query": question}, CALLER)
                hits = [f"{hit['path']}: {hit['snippet'].strip()}" for hit in found["results"]]
                print(f"\n{name} asks: {question}\n  " + ("\n  ".join(hits) or "nothing"))
                assert not any(notes[other][0] in hit for hit in hits)


def open_host(
    folder: Path, server: RealServer, database: str, name: str, tenant: str, *others: str
) -> memory_core.Memory:
    """Open memory on the host of an agent, whose files lie in a folder of their own."""
    section = {
        "dsn": server.dsn(database, f"{database}_{name}"), "schema": database, "tenant": tenant,
        "tenants": [*others], "statementTimeoutMs": 20_000,
    }  # fmt: skip
    config = {"memorySearch": {"provider": "static"}, "memory": {"backend": "postgres", "postgres": section}}
    return memory_core.open_memory(
        config, workspace=folder / name / tenant, state_dir=folder / name / f"state-{tenant}"
    )


if __name__ == "__main__":
    main()
