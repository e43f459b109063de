"""Eight writers of one tenant through kills of writers and of the server, and what embedding costs twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_core.backends.postgres import PostgresBackend
from memory_core.config.fields import Secret
from memory_core.config.settings import Remote, SearchSettings
from memory_core.records import Query
from tests.postgres.agents import open_agent
from tests.postgres.crew import Crew
from tests.servers.loopback import Reply, Request, openai_error
from tests.servers.openai import OpenAIServer
from tests.servers.postgres import Database, RealServer, make_database


@pytest.fixture
def server() -> Iterator[RealServer]:
    """A server of one test, which may be killed."""
    made = RealServer()
    yield made
    made.stop()


def test_nothing_is_lost_or_doubled_through_kills(tmp_path: Path, server: RealServer) -> None:
    """A short one; `python -m tests.postgres.crew` is the long one."""
    crew = Crew(tmp_path, server, make_database(server), seed=5)
    crew.run(rounds=4, pause_seconds=1.0)
    assert crew.findings == []
    assert crew.done["writers killed"] == 2
    assert crew.done["servers killed"] == crew.done["leases stolen"] == 1
    assert crew.done["changes acknowledged"] > 0


def embed_with(provider: OpenAIServer) -> SearchSettings:
    """Return settings for a model whose dimensions are known, so that no sync asks for them."""
    remote = Remote(base_url=provider.url, api_key=Secret("sk-test"))
    return SearchSettings(provider="openai", model="text-embedding-3-small", remote=remote)


def count_texts(provider: OpenAIServer) -> int:
    return sum(map(len, provider.batches()))


class Team:
    """Hosts of one tenant that embed with one provider, whose calls are counted.

    Attributes:
        provider: Counts.
        workspace: The notes, which all hosts see under one path.
    """

    def __init__(self, folder: Path, provider: OpenAIServer, database: Database) -> None:
        self._folder, self._database = folder, database
        self.provider = provider
        self.workspace = folder / "notes"
        self._dsn = database.add_role("host", writes=("team",))

    def open(self, host: str) -> PostgresBackend:
        return open_agent(
            self._folder, host, self._dsn, self._database.schema,
            tenant="team", workspace=self.workspace, search=embed_with(self.provider),
        )  # fmt: skip

    def sync(self, host: str, *, force: bool = False) -> int:
        """Sync as a host that has just started; return how many texts the provider was sent for it."""
        before = count_texts(self.provider)
        backend = self.open(host)
        assert backend.memory_sync(force, None).pending == 0
        backend.memory_close()
        return count_texts(self.provider) - before


def test_content_that_the_tenant_has_embedded_costs_no_call_from_any_host(tmp_path: Path) -> None:
    with OpenAIServer(dimensions=1536) as provider:
        team = Team(tmp_path, provider, make_database())
        (team.workspace / "memory").mkdir(parents=True)
        notes = [team.workspace / f"memory/note-{number}.md" for number in range(5)]
        for number, note in enumerate(notes):
            note.write_text(f"# Gate {number}\n\nThe gate number {number} is green.\n")
        texts = team.sync("one")
        assert texts >= 5
        assert team.sync("two") == 0
        assert team.sync("three", force=True) == 0
        notes[0].rename(team.workspace / "memory/moved.md")
        kept = notes[1].read_text()
        notes[1].unlink()
        assert team.sync("two") == 0
        notes[1].write_text(kept)  # deleted by one host, written again by another
        assert team.sync("four") == 0
        notes[2].write_text(kept)
        assert team.sync("one") == 0
        notes[3].write_text("# Gate 3\n\nThe gate number 3 is brown.\n")
        assert 0 < team.sync("two") < texts
        assert team.sync("one") == 0


def test_a_tenant_does_not_use_what_another_one_has_embedded(tmp_path: Path) -> None:
    """A cache that tenants share would tell one, by its time, which text the other holds."""
    with OpenAIServer(dimensions=1536) as provider:
        database = make_database()
        search = embed_with(provider)
        sent = []
        for name in ("ada", "bob"):
            dsn = database.add_role(name, writes=(name,))
            backend = open_agent(tmp_path, name, dsn, database.schema, search=search)
            (tmp_path / name / "notes/MEMORY.md").write_text("The gate is green.\n")
            before = count_texts(provider)
            backend.memory_sync(False, None)
            sent.append(count_texts(provider) - before)
            assert backend.memory_search(Query(text="gate")).hits
            backend.memory_close()
        assert sent[0] == sent[1] > 0


class PickyServer(OpenAIServer):
    """Refuses each request with a certain word in it."""

    def answer(self, request: Request) -> Reply:
        if "kayak" in str(request.json().get("input")):
            return openai_error(400, "The input was filtered due to the content management policy")
        return super().answer(request)


def test_a_text_that_is_refused_costs_no_other_its_embedding_and_is_not_sent_by_the_next_host(tmp_path: Path) -> None:
    with PickyServer(dimensions=1536) as provider:
        team = Team(tmp_path, provider, make_database())
        (team.workspace / "memory").mkdir(parents=True)
        for number in range(6):
            text = "Olaf sold me a red kayak." if number == 3 else f"The gate number {number} is green."
            (team.workspace / f"memory/note-{number}.md").write_text(f"# Gate {number}\n\n{text}\n")
        for host in ("one", "two"):
            before = count_texts(provider)
            backend = team.open(host)
            backend.memory_sync(False, None)
            status = backend.memory_status()
            backend.memory_close()
            assert (status.embeddings, status.pending) == (5, 1)
            assert status.details["refused by the provider"] == "a text of memory/note-3.md"
        assert count_texts(provider) == before
