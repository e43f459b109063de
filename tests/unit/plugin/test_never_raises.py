"""Whatever a host passes to a slot, nothing is raised, and the answer has the shape that is documented."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import memory_core
from memory_core.plugin import MemorySlot
from memory_core.plugin.flush.policy import Decision, FlushTurn, Session
from memory_core.plugin.flush.runner import FlushOutcome
from memory_core.records import CallContext, Status
from tests.waiting import eventually

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


class Hostile:
    """Raises whatever is asked of it."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__

    def __bool__(self) -> bool:
        raise RuntimeError("no truth")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no equality")

    def __hash__(self) -> int:
        raise RuntimeError("no hash")


class HostileMapping(Mapping[str, Any]):
    """A mapping that cannot be read."""

    def __getitem__(self, key: str) -> Any:
        raise RuntimeError("no items")

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("no keys")

    def __len__(self) -> int:
        return 1


def _nested(depth: int) -> Any:
    value: Any = []
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


def _complete(*_: Any, **__: Any) -> Any:
    return {"role": "assistant", "content": "NO_REPLY"}


ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2**63,
    10**400,
    10**5000,
    -(10**5000),
    0.5,
    float("nan"),
    float("inf"),
    "",
    " ",
    "main",
    "rw",
    "direct",
    "bare",
    "memory_search",
    "memory_get",
    "memory_append",
    "agent:main:main",
    "\0",
    "\ud800",
    "memory/\0.md",
    "a" * 5000,
    "../..",
    b"main",
    [],
    ["main"],
    {},
    {"query": "\ud800"},
    {"path": "MEMORY.md\0"},
    {"text": 5},
    {"query": 10**5000},
    {"maxResults": 10**5000, "query": "a"},
    {"query": "a", "minScore": _nested(900)},
    {"query": "oak", "maxResults": float("nan")},
    {5: 5},
    _nested(900),
    {1, 2},
    (1,),
    object,
    object(),
    Hostile(),
    HostileMapping(),
    {"query": Hostile()},
    ValueError("x"),
    1j,
    Path("\0"),
    date(2026, 3, 1),
    lambda *_: None,
    _complete,
)
JUNK: SearchStrategy[Any] = st.one_of(
    st.integers(0, len(ODD) - 1).map(lambda at: ODD[at]),  # sampled_from hashes its values
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text(max_size=20)
        | st.sampled_from(["\ud800", "\0"]),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=8,
    ),
)


def _mostly(value: Any) -> SearchStrategy[Any]:
    """The right value, or junk: with all wrong at once, only the first would be looked at."""
    return st.one_of(st.just(value), st.just(value), JUNK)


CONTEXTS = st.one_of(
    JUNK,
    st.builds(
        CallContext,
        agent=_mostly("main"),
        session_key=_mostly("agent:main:main"),
        chat_type=_mostly("direct"),
        channel=_mostly(None),
        access=_mostly("rw"),
        main=_mostly(None),
    ),
)
SESSIONS = st.one_of(
    CONTEXTS,
    st.builds(
        Session,
        agent=_mostly("main"),
        key=_mostly("agent:main:main"),
        session_id=_mostly("s"),
        total_tokens=_mostly(199_000),
        context_window=_mostly(200_000),
        transcript=_mostly(None),
        transcript_bytes=_mostly(None),
        compaction_count=_mostly(1),
        flushed_compaction_count=_mostly(None),
        flush_failures=_mostly(0),
        access=_mostly("rw"),
        kind=_mostly(""),
        chat_type=_mostly("direct"),
        channel=_mostly(""),
        timezone=_mostly("Europe/Berlin"),
    ),
)
TURNS = st.one_of(
    JUNK,
    st.builds(
        FlushTurn,
        agent=_mostly("main"),
        session_key=_mostly("agent:main:main"),
        session_id=_mostly("s"),
        compaction_count=_mostly(0),
        prompt=_mostly("p"),
        system_prompt=_mostly("s"),
        tools=_mostly({}),
        target=_mostly("memory/2026-03-01.md"),
        day=_mostly(date(2026, 3, 1)),
    ),
)
LIMITS = st.dictionaries(
    st.sampled_from(["history", "max_steps", "max_seconds", "max_tokens", "other"]), JUNK, max_size=2
)
FACTS = st.dictionaries(st.sampled_from(["total_tokens", "transcript", "kind", "agent", "other"]), JUNK, max_size=2)
TOOLS = st.sampled_from(["memory_search", "memory_get", "memory_append", "search_memory"])
ARGUMENTS = st.one_of(
    JUNK,
    st.dictionaries(
        st.sampled_from(
            ["query", "path", "text", "target", "from", "lines", "maxResults", "minScore", "after", "before"]
        ),
        JUNK,
        max_size=3,
    ),
)


def is_result(answer: Any) -> bool:
    """True for one of the shapes that docs/hosts.md names, in JSON that UTF-8 carries."""
    json.dumps(answer, allow_nan=False, ensure_ascii=False).encode()
    if "code" in answer:
        return answer.keys() == {"error", "code"} and answer["code"] in {"invalid_argument", "invalid_agent"}
    if {"disabled", "denied", "unavailable"} & answer.keys():
        return answer["results"] == [] and isinstance(answer["error"], str) and bool(answer["action"])
    return "results" in answer or "status" in answer


def is_plain(answer: Any) -> bool:
    json.dumps(answer, allow_nan=False, ensure_ascii=False).encode()
    return isinstance(answer, str)


def _call_all(handlers: Mapping[str, Callable[[Any], Any]], arguments: Any) -> list[Any]:
    return [handler(arguments) for handler in handlers.values()]


# Each method -> how it is called with junk, and whether its answer has the documented shape.
CALLS: Mapping[str, tuple[Callable[[MemorySlot, st.DataObject], Any], Callable[[Any], bool]]] = {
    "call_tool": (
        lambda slot, draw: slot.call_tool(draw.draw(TOOLS | JUNK), draw.draw(ARGUMENTS), draw.draw(CONTEXTS)),
        is_result,
    ),
    "acall_tool": (
        lambda slot, draw: asyncio.run(
            slot.acall_tool(draw.draw(TOOLS | JUNK), draw.draw(ARGUMENTS), draw.draw(CONTEXTS))
        ),
        is_result,
    ),
    "tool_schemas": (
        lambda slot, draw: slot.tool_schemas(draw.draw(CONTEXTS), form=draw.draw(_mostly("bare"))),
        lambda answer: isinstance(answer, list),
    ),
    "all_tool_schemas": (lambda slot, _: slot.all_tool_schemas(), lambda answer: isinstance(answer, list)),
    "prompt_section": (lambda slot, draw: slot.prompt_section(draw.draw(CONTEXTS)), is_plain),
    "session_context": (
        lambda slot, draw: slot.session_context(draw.draw(CONTEXTS), budget_chars=draw.draw(_mostly(500))),
        is_plain,
    ),
    "find_workspace": (
        lambda slot, draw: slot.find_workspace(draw.draw(CONTEXTS)),
        lambda answer: answer is None or isinstance(answer, Path),
    ),
    "list_missing_workspaces": (
        lambda slot, draw: slot.list_missing_workspaces(draw.draw(CONTEXTS)),
        lambda answer: answer == (),
    ),
    "make_workspace": (
        lambda slot, draw: slot.make_workspace(draw.draw(JUNK), draw.draw(CONTEXTS)),
        lambda answer: answer is False,
    ),
    "explain_no_workspace": (
        lambda slot, draw: slot.explain_no_workspace(draw.draw(CONTEXTS)),
        lambda answer: answer is None or isinstance(answer, str),
    ),
    "list_notes": (
        lambda slot, draw: slot.list_notes(draw.draw(CONTEXTS)),
        lambda answer: isinstance(answer, tuple),
    ),
    "read_note": (
        lambda slot, draw: slot.read_note(draw.draw(_mostly("MEMORY.md")), draw.draw(CONTEXTS)),
        is_result,
    ),
    "change_note": (
        lambda slot, draw: slot.change_note(
            draw.draw(_mostly("memory/oak.md")), draw.draw(_mostly(lambda text: text)), draw.draw(CONTEXTS)
        ),
        is_result,
    ),
    "session_started": (lambda slot, draw: slot.session_started(draw.draw(CONTEXTS)), lambda answer: answer is None),
    "session_updated": (
        lambda slot, draw: slot.session_updated(draw.draw(JUNK), draw.draw(_mostly("main"))),
        lambda answer: answer is None,
    ),
    "turn_ended": (
        lambda slot, draw: slot.turn_ended(draw.draw(CONTEXTS), draw.draw(JUNK), draw.draw(JUNK)),
        lambda answer: answer is None,
    ),
    "session_ended": (lambda slot, draw: slot.session_ended(draw.draw(CONTEXTS)), lambda answer: answer is None),
    "session": (
        lambda slot, draw: slot.session(draw.draw(CONTEXTS), draw.draw(JUNK), **draw.draw(FACTS)),
        lambda answer: isinstance(answer, Session),
    ),
    "should_flush": (
        lambda slot, draw: slot.should_flush(draw.draw(SESSIONS), compacting=draw.draw(_mostly(False))),
        lambda answer: isinstance(answer, Decision) and is_plain(answer.reason),
    ),
    "before_compaction": (
        lambda slot, draw: slot.before_compaction(draw.draw(SESSIONS), compacting=draw.draw(_mostly(True))),
        lambda answer: answer is None or isinstance(answer, FlushTurn),
    ),
    "run_flush": (
        lambda slot, draw: slot.run_flush(draw.draw(TURNS), draw.draw(_mostly(_complete)), **draw.draw(LIMITS)),
        lambda answer: isinstance(answer, FlushOutcome) and isinstance(answer.reason, str),
    ),
    "compact": (
        lambda slot, draw: slot.compact(
            draw.draw(CONTEXTS), draw.draw(_mostly([])), draw.draw(_mostly(_complete)), **draw.draw(FACTS)
        ),
        lambda answer: answer is None or (isinstance(answer, FlushOutcome) and isinstance(answer.reason, str)),
    ),
    "acompact": (
        lambda slot, draw: asyncio.run(
            slot.acompact(draw.draw(CONTEXTS), draw.draw(_mostly([])), draw.draw(JUNK), **draw.draw(FACTS))
        ),
        lambda answer: answer is None or (isinstance(answer, FlushOutcome) and isinstance(answer.reason, str)),
    ),
    "system_text": (lambda slot, draw: slot.system_text(draw.draw(CONTEXTS)), is_plain),
    "recall": (
        lambda slot, draw: slot.recall(
            draw.draw(CONTEXTS), draw.draw(_mostly("The fence?")), max_results=draw.draw(_mostly(3))
        ),
        is_plain,
    ),
    "recall_for_message": (
        lambda slot, draw: slot.recall_for_message(draw.draw(_mostly("The fence?")), draw.draw(CONTEXTS)),
        lambda answer: is_plain(answer.text),
    ),
    "compacted": (lambda slot, draw: slot.compacted(draw.draw(CONTEXTS)), lambda answer: answer is None),
    "flush_handlers": (
        lambda slot, draw: _call_all(slot.flush_handlers(draw.draw(TURNS)), draw.draw(ARGUMENTS)),
        lambda answers: all(map(is_result, answers)),
    ),
    "record_flush": (
        lambda slot, draw: slot.record_flush(draw.draw(TURNS), draw.draw(_mostly("stored"))),
        lambda answer: isinstance(answer, bool),
    ),
    "status": (lambda slot, draw: slot.status(draw.draw(JUNK)), lambda answer: isinstance(answer, Status)),
}
WITHOUT_ARGUMENTS = {"manifest", "start", "rest", "close"}


@pytest.fixture(scope="module")
def slot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemorySlot]:
    folder = tmp_path_factory.mktemp("never")
    (folder / "ws").mkdir()
    (folder / "ws" / "MEMORY.md").write_text("The fence is made of oak.\n", encoding="utf-8")
    config = {"memorySearch": {"provider": "none", "sync": {"watch": False}}}
    before = threading.active_count()
    slot = MemorySlot(config, workspace=folder / "ws", state_dir=folder / "state")
    yield slot
    assert slot.close() == ()
    assert eventually(lambda: threading.active_count() <= before)


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[MemorySlot]:
    """A slot that has met no junk yet."""
    with MemorySlot({"memorySearch": {"provider": "none"}}, workspace=tmp_path, state_dir=tmp_path / "state") as slot:
        yield slot


def test_every_method_is_tried() -> None:
    assert CALLS.keys() | WITHOUT_ARGUMENTS == {name for name in dir(MemorySlot) if not name.startswith("_")}


@pytest.mark.parametrize("name", CALLS)
@settings(max_examples=60)
@given(draw=st.data())
def test_junk_raises_nothing(name: str, slot: MemorySlot, draw: st.DataObject) -> None:
    call, is_right = CALLS[name]
    assert is_right(call(slot, draw))


@pytest.mark.parametrize("name", ["before_compaction", "should_flush"])
@pytest.mark.parametrize(
    "transcript", ["\0", "x.jsonl", Path("\0"), 5, Hostile()], ids=lambda value: type(value).__name__
)
def test_a_transcript_may_be_anything(name: str, transcript: Any, fresh: MemorySlot) -> None:
    session = Session(agent="main", key="agent:main:main", transcript=transcript)
    answer = getattr(fresh, name)(session)
    assert answer is None or answer.code == "unknown"


def test_a_transcript_given_as_a_string_is_measured(fresh: MemorySlot, tmp_path: Path) -> None:
    transcript = tmp_path / "s.jsonl"
    transcript.write_bytes(b"x" * 3_000_000)
    for given_path in (transcript, str(transcript)):
        assert fresh.should_flush(Session(agent="main", key="agent:main:main", transcript=given_path)).due


def test_a_context_stands_for_its_session(fresh: MemorySlot) -> None:
    """A host that knows no more than the context of its calls gets the decision, and its turn when it compacts."""
    context = CallContext.local("agent:main:main")
    assert fresh.should_flush(context).code == "unknown"
    assert fresh.before_compaction(context) is None
    turn = fresh.before_compaction(context, compacting=True)
    assert turn is not None
    assert (turn.agent, turn.session_key) == ("main", "agent:main:main")
    assert fresh.before_compaction(CallContext(session_key="cron:x:main"), compacting=True) is None


@pytest.mark.parametrize("context", [[], {}, "", 0, False], ids=repr)
def test_what_is_no_context_is_no_trusted_caller(context: Any, slot: MemorySlot) -> None:
    """Only None is this machine's own user; an empty list or string is a mistake of the host's."""
    assert slot.session_context() != ""
    assert slot.session_context(context) == ""
    assert slot.call_tool("memory_get", {"path": "MEMORY.md"}, context)["code"] == "invalid_argument"


@example(10**5000)
@example("x" * 100_000)
@given(JUNK)
@settings(max_examples=30)
def test_a_wrong_argument_is_named_in_a_short_sentence(slot: MemorySlot, value: Any) -> None:
    answer = slot.call_tool("memory_search", {"query": "oak", "maxResults": value})
    if "code" in answer:
        assert answer["error"].startswith("maxResults: ")
        assert len(answer["error"]) < 500


@pytest.mark.parametrize(
    "name", [5, None, True, b"query", ("a",), "x" * 10_000, "\ud800"], ids=lambda name: type(name).__name__
)
@pytest.mark.parametrize("tool", ["memory_search", "memory_get", "memory_append"])
def test_a_name_of_an_argument_may_be_anything(tool: str, name: Any, slot: MemorySlot) -> None:
    answer = slot.call_tool(tool, {name: 1})
    assert is_result(answer)
    assert answer["code"] == "invalid_argument"
    assert len(answer["error"]) < 500


def test_a_memory_raises_nothing_from_its_tools(tmp_path: Path) -> None:
    with memory_core.open_memory(
        {"memorySearch": {"provider": "none"}}, workspace=tmp_path, state_dir=tmp_path / "s"
    ) as memory:
        for value in ODD:
            assert is_result(memory.call_tool(value, value, value))
            memory.session_updated(value)
