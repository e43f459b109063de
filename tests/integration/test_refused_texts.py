"""One text that an endpoint refuses: it alone stays without an embedding, is named, and is not sent again for a day."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import memory_core
from memory_core.sync import backfill
from tests.integration.test_items_file import open_items
from tests.servers.loopback import Reply, Request, openai_error
from tests.servers.openai import OpenAIServer

pytestmark = pytest.mark.usefixtures("quick_retries")

NOTES = 70  # more than one request
WORD = "kayak"

Refuse = Callable[[list[str], Reply], Reply]


def spoil(value: Any) -> Refuse:
    """Return what puts another value in the place of the vector of the word."""

    def refuse(texts: list[str], reply: Reply) -> Reply:
        assert isinstance(reply.body, dict)
        rows = sorted(reply.body["data"], key=lambda row: int(row["index"]))
        spoilt = [{**row, "embedding": value} if WORD in text else row for row, text in zip(rows, texts, strict=True)]
        return Reply(200, {**reply.body, "data": spoilt})

    return refuse


def drop(texts: list[str], reply: Reply) -> Reply:
    assert isinstance(reply.body, dict)
    rows = sorted(reply.body["data"], key=lambda row: int(row["index"]))
    kept = [row for row, text in zip(rows, texts, strict=True) if WORD not in text]
    return Reply(200, {**reply.body, "data": kept})


def shorten(_texts: list[str], reply: Reply) -> Reply:
    assert isinstance(reply.body, dict)
    return Reply(200, {**reply.body, "data": [{**row, "embedding": [1.0, 2.0]} for row in reply.body["data"]]})


def say(status: int, message: str) -> Refuse:
    return lambda _texts, _reply: openai_error(status, message)


REFUSALS: Mapping[str, Refuse] = {
    "400": say(400, "The input was filtered due to the content management policy"),
    "422": say(422, "inputs: the text cannot be tokenized"),
    "403 of a firewall": lambda _texts, _reply: Reply(403, b"<html><title>Request blocked</title></html>"),
    "302 of a proxy": lambda _texts, _reply: Reply(302, headers={"Location": "/blocked.html"}),
    "413": say(413, "Request Entity Too Large"),
    "200 with an error": lambda _texts, _reply: Reply(200, {"error": {"message": "The input was rejected"}}),
    "451": say(451, "unavailable for legal reasons"),
    "500": say(500, "failed to encode response: json: unsupported value: NaN"),
    "502 of a gateway": lambda _texts, _reply: Reply(502, b"<html><h1>Bad Gateway</h1></html>"),
    "503": say(503, "the model has crashed"),
    "504": say(504, "upstream request timeout"),
    "cut": lambda _texts, reply: replace(reply, truncated=True),
    "null": spoil(None),
    "nulls": spoil([None] * 8),
    "not finite": spoil([math.inf] * 8),
    "NaN": spoil([math.nan] * 8),
    "empty": spoil([]),
    "short": spoil([1.0, 2.0]),
    "words": spoil("no vector"),
    "left out": drop,
}


class PickyServer(OpenAIServer):
    """Refuses each request with a certain word in it."""

    def __init__(self, refuse: Refuse) -> None:
        super().__init__()
        self.refuse = refuse
        self.picky = True

    def answer(self, request: Request) -> Reply:
        reply = super().answer(request)
        texts = request.json()["input"] if request.path.endswith("/embeddings") else []
        return self.refuse(texts, reply) if self.picky and any(WORD in text for text in texts) else reply

    @property
    def asked(self) -> int:
        """The number of times that the word was sent."""
        return sum(WORD in text for batch in self.batches() for text in batch)


@pytest.fixture(params=REFUSALS)
def server(request: pytest.FixtureRequest) -> Iterator[PickyServer]:
    with PickyServer(REFUSALS[request.param]) as server:
        yield server


def open_memory(server: OpenAIServer, folder: Path) -> memory_core.Memory:
    remote = {"baseUrl": server.url, "apiKey": "sk-loopback"}
    search = {"provider": "openai-compatible", "model": "a-model", "remote": remote}
    return memory_core.open_memory({"memorySearch": search}, workspace=str(folder / "w"), state_dir=str(folder / "s"))


def write_notes(folder: Path) -> None:
    (folder / "w" / "memory").mkdir(parents=True)
    for number in range(NOTES):
        text = (
            f"Olaf sold me a red {WORD}." if number == 3 else f"Box {number} holds papers of the year {1800 + number}."
        )
        (folder / "w" / "memory" / f"n{number:03}.md").write_text(f"# Note {number}\n\n{text}\n", encoding="utf-8")


def test_all_others_are_embedded_and_it_is_named_and_not_sent_again(
    server: PickyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_notes(tmp_path)
    with open_memory(server, tmp_path) as memory:
        assert memory.sync().embedded == NOTES - 1
        status = memory.status()
        assert (status.embeddings, status.pending) == (NOTES - 1, 1)
        assert status.details["refused by the provider"] == "a text of memory/n003.md"
        assert "provider out" not in status.details

    asked = server.asked
    with open_memory(server, tmp_path) as memory:
        memory.sync()
        (tmp_path / "w" / "memory" / "new.md").write_text("The mill was sold.\n", encoding="utf-8")
        assert memory.sync().embedded == 1
        assert server.asked == asked
        assert memory.status().details["refused by the provider"] == "a text of memory/n003.md"

    server.picky = False
    monkeypatch.setattr(backfill, "REFUSED_SECONDS", 0.0)
    with open_memory(server, tmp_path) as memory:
        assert memory.sync().embedded == 1
        status = memory.status()
        assert (status.embeddings, status.pending) == (NOTES + 1, 0)
        assert "refused by the provider" not in status.details


def test_a_changed_note_is_sent_again(server: PickyServer, tmp_path: Path) -> None:
    write_notes(tmp_path)
    with open_memory(server, tmp_path) as memory:
        memory.sync()
        (tmp_path / "w" / "memory" / "n003.md").write_text("# Note 3\n\nOlaf sold me a boat.\n", encoding="utf-8")
        assert memory.sync().embedded == 1
        status = memory.status()
        assert (status.embeddings, status.pending) == (NOTES, 0)
        assert "refused by the provider" not in status.details


@pytest.mark.parametrize("kind", ["400", "500", "null", "left out"])
def test_an_endpoint_that_embeds_nothing_is_out_of_order(kind: str, tmp_path: Path) -> None:
    write_notes(tmp_path)

    class Broken(PickyServer):
        def answer(self, request: Request) -> Reply:
            texts = request.json()["input"]
            body = json.loads(json.dumps(super().answer(request).body))
            return self.refuse([f"{WORD} {text}" for text in texts], Reply(200, body))

    with Broken(REFUSALS[kind]) as server, open_memory(server, tmp_path) as memory:
        report = memory.sync()
        assert (report.embedded, report.pending) == (0, NOTES)
        assert "refused by the provider" not in memory.status().details
        assert len(server.requests) < 20


def test_a_fact_that_is_refused_is_kept_and_not_sent_again(
    server: PickyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    server.dimensions = 1536
    items = open_items(tmp_path, "openai")
    for text in (f"The {WORD} is red.", "The harbour is closed on Sundays."):
        items.write(text)
    while items.backfill():
        pass
    asked = server.asked
    assert asked
    assert items.backfill() == 0
    assert items.query("which thing is red?").hits[0].item.content == f"The {WORD} is red."
    assert server.asked == asked
    items.close()


class NarrowServer(OpenAIServer):
    """Takes a few texts a request at most, and says so in words of its own."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def answer(self, request: Request) -> Reply:
        reply = super().answer(request)
        texts = request.json()["input"] if request.path.endswith("/embeddings") else []
        return openai_error(400, "That is more than this model embeds") if len(texts) > self.most else reply


@pytest.mark.parametrize("most", [1, 2])
def test_an_endpoint_that_takes_few_texts_at_once_is_not_asked_for_more_again(most: int, tmp_path: Path) -> None:
    write_notes(tmp_path)
    with NarrowServer(most) as server, open_memory(server, tmp_path) as memory:
        assert memory.sync().embedded == NOTES
        assert sum(len(batch) > most for batch in server.batches()) < 12
        before = len(server.batches())
        (tmp_path / "w" / "memory" / "new.md").write_text("One.\n\n## A\n\nTwo.\n\n## B\n\nThree.\n", encoding="utf-8")
        assert memory.sync().embedded > 0
        assert all(len(batch) <= most for batch in server.batches()[before:])
        answer = memory.call_tool("memory_search", {"query": WORD})
        assert answer["mode"] == "hybrid"
        assert ("takes one text a request only" in (answer.get("warning") or "")) is (most == 1)


def test_an_answer_with_a_refused_text_tells_no_dimensions(tmp_path: Path) -> None:
    write_notes(tmp_path)
    with PickyServer(shorten) as server, open_memory(server, tmp_path) as memory:
        server.picky = False
        assert memory.sync().embedded == NOTES
        for number in range(6):
            text = f"Two {WORD}s, number {number}." if number < 2 else f"Crate {number} is empty."
            (tmp_path / "w" / "memory" / f"o{number}.md").write_text(f"# Note\n\n{text}\n", encoding="utf-8")
        server.picky = True
        report = memory.sync()
        assert (report.embedded, report.pending) == (4, 2)
        assert memory.status().details["refused by the provider"] == "a text of memory/o0.md, memory/o1.md"
        assert memory.call_tool("memory_search", {"query": "Which crate is empty?"})["mode"] == "hybrid"
