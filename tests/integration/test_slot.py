"""Every key of the configuration changes something that can be seen: here, or in the test that is named.

Defaults, overrides, bounds, wrong types and unknown keys have their own table in `tests/unit/config/test_keys.py`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from memory_core.config.description import list_settings
from memory_core.plugin import MemorySlot
from memory_core.records import CallContext
from tests.command import REPOSITORY
from tests.servers.loopback import Reply
from tests.servers.openai import OpenAIServer
from tests.waiting import eventually

FLUSH_POLICY = "tests/unit/plugin/flush/test_policy.py"

# Where the change is seen, for keys that have a test of their own.
ELSEWHERE = {
    "memorySearch.tidy.agentMayApply": "tests/integration/test_review_tools.py::test_agents_get_what_the_setting_allows",
    "memorySearch.tidy.interval": "tests/integration/test_review_tools.py::test_a_host_looks_at_the_notes_at_intervals",
    "memorySearch.timeZone": "tests/integration/test_periods.py::test_the_day_is_that_of_the_users_time_zone",
    "memorySearch.query.related": "tests/integration/test_related.py::test_agents_are_offered_it_only_where_it_is_on",
    "memorySearch.query.explain": "tests/integration/test_explain.py::test_agents_are_offered_it_only_where_it_is_on",
    "plugins.slots.memory": "tests/unit/plugin/test_slot.py::test_off_means_no_tool_no_prompt_no_index_and_nothing_that_runs",
    "memory.backend": "tests/hosts/test_third_party.py::test_its_entry_point_is_chosen_by_name",
    "memory.sharing.intervalMinutes": "tests/integration/test_sync_command.py::test_a_long_session_syncs_at_intervals",
    "memory.citations": "tests/unit/plugin/test_slot.py::test_citations_by_chat_type",
    "memory.layers": "tests/integration/test_layers.py::test_one_ranking_of_all_layers",
    "memory.scope.default": "tests/unit/plugin/test_slot.py::test_scope_covers_every_tool_and_the_opening_notes",
    "memory.scope.rules": "tests/unit/plugin/test_slot.py::test_scope_covers_every_tool_and_the_opening_notes",
    "memorySearch.activity.enabled": "tests/integration/test_activity.py::test_off_records_nothing",
    "memorySearch.history.enabled": "tests/integration/test_history.py::test_off_keeps_nothing",
    "memorySearch.history.retentionDays": "tests/integration/test_history.py"
    "::test_old_versions_are_dropped_and_the_others_stay_whole",
    "memorySearch.history.maxBytes": "tests/integration/test_history.py::test_the_largest_size_is_kept",
    "memorySearch.fallback": "tests/integration/test_outage.py"
    "::test_after_ten_minutes_the_fallback_takes_over_with_its_own_model",
    "memorySearch.model": "tests/integration/test_embedding_providers.py::test_the_key_the_headers_and_the_model_are_sent",
    "memorySearch.outputDimensionality": "tests/integration/test_embedding_providers.py"
    "::test_a_matryoshka_model_on_a_server_that_cannot_shorten_is_shortened_here",
    "memorySearch.inputType": "tests/integration/test_embedding_litellm.py::test_voyage_is_told_the_input_type",
    "memorySearch.queryInputType": "tests/integration/test_embedding_litellm.py::test_voyage_is_told_the_input_type",
    "memorySearch.documentInputType": "tests/integration/test_embedding_litellm.py::test_voyage_is_told_the_input_type",
    "memorySearch.remote.baseUrl": "tests/unit/embeddings/test_credentials.py"
    "::test_remote_beats_the_account_and_headers_merge",
    "memorySearch.remote.apiKey": "tests/unit/embeddings/test_credentials.py::test_the_first_place_that_has_a_key_wins",
    "memorySearch.remote.headers": "tests/integration/test_embedding_providers.py"
    "::test_a_configured_authorization_header_replaces_the_key",
    "memorySearch.remote.timeoutSeconds": "tests/integration/test_embedding_providers.py"
    "::test_a_request_that_hangs_is_given_up",
    "memorySearch.remote.batch.enabled": "tests/integration/test_embedding_batches.py"
    "::test_a_large_backfill_is_one_job_and_no_request",
    "memorySearch.remote.batch.wait": "tests/integration/test_embedding_batches.py"
    "::test_a_job_that_still_runs_is_not_sent_again",
    "memorySearch.remote.batch.concurrency": "tests/integration/test_embedding_batches.py"
    "::test_so_many_jobs_as_configured_run_at_a_time",
    "memorySearch.remote.batch.pollIntervalMs": "tests/integration/test_embedding_batches.py"
    "::test_a_job_is_looked_at_as_often_as_configured",
    "memorySearch.remote.batch.timeoutMinutes": "tests/integration/test_embedding_batches.py"
    "::test_a_job_that_takes_too_long_is_cancelled",
    "memorySearch.local.modelPath": "tests/unit/embeddings/test_bert.py"
    "::test_embeddings_equal_a_forward_pass_alone_and_in_company",
    "memorySearch.local.modelCacheDir": "tests/integration/test_embedding_hub.py"
    "::test_the_default_model_is_downloaded_to_the_state_folder",
    "memorySearch.local.contextTokens": "tests/unit/embeddings/test_bert.py::test_a_text_of_any_length_has_a_row",
    "memorySearch.chunking.overlap": "tests/unit/text/test_chunks.py::test_overlap_repeats_lines_of_the_same_section",
    "memorySearch.sync.sessions.deltaBytes": "tests/integration/test_sessions.py"
    "::test_a_live_session_is_indexed_when_it_has_grown_enough",
    "memorySearch.sync.sessions.deltaMessages": "tests/integration/test_sessions.py"
    "::test_a_live_session_is_indexed_when_it_has_grown_enough",
    "memorySearch.items.enabled": "tests/integration/test_items_tools.py"
    "::test_the_tools_are_off_by_default_and_reading_sessions_only_recall",
    "memorySearch.items.scope": "tests/unit/items/test_items.py::test_the_scope_that_is_configured_is_the_default_one",
    "memorySearch.items.similarity": "tests/unit/items/test_items.py::test_the_formula_of_similarity_is_configurable",
    "memorySearch.items.capture.enabled": "tests/integration/test_turn_ended.py::test_capture_is_off_by_default",
    "memorySearch.items.capture.maxTokens": "tests/integration/test_turn_ended.py"
    "::test_turns_are_read_when_they_are_long_and_none_is_left_out",
    "memorySearch.items.capture.useModel": "tests/integration/test_turn_ended.py"
    "::test_the_model_finds_the_facts_unless_it_must_not_be_used",
    "memorySearch.items.capture.useProgram": "tests/integration/test_asked_program.py::test_no_program_is_asked_by_default",
    "memorySearch.items.capture.modelCalls": "tests/integration/test_turn_ended.py"
    "::test_a_model_is_asked_as_often_in_a_session_as_it_may_and_rules_read_the_rest",
    "memorySearch.items.capture.modelTokens": "tests/integration/test_turn_ended.py"
    "::test_turns_are_read_when_they_are_long_and_none_is_left_out",
    "memorySearch.items.capture.journal": "tests/hosts/test_journal.py::test_nothing_is_kept_by_default",
    "memorySearch.items.capture.retentionDays": "tests/hosts/test_journal.py::test_what_is_too_old_leaves_the_journal",
    "memorySearch.items.capture.notes": "tests/integration/test_mirror.py::test_notes_are_left_alone_by_default",
    "memorySearch.recall.enabled": "tests/integration/test_recall.py"
    "::test_recall_is_off_by_default_and_for_chats_out_of_scope",
    "memorySearch.recall.trust": "tests/integration/test_origins.py"
    "::test_recall_leaves_out_whom_the_user_does_not_trust",
    "memorySearch.recall.timeoutMs": "tests/integration/test_recall.py::test_a_late_answer_is_an_empty_one_and_says_so",
    "memorySearch.cache.enabled": "tests/integration/test_sync.py"
    "::test_only_as_many_unused_embeddings_are_kept_as_configured",
    "memorySearch.cache.maxEntries": "tests/integration/test_sync.py"
    "::test_only_as_many_unused_embeddings_are_kept_as_configured",
    "memorySearch.experimental.sessionMemory": "tests/integration/test_sessions.py"
    "::test_sessions_are_left_alone_unless_they_are_a_source",
    "compaction.reserveTokensFloor": f"{FLUSH_POLICY}::test_decides_as_the_table_says",
    "compaction.memoryFlush.enabled": "tests/hosts/test_reference.py::test_the_flush_can_be_switched_off",
    "compaction.memoryFlush.softThresholdTokens": f"{FLUSH_POLICY}::test_decides_as_the_table_says",
    "compaction.memoryFlush.forceFlushTranscriptBytes": f"{FLUSH_POLICY}::test_asks_the_transcript_for_its_size",
    "compaction.memoryFlush.prompt": f"{FLUSH_POLICY}::test_the_users_words_bring_the_rules_too",
    "compaction.memoryFlush.systemPrompt": f"{FLUSH_POLICY}::test_the_users_words_bring_the_rules_too",
    "models.providers.<id>.apiKey": "tests/unit/embeddings/test_credentials.py::test_the_first_place_that_has_a_key_wins",
    "models.providers.<id>.baseUrl": "tests/unit/embeddings/test_credentials.py"
    "::test_remote_beats_the_account_and_headers_merge",
    "models.providers.<id>.headers": "tests/unit/embeddings/test_credentials.py"
    "::test_remote_beats_the_account_and_headers_merge",
}

# Tested below, each by a test that names it.
OF_THEIR_OWN = {
    "memorySearch.query.embedTimeoutMs",
    "memorySearch.query.hybrid.candidateMultiplier",
    "memorySearch.query.hybrid.textWeight",
    "memorySearch.query.hybrid.vectorWeight",
    "memorySearch.sync.watchDebounceMs",
}


class Bench:
    """A small workspace, and slots with settings of their own."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self._stack = stack
        for path, text in {
            "ws/MEMORY.md": "The fence is made of oak.\n",
            "ws/roof.md": "The roof is made of slate.\n",
            "ws/AGENTS.md": "Rules of the agent.\n",
            "ws/memory/2026-01-05.md": "".join(f"Post {n} of the fence was painted green.\n\n" for n in range(40)),
            "extra/walls.md": "The walls are made of brick.\n",
        }.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")

    def slot(self, **settings: Any) -> MemorySlot:
        """Keywords only, unless the settings, whose dots are spelt `__`, say otherwise."""
        document: dict[str, Any] = {}
        for key, value in ({"memorySearch__provider": "none", "workspace": str(self.folder / "ws")} | settings).items():
            here = document.setdefault("agents", {}).setdefault("defaults", {})
            *outer, last = key.split("__")
            for name in outer:
                here = here.setdefault(name, {})
            here[last] = value
        slot = MemorySlot(document, state_dir=self.folder / "state")
        self._stack.callback(slot.close)
        return slot


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with ExitStack() as stack:
        yield Bench(tmp_path, stack)


def ask(slot: MemorySlot) -> dict[str, Any]:
    return slot.call_tool("memory_search", {"query": "What is the fence made of?"})


def files(slot: MemorySlot) -> int:
    """Return the number of indexed notes after a search."""
    ask(slot)
    return slot.status().files


def chunks(slot: MemorySlot) -> int:
    ask(slot)
    return slot.status().chunks


def vectors(slot: MemorySlot) -> tuple[str, str | None]:
    ask(slot)
    status = slot.status()
    return status.vector, status.vector_reason


def mode(slot: MemorySlot) -> object:
    return ask(slot)["mode"]


def hits(slot: MemorySlot) -> int:
    return len(ask(slot)["results"])


def half_hits(slot: MemorySlot) -> int:
    """Return the number of hits that hold a part of the question."""
    return len(slot.call_tool("memory_search", {"query": "the fence, the hedge and the lawn of the garden"})["results"])


def longest_snippet(slot: MemorySlot) -> int:
    return max(len(hit["snippet"]) for hit in ask(slot)["results"])


def first_answer_is_stale(slot: MemorySlot) -> bool:
    return bool(ask(slot).get("stale", False))


def store(slot: MemorySlot) -> object:
    ask(slot)
    return slot.status().store


def workspace(slot: MemorySlot) -> object:
    return slot.status().workspace


def enabled(slot: MemorySlot) -> bool:
    return bool(slot.tool_schemas())


def indexed_by_a_session(slot: MemorySlot) -> bool:
    """Return True if the start of a session indexes notes, or begins to."""
    others = threading.enumerate()
    slot.session_started(CallContext(session_key="agent:main:main"))
    begun = [thread for thread in threading.enumerate() if thread not in others and thread.name == "memory-sync"]
    until = time.monotonic() + 10
    while begun and not slot.status().indexed:
        assert time.monotonic() < until
        time.sleep(0.01)
    return slot.status().indexed


def watching(slot: MemorySlot) -> object:
    slot.start()
    return slot.status().details["watching"]


def indexed_by_the_clock(slot: MemorySlot) -> bool:
    """Return True if notes are indexed though nobody asks; where nothing is to come, no thread has begun."""
    others = threading.enumerate()
    slot.start()
    if not any(thread.name == "memory-sync" for thread in threading.enumerate() if thread not in others):
        return slot.status().indexed
    return eventually(lambda: slot.status().indexed)


STATIC = {"memorySearch__provider": "static"}
UNWATCHED = {"memorySearch__sync__watch": False}
ALL_SOURCES = {"memorySearch__sources": ["memory", "workspace"]}


class Row(NamedTuple):
    """A key, two values that differ in what is seen, what is seen of each, and what else is set."""

    key: str
    values: tuple[Any, Any]
    look: Callable[[MemorySlot], object]
    seen: tuple[object, object] | None = None
    others: Mapping[str, Any] = {}


ROWS = [
    Row("agents.defaults.workspace", ("/nowhere/a", "/nowhere/b"), workspace, (Path("/nowhere/a"), Path("/nowhere/b"))),
    Row("memorySearch.enabled", (True, False), enabled, (True, False)),
    Row("memorySearch.sources", (["memory"], ["memory", "workspace"]), files, (2, 3)),
    Row("memorySearch.extraPaths", ([], ["../extra"]), files, (2, 3)),
    Row("memorySearch.exclude.files", (["AGENTS.md"], []), files, (3, 4), ALL_SOURCES),
    Row("memorySearch.provider", ("none", "static"), mode, ("keyword", "hybrid")),
    Row("memorySearch.store.path", ("/{tmp}/a.sqlite", "/{tmp}/b.sqlite"), store),
    Row("memorySearch.store.vector.enabled", (True, False), vectors, None, STATIC),
    Row("memorySearch.store.vector.extensionPath", (None, "/nowhere/vec0.so"), vectors, None, STATIC),
    Row("memorySearch.chunking.tokens", (400, 100), chunks),
    Row("memorySearch.sync.onSessionStart", (True, False), indexed_by_a_session, (True, False)),
    Row("memorySearch.sync.onSearch", (True, False), files, (2, 0)),
    Row("memorySearch.sync.onSearchBudgetMs", (20_000, 0), first_answer_is_stale, (False, True)),
    Row("memorySearch.sync.watch", (True, False), watching, ("events", "off")),
    Row(
        "memorySearch.sync.intervalMinutes",
        (0, 0.001),
        indexed_by_the_clock,
        (False, True),
        {"memorySearch__sync__watch": False},
    ),
    Row("memorySearch.query.maxResults", (1, 2), hits, (1, 2), {"memorySearch__query__minScore": 0}),
    Row("memorySearch.query.minScore", (0, 0.99), half_hits, None, STATIC),
    Row("memorySearch.query.maxSnippetChars", (700, 50), longest_snippet),
    Row("memorySearch.query.hybrid.enabled", (True, False), mode, ("hybrid", "vector"), STATIC),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)
def test_another_value_is_seen(row: Row, tmp_path: Path) -> None:
    seen = []
    for number, value in enumerate(row.values):
        with ExitStack() as stack:
            bench = Bench(tmp_path / str(number), stack)
            setting = value.replace("/{tmp}", str(bench.folder)) if isinstance(value, str) else value
            name = row.key.removeprefix("agents.defaults.").replace(".", "__")
            seen.append(row.look(bench.slot(**{**row.others, name: setting})))
    assert seen[0] != seen[1]
    if row.seen is not None:
        assert tuple(seen) == row.seen


@pytest.mark.parametrize(("timeout_ms", "expected"), [(100, "keyword"), (20_000, "hybrid")])
def test_a_question_waits_for_its_embedding_no_longer_than_is_said(
    bench: Bench, timeout_ms: int, expected: str
) -> None:
    """`memorySearch.query.embedTimeoutMs`."""
    with OpenAIServer() as server:
        remote = {"baseUrl": server.url, "apiKey": "sk-test"}
        query = {"embedTimeoutMs": timeout_ms, "minScore": 0}
        slot = bench.slot(
            memorySearch__provider="openai-compatible", memorySearch__model="m", memorySearch__remote=remote,
            memorySearch__query=query,
        )  # fmt: skip
        slot.call_tool("memory_search", {"query": "green"})
        slow = threading.Event()
        server.fail(Reply(after=slow))
        if expected == "hybrid":
            server.faults.clear()
        answer = ask(slot)
        slow.set()
    assert answer["mode"] == expected
    assert ("warning" in answer) is (expected == "keyword")


@pytest.mark.parametrize(("debounce_ms", "soon"), [(10, True), (86_400_000, False)])
def test_a_change_is_indexed_once_nothing_has_changed_for_so_long(bench: Bench, debounce_ms: int, soon: bool) -> None:
    """`memorySearch.sync.watchDebounceMs`."""
    slot = bench.slot(memorySearch__sync={"watchDebounceMs": debounce_ms, "onSearch": False})
    others = threading.enumerate()
    slot.start()
    (bench.folder / "ws/memory/new.md").write_text("A gate was added.\n")
    assert eventually(
        lambda: any(thread.name == "memory-sync" for thread in threading.enumerate() if thread not in others)
    )
    assert eventually(lambda: slot.status().indexed, seconds=30 if soon else 0.3) is soon


class Grove:
    """Notes that stand for three kinds of evidence for the question "oak"."""

    WORDS, MEANING, BOTH = "words", "meaning", "both"

    def __init__(self, bench: Bench, server: OpenAIServer) -> None:
        self._bench, self._server = bench, server
        server.replaced["oak"] = [1.0, 0.0]
        for n in range(60):
            # The number is in front, as the order of names decides which of equal notes are candidates: some of both kinds.
            self._note(f"{n}-{self.WORDS}", f"oak oak oak {n}.", [0.0, 1.0])
            self._note(f"{n}-{self.MEANING}", f"Birch {n}.", [1.0, 0.0])
        self._note(self.BOTH, "The oak by the river is taller than the others.", [0.9, 0.4])

    def _note(self, name: str, text: str, vector: list[float]) -> None:
        (self._bench.folder / f"ws/memory/{name}.md").write_text(f"{text}\n")
        self._server.replaced[text] = vector

    def found(self, **hybrid: float) -> list[str]:
        """Which kinds are found, best first."""
        slot = self._bench.slot(
            memorySearch__provider="openai-compatible",
            memorySearch__model="m",
            memorySearch__remote={"baseUrl": self._server.url},
            memorySearch__query={"minScore": 0, "hybrid": hybrid},
            memorySearch__sync={"onSearchBudgetMs": 60_000},
        )
        answer = slot.call_tool("memory_search", {"query": "oak"})
        assert answer["mode"] == "hybrid"
        return [Path(hit["path"]).stem.rpartition("-")[2] for hit in answer["results"]]


@pytest.fixture
def grove(bench: Bench) -> Iterator[Grove]:
    with OpenAIServer(dimensions=2) as server:
        yield Grove(bench, server)


def test_weights_decide_which_side_ranks(grove: Grove) -> None:
    """`memorySearch.query.hybrid.vectorWeight` and `.textWeight`."""
    assert set(grove.found(vectorWeight=0, textWeight=1)) == {Grove.WORDS}
    assert Grove.WORDS not in grove.found(vectorWeight=1, textWeight=0)


def test_a_chunk_that_is_good_on_both_sides_and_best_on_none_needs_enough_candidates(grove: Grove) -> None:
    """`memorySearch.query.hybrid.candidateMultiplier`."""
    assert Grove.BOTH not in grove.found(candidateMultiplier=1)
    assert grove.found(candidateMultiplier=20)[0] == Grove.BOTH


def test_every_key_is_in_one_of_the_lists() -> None:
    known = {key for key, _, _ in list_settings()}
    lists = [{row.key for row in ROWS} | OF_THEIR_OWN, set(ELSEWHERE)]
    assert set().union(*lists) == known
    assert sum(map(len, lists)) == len(set().union(*lists))


@pytest.mark.parametrize("test", sorted(set(ELSEWHERE.values())))
def test_the_test_that_is_named_exists(test: str) -> None:
    path, _, name = test.partition("::")
    assert f"def {name}(" in (REPOSITORY / path).read_text(encoding="utf-8")
