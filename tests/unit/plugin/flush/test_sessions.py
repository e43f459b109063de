"""The host's sessions.json: changed in one place, all else left as it stands."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.errors import SessionsUnusable
from memory_core.sources.sessions_json import read, read_entry, record_flush, update

KEY = "agent:main:main"
HOST: dict[str, Any] = {
    KEY: {
        "sessionId": "9f0c",
        "updatedAt": 1763000000000,
        "skillsSnapshot": {"prompt": "ünïcode\n", "skills": [], "x": {}},
        "totalTokens": 176000,
        "ratio": 0.1,
    },
    "agent:main:cron:a": {"sessionId": "b", "updatedAt": 1, "big": 12345678901234567890},
}


@pytest.mark.parametrize(
    "text",
    [json.dumps(HOST, indent=4), json.dumps(HOST, indent=2).replace("\n", "\r\n"), "\ufeff" + json.dumps(HOST)],
    ids=["4", "CRLF", "byte order mark"],
)
def test_order_and_foreign_keys_stay(text: str, tmp_path: Path) -> None:
    path = tmp_path / "sessions.json"
    path.write_bytes(text.encode())
    record_flush(path, KEY, compaction_count=7, at_ms=1763000000001)
    flushed = HOST[KEY] | {"memoryFlushAt": 1763000000001, "memoryFlushCompactionCount": 7}
    assert path.read_text() == json.dumps(HOST | {KEY: flushed}, ensure_ascii=False, indent=2) + "\n"


def test_makes_the_file_and_the_entry(tmp_path: Path) -> None:
    path = tmp_path / "agents" / "main" / "sessions" / "sessions.json"
    assert read(path) == {}
    assert read_entry(path, KEY) == {}
    record_flush(path, KEY, compaction_count=0, at_ms=5, session_id="s")
    assert path.read_text() == (
        '{\n  "agent:main:main": {\n    "sessionId": "s",\n    "updatedAt": 5,\n'
        '    "memoryFlushAt": 5,\n    "memoryFlushCompactionCount": 0\n  }\n}\n'
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_mode_stays_and_a_link_is_followed(tmp_path: Path) -> None:
    real = tmp_path / "real.json"
    real.write_text("{}")
    real.chmod(0o640)
    link = tmp_path / "sessions.json"
    link.symlink_to(real)
    record_flush(link, KEY, compaction_count=0, at_ms=5)
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert read_entry(real, KEY)["memoryFlushAt"] == 5


@pytest.mark.parametrize(
    "content",
    [b"", b" ", b"{", b"[]", b"null", b'"x"', b'{"agent:main:main": 5}', b'{"a": NaN}', b"\xff\xfe{}", b"[" * 100_000],
    ids=["empty", "blank", "cut", "list", "null", "string", "number", "nan", "utf-16", "deep"],
)
def test_a_malformed_file_is_an_error_and_untouched(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "sessions.json"
    path.write_bytes(content)
    with pytest.raises(SessionsUnusable, match=r"sessions\.json"):
        record_flush(path, KEY, compaction_count=0, at_ms=5)
    assert path.read_bytes() == content
    with pytest.raises(SessionsUnusable):
        read_entry(path, KEY)


def test_what_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SessionsUnusable):
        read(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(SessionsUnusable):
        record_flush(tmp_path / "file" / "sessions.json", KEY, compaction_count=0, at_ms=5)


def test_a_lone_surrogate_stays_an_escape(tmp_path: Path) -> None:
    path = tmp_path / "sessions.json"
    path.write_text('{"k": {"name": "\\ud83d!"}}')
    record_flush(path, "k", compaction_count=0, at_ms=5)
    assert '"\\ud83d!"' in path.read_text()
    assert read_entry(path, "k")["name"] == "\ud83d!"


def test_a_host_that_writes_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "sessions.json"
    path.write_text('{"k": {"n": 0}}')
    seen: list[int] = []

    def change(entry: dict[str, Any]) -> None:
        if not seen:  # the host replaces the file after it was read
            other = tmp_path / "other"
            other.write_text('{"k": {"n": 1}, "new": {"sessionId": "x"}}')
            other.replace(path)
        seen.append(entry["n"])
        entry["mine"] = True

    assert update(path, "k", change) == {"n": 1, "mine": True}
    assert seen == [0, 1]
    assert read(path) == {"k": {"n": 1, "mine": True}, "new": {"sessionId": "x"}}


def test_a_file_that_never_rests_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "sessions.json"
    counts = iter(range(1, 100))

    def change(entry: dict[str, Any]) -> None:
        path.write_text("{" + " " * next(counts) + "}")

    with pytest.raises(SessionsUnusable, match="changed by another program"):
        update(path, "k", change)
    assert json.loads(path.read_text()) == {}


def test_failures_count_within_a_cycle_only(tmp_path: Path) -> None:
    path = tmp_path / "sessions.json"
    assert [record_flush(path, "k", compaction_count=0, at_ms=1, failed=True) for _ in range(2)] == [1, 2]
    assert record_flush(path, "k", compaction_count=1, at_ms=1, failed=True) == 1
    path.write_text('{"k": {"memoryFlushFailureCount": "many", "memoryFlushFailureCompactionCount": 0}}')
    assert record_flush(path, "k", compaction_count=0, at_ms=1, failed=True) == 1


def test_nothing_is_left_beside_the_file_but_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "sessions.json"
    for count in range(3):
        record_flush(path, "k", compaction_count=count, at_ms=1)
    assert sorted(found.name for found in tmp_path.iterdir()) == [".sessions.json.memory-core.lock", "sessions.json"]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    sessions=st.dictionaries(st.text(), st.dictionaries(st.text(), values, max_size=4), max_size=4),
    indent=st.sampled_from([None, 1, 2, 4, "\t"]),
    key=st.text(),
)
def test_whatever_a_host_keeps_survives(
    sessions: dict[str, Any], indent: int | str | None, key: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("store") / "sessions.json"
    path.write_text(json.dumps(sessions, indent=indent))
    update(path, key, lambda entry: entry.update({"memoryFlushAt": 1}))
    expected = {**sessions, key: {**sessions.get(key, {}), "memoryFlushAt": 1}}
    found = read(path)
    assert found == expected
    assert list(found) == list(expected)
