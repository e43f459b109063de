"""Every provider from one line of configuration to an answer: what it costs, what a second run costs, what is never shown."""

from __future__ import annotations

import importlib.util
import json
import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memory_core import open_memory
from memory_core.plugin.memory import Memory
from tests.servers.gemini import GeminiServer
from tests.servers.loopback import Reply, openai_error
from tests.servers.openai import OpenAIServer
from tests.waiting import eventually

KEY = "sk-planted-2b7d9e4f1a"
CHUNKS = 1000
litellm = pytest.mark.skipif(importlib.util.find_spec("litellm") is None, reason="litellm is not installed")


@dataclass(frozen=True)
class Way:
    """One provider: its configuration, its cap of texts a request, the model that answers."""

    provider: str
    cap: int
    model: str
    dimensions: int
    section: dict[str, Any]

    def __str__(self) -> str:
        return self.provider


WAYS = [
    Way("openai", 2048, "text-embedding-3-small", 1536, {}),
    Way("openrouter", 2048, "openai/text-embedding-3-small", 1536, {}),
    Way("mistral", 256, "mistral-embed", 1024, {}),
    Way("ollama", 64, "nomic-embed-text", 768, {}),
    Way("openai-compatible", 256, "some-model", 96, {"model": "some-model"}),
    pytest.param(
        Way("litellm", 96, "openai/some-model", 96, {"model": "openai/some-model"}), marks=litellm, id="litellm"
    ),
    Way("voyage", 1000, "voyage-4", 1024, {}),
    Way("gemini", 100, "gemini-embedding-001", 3072, {}),
]

Open = Callable[..., Memory]
EmbeddingServer = OpenAIServer | GeminiServer


def write_note(path: Path, number: int) -> None:
    """A note of 100 chunks of one window each."""
    sections = range(number * 100, (number + 1) * 100)
    lines = (
        f"- Number {n} was counted at the harbour wall, {n * n} paces on, by the keeper of the lamp." for n in sections
    )
    path.write_text("\n".join(f"## Entry {n}\n\n{line}\n" for n, line in zip(sections, lines, strict=True)))


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """1,000 chunks of one window each, in ten notes."""
    folder = tmp_path / "notes" / "memory"
    folder.mkdir(parents=True)
    for number in range(10):
        write_note(folder / f"note-{number}.md", number)
    return folder.parent


@pytest.fixture
def opened(notes: Path, tmp_path: Path) -> Iterator[Open]:
    """Opens memories on the notes, as a script or a new process does."""
    memories: list[Memory] = []

    def open_one(**section: Any) -> Memory:
        search = {"chunking": {"tokens": 40, "overlap": 0}, "sync": {"onSearch": False}, **section}
        memories.append(open_memory({"memorySearch": search}, workspace=notes, state_dir=tmp_path / "state"))
        return memories[-1]

    yield open_one
    for memory in memories:
        memory.close()


def serving(way: Way) -> EmbeddingServer:
    return GeminiServer() if way.provider == "gemini" else OpenAIServer(dimensions=way.dimensions)


def search(memory: Memory, query: str = "Number 7 harbour") -> dict[str, Any]:
    return memory.call_tool("memory_search", {"query": query, "minScore": 0})


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_thousand_chunks_cost_what_the_cap_needs_and_a_second_run_nothing(way: Way, opened: Open) -> None:
    with serving(way) as server:
        remote = {"baseUrl": server.url, "apiKey": KEY}
        memory = opened(provider=way.provider, remote=remote, **way.section)
        report = memory.sync()
        requests = len(server.requests)

        assert (report.chunks, report.embedded, report.pending) == (CHUNKS, CHUNKS, 0)
        assert requests <= -(-CHUNKS // way.cap)
        assert sum(map(len, server.batches())) == CHUNKS

        answer = search(memory)
        assert (answer["provider"], answer["model"], answer["mode"]) == (way.provider, way.model, "hybrid")
        assert answer["results"]
        assert len(server.requests) == requests + 1

        again = opened(provider=way.provider, remote=remote, **way.section)
        assert again.sync().embedded == 0
        assert again.sync(force=True).embedded == 0
        verified = way.provider in {
            "openai-compatible",
            "litellm",
            "ollama",
        }  # no table knows its dimensions: one word tells them
        assert len(server.requests) == requests + 1 + verified
        status = again.status()
        assert (status.provider, status.model, status.pending) == (way.provider, way.model, 0)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_key_is_never_shown_whatever_goes_wrong(
    way: Way, opened: Open, notes: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for extra in sorted(notes.glob("memory/*"))[1:]:
        extra.unlink()
    with serving(way) as server:
        remote = {"baseUrl": server.url, "apiKey": KEY, "headers": {"X-Secret": "planted-header-81c2"}}
        memory = opened(provider=way.provider, remote=remote, **way.section)
        server.fail(*[openai_error(401, f"Incorrect API key provided: {KEY}, planted-header-81c2")] * 100)
        report, answer, probe, status = memory.sync(), search(memory), memory.probe(), memory.status()

    assert report.pending == 100
    assert not probe.ok
    assert answer["mode"] == "keyword"
    stored = b"".join(file.read_bytes() for file in (tmp_path / "state").rglob("*") if file.is_file())
    shown = "\n".join([repr(report), json.dumps(answer), repr(probe), repr(status), repr(memory.config()), caplog.text])
    for secret in (KEY, "planted-header-81c2"):
        assert secret not in shown
        assert secret.encode() not in stored


def test_a_large_backfill_goes_through_batches_and_a_restart_collects_them(opened: Open) -> None:
    with OpenAIServer(dimensions=1536) as server:
        batch = {"enabled": True, "wait": False, "pollIntervalMs": 10}
        section = {"provider": "openai", "remote": {"baseUrl": server.url, "apiKey": KEY, "batch": batch}}
        server.polls_until_done = 1
        first = opened(**section)
        assert first.sync().pending == CHUNKS
        assert search(first, "Entry 7")["results"]
        first.close()

        assert opened(**section).sync().pending == CHUNKS  # it still runs
        report = opened(**section).sync()
        assert (report.embedded, report.pending) == (CHUNKS, 0)
        assert [len(texts) for texts in server.submitted()] == [CHUNKS]
        assert not [batch for batch in server.batches() if len(batch) > 1]  # requests were for questions only


def test_a_switch_of_models_keeps_answering_and_mixes_no_vectors(opened: Open, notes: Path) -> None:
    """On 5,000 chunks, with the new model held back as long as the test likes."""
    for number in range(10, 50):
        write_note(notes / "memory" / f"note-{number}.md", number)
    with OpenAIServer(dimensions=96) as old, OpenAIServer(dimensions=96) as new:  # alike in all but what they mean
        before = opened(provider="openai-compatible", model="old", remote={"baseUrl": old.url})
        assert before.sync().chunks == 5 * CHUNKS
        before.close()

        release = threading.Event()
        new.fail(*[Reply(500, after=release)] * 4)
        after = opened(provider="openai-compatible", model="new", remote={"baseUrl": new.url})
        rebuild = threading.Thread(target=after.sync)
        rebuild.start()
        assert eventually(lambda: len(new.requests) == 4)
        during = [search(after, f"Number {n} harbour") for n in range(20)]
        reader = opened(provider="openai-compatible", model="old", remote={"baseUrl": old.url})
        by_the_old = search(reader)
        release.set()
        rebuild.join(60)

        assert all(answer["results"] and answer["mode"] == "keyword" for answer in during)
        assert len(new.sent("/embeddings")) - 4 <= -(-5 * CHUNKS // 256)
        assert by_the_old["mode"] == "hybrid"  # a process that still runs with the old configuration
        answer = search(after)
        assert (answer["mode"], answer["model"]) == ("hybrid", "new")
        assert search(reader)["mode"] == "keyword"

        back = opened(provider="openai-compatible", model="old", remote={"baseUrl": old.url})
        assert back.sync().embedded == 0  # what was paid once is kept
        assert search(back)["model"] == "old"
