"""Questions in Chinese with a model that reads texts: any ideographs are near some note, and find nothing all the same."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import memory_core
from memory_core.plugin.memory import Memory
from tests.servers.openai import OpenAIServer

CHINESE = "渡船每天早上七点从港口出发。"
ENGLISH = "The ferry leaves the harbour at seven every morning."
NEAR = {
    CHINESE: [1.0, 0.0, 0.0],
    ENGLISH: [0.0, 1.0, 0.0],
    "渡船早上几点从港口出发？": [1.0, 0.05, 0.0],  # most of its pairs stand in the notes
    "屋顶漏水沙发颜色钢琴调音吗？": [1.0, 0.1, 0.0],  # none does
    "花园里种了什么蔬菜水果？": [0.05, 1.0, 0.0],
    "When does the boat sail?": [1.0, 0.15, 0.0],
}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    folder = tmp_path_factory.mktemp("ideographs")
    workspace = folder / "workspace"
    (workspace / "memory").mkdir(parents=True)
    with OpenAIServer(dimensions=3) as server:
        server.replaced.update(NEAR)
        for number in range(120):
            text = f"第{number}号仓库的钥匙。"
            server.replaced[text] = [0.0, 0.0, 1.0]
            (workspace / f"memory/{number}.md").write_text(f"{text}\n", encoding="utf-8")
        (workspace / "memory/chinese.md").write_text(f"{CHINESE}\n", encoding="utf-8")
        (workspace / "memory/english.md").write_text(f"{ENGLISH}\n", encoding="utf-8")
        search = {"provider": "openai-compatible", "model": "m", "remote": {"baseUrl": server.url}}
        config = {"agents": {"defaults": {"memorySearch": search}}}
        with memory_core.open_memory(config, workspace=workspace, state_dir=folder / "state") as opened:
            opened.sync()
            yield opened


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("渡船早上几点从港口出发？", "memory/chinese.md"),
        ("屋顶漏水沙发颜色钢琴调音吗？", None),
        ("花园里种了什么蔬菜水果？", "memory/english.md"),
        ("When does the boat sail?", "memory/chinese.md"),
    ],
)
def test_meaning_is_trusted_where_words_could_confirm_it(memory: Memory, question: str, expected: str | None) -> None:
    """Notes in another script cannot hold the characters of a question: there meaning alone is enough."""
    answer = memory.call_tool("memory_search", {"query": question})
    assert answer["mode"] == "hybrid"
    assert next((hit["path"] for hit in answer["results"]), None) == expected
