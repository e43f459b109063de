"""The command line as its users have it: real processes on a real workspace."""

from __future__ import annotations

import json
import os
import pty
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

import memory_core
from memory_core.atomic import locked
from memory_core.backends.engine import LOCK_SECONDS
from memory_core.hookspecs import BACKENDS_GROUP
from tests.command import REPOSITORY, SAMPLE_NOTES, Command, Outcome
from tests.fakes.installed import install
from tests.servers.loopback import Reply
from tests.servers.openai import OpenAIServer
from tests.waiting import eventually

QUESTION = "Which musical instrument am I learning?"
ANSWER = "memory/2026-02-21.md"


@pytest.fixture
def indexed(command: Command) -> Command:
    assert command("index").code == 0
    return command


def test_index_says_what_it_did(command: Command) -> None:
    first = command("index")
    assert (first.code, first.err) == (0, "")
    assert first.out.startswith(f"Indexed {SAMPLE_NOTES} notes in ")
    assert f"({SAMPLE_NOTES} added, 0 changed, 0 removed, 0 unchanged)" in first.out
    assert f"(0 added, 0 changed, 0 removed, {SAMPLE_NOTES} unchanged)" in command("index").out
    assert command("reindex", "--force").out.startswith(f"Rebuilt the index: {SAMPLE_NOTES} notes in ")


def test_index_reports_as_json(command: Command) -> None:
    report = command("index", "--json").json
    assert report["added"] == report["files"] == SAMPLE_NOTES
    assert report["failures"] == []
    assert set(report) >= {"chunks", "embedded", "cached", "pending", "reindexed", "seconds"}


def test_search_shows_place_score_and_snippet(indexed: Command) -> None:
    shown = indexed("search", QUESTION)
    assert (shown.code, shown.err) == (0, "")
    place, *snippet = shown.out.splitlines()
    assert place.startswith(f"{ANSWER}:L")
    assert 0.35 <= float(place.split()[-1]) <= 1
    assert any("guitar" in line for line in snippet)
    assert snippet[0].startswith("    ")
    assert "Source:" not in shown.out  # the first line names the place
    assert all(line.startswith("    ") for line in snippet if line and not line.startswith("memory/"))


def test_search_indexes_what_is_not_indexed_yet(command: Command) -> None:
    assert command("search", QUESTION).out.startswith(ANSWER)


def test_search_finishes_the_sync_that_a_host_would_leave_to_the_background(command: Command, tmp_path: Path) -> None:
    config = tmp_path / "host.json5"
    config.write_text("{agents: {defaults: {memorySearch: {sync: {onSearchBudgetMs: 0}}}}}")
    found = command("--config", str(config), "search", QUESTION)
    assert (found.code, found.err) == (0, "")
    assert found.out.startswith(ANSWER)


def test_search_answers_at_once_while_another_process_syncs(indexed: Command, workspace: Path) -> None:
    (workspace / "memory" / "2026-05-01.md").write_text("The heron nests by the weir.\n", encoding="utf-8")
    index = indexed("status", "--json").json["store"]
    with locked(Path(f"{index}.lock"), timeout_seconds=5.0):
        begun = time.monotonic()
        found = indexed("search", QUESTION)
        assert time.monotonic() - begun < LOCK_SECONDS
    assert found.out.startswith(ANSWER)
    assert "lacks some notes" in found.err
    assert "heron" in indexed("search", "heron weir").out


def test_search_prints_the_tool_result_as_json(indexed: Command, workspace: Path) -> None:
    printed = indexed("search", QUESTION, "--json", "--max-results", "2").json
    with memory_core.open_memory(
        {"agents": {"defaults": {"memorySearch": {"provider": "static"}}}},
        workspace=workspace,
        state_dir=indexed.state_dir,
    ) as memory:
        assert printed == memory.call_tool("memory_search", {"query": QUESTION, "maxResults": 2})
    assert printed["results"][0]["path"] == ANSWER
    assert len(printed["results"]) <= 2


def test_search_can_be_bounded(indexed: Command) -> None:
    assert indexed("search", QUESTION, "--min-score", "1").out.startswith("No matches")
    paths = {
        hit["path"] for hit in indexed("search", "PRS-2209 review", "--after", "2026-03-01", "--json").json["results"]
    }
    assert all(path >= "memory/2026-03-01.md" for path in paths if path.startswith("memory/2026"))


def test_no_hits_is_done(indexed: Command) -> None:
    assert indexed("search", "xqzvkw plomfritz").code == 0
    assert indexed("search", "xqzvkw plomfritz").out.startswith("No matches")
    late = indexed("search", QUESTION, "--after", "2999-01-01").out
    assert late.startswith("No matches: no note within --after 2999-01-01 holds 'musical'")
    assert indexed("search", "xqzvkw plomfritz", "--json").json["results"] == []


@pytest.mark.parametrize(
    "limits", [["--before", "2001-01-01"], ["--after", "tomorrow", "--today", "2999-01-01"], ["--min-score", "1.0"]]
)
def test_no_hits_name_the_command_that_explains_this_very_search(indexed: Command, limits: list[str]) -> None:
    said = indexed("search", "wedding plomfritz", *limits).out.rstrip()
    why = said.partition(" Why: ")[2]
    notes = ["--workspace", str(indexed.workspace), "--state-dir", str(indexed.state_dir)]
    assert why == shlex.join(["memory-core", "explain", "wedding plomfritz", *limits, *notes])
    assert indexed(*shlex.split(why)[1:]).out.startswith("Nothing came")


def test_of_the_past_no_command_is_named_that_explains_the_present(indexed: Command) -> None:
    now = datetime.now().astimezone().isoformat()
    found = indexed("search", "xqzvkw plomfritz", "--as-of", now)
    assert (found.code, found.out.startswith("No matches"), "Why:" in found.out) == (0, True, False)


def test_days_of_which_there_is_nothing_are_the_reason(indexed: Command) -> None:
    assert indexed("explain", "wedding", "--before", "2001-01-01").out.splitlines()[:2] == [
        "Nothing came: nothing that is before 2001-01-01 was found.",
        "What you can do: ask without --after and --before.",
    ]


def test_an_empty_workspace_says_that_nothing_is_indexed(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    found = Command(tmp_path / "empty", tmp_path / "state")("search", QUESTION)
    assert found.code == 0
    assert found.out == "No matches.\n"
    assert found.err.startswith(f"memory-core: 0 notes in {tmp_path / 'empty'}")
    assert "No memories indexed yet" not in found.err, "one reason is enough"


@pytest.mark.parametrize("arguments", [("index",), ("search", QUESTION), ("explain", QUESTION), ("related",)])
def test_an_empty_workspace_says_where_a_note_goes(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "empty").mkdir()
    shown = Command(tmp_path / "empty", tmp_path / "state")(*arguments)
    assert f"0 notes in {tmp_path / 'empty'}. Write MEMORY.md or memory/YYYY-MM-DD.md there" in shown.err


def test_get_prints_the_note_as_it_is_now(command: Command, workspace: Path) -> None:
    note = workspace / ANSWER
    assert command("get", ANSWER).out.rstrip("\n") == note.read_text().rstrip("\n")
    lines = note.read_text().splitlines()
    assert command("get", ANSWER, "--from", "3", "--lines", "2").out.splitlines() == lines[2:4]
    assert command("get", ANSWER, "--json").json["status"] == "ok"


def test_get_says_where_a_long_note_goes_on(command: Command, workspace: Path) -> None:
    (workspace / "memory" / "long.md").write_text("".join(f"line {n}\n" for n in range(1, 301)))
    shown = command("get", "memory/long.md")
    assert len(shown.out.splitlines()) == 120
    assert shown.err == "The note goes on: --from 121\n"


def test_get_says_that_a_line_is_cut(command: Command, workspace: Path) -> None:
    (workspace / "memory" / "line.md").write_text("# A\n" + "word " * 10_000)
    shown = command("get", "memory/line.md", "--from", "2")
    assert len(shown.out) == 12_001
    assert shown.err == "Line 2 is cut: it is longer than a page. `memory-core open` names the file.\n"


def test_get_says_where_a_note_ends(command: Command, workspace: Path) -> None:
    (workspace / "memory" / "short.md").write_text("One.\nTwo.\nThree.\n")
    (workspace / "memory" / "empty.md").write_text("")
    assert command("get", "memory/short.md", "--from", "99").err == "The note ends before line 99.\n"
    assert command("get", "memory/empty.md").err == "The note is empty.\n"
    for asked in (["memory/short.md:L2"], ["memory/short.md", "--from", "2", "--lines", "1"]):
        shown = command("get", *asked)
        assert (shown.out, shown.err) == ("Two.\n", "")


def test_get_fails_on_a_missing_note(command: Command) -> None:
    missing = command("get", "memory/1999-01-01.md")
    assert missing.code == 1
    assert missing.out == ""
    assert "memory/1999-01-01.md" in missing.error
    assert command("get", "memory/1999-01-01.md", "--json").json["status"] == "not_found"


def test_status_before_and_after(command: Command, workspace: Path) -> None:
    before = command("status")
    assert before.code == 0
    assert "none yet; the next search makes it, or run: memory-core index" in before.out
    assert "files" not in before.out, "no note is lost"
    shown = command("status", environment={"MEMORY_CORE_PROVIDER": "auto"}).out
    assert "the one that is built in: it needs no key" in shown
    assert command("status", "--json").json["indexed"] is False
    command("index")
    status = command("status", "--json").json
    assert status["indexed"] is True
    assert (status["files"], status["provider"], status["workspace"]) == (SAMPLE_NOTES, "static", str(workspace))
    assert str(command.state_dir) in command("status").out


def test_status_deep_tries_the_provider(indexed: Command) -> None:
    assert indexed("status", "--deep", "--json").json["probe"]["ok"] is True
    assert "static" in indexed("status", "--deep").out.splitlines()[-1]


def test_probe(command: Command) -> None:
    assert command("probe", "--json").json["dimensions"] == 256
    assert "256 dimensions" in command("probe").out
    assert "by keyword" in command("probe", environment={"MEMORY_CORE_PROVIDER": "none"}).out


def test_config_check_explains_a_file(command: Command, tmp_path: Path) -> None:
    config = tmp_path / "host.json5"
    config.write_text("{agents: {defaults: {memorySearch: {provider: 'none', query: {maxResults: 3}}}}}")
    checked = command("config", "check", str(config), environment={"MEMORY_CORE_PROVIDER": ""})
    assert checked.code == 0
    assert str(config) in checked.out
    assert command("--config", str(config), "config", "check", "--json").code == 0


def test_config_check_prints_one_line_for_every_error(command: Command, tmp_path: Path) -> None:
    config = tmp_path / "host.json5"
    config.write_text("{memory: {citation: 'on'}, agents: {defaults: {memorySearch: {query: {maxResults: '6'}}}}}")
    checked = command("config", "check", str(config))
    assert (checked.code, checked.out) == (2, "")
    first, second = checked.err.splitlines()
    assert "memory.citation" in first
    assert "agents.defaults.memorySearch.query.maxResults" in second
    assert str(config) in first


@pytest.mark.parametrize("position", ["before", "after"])
def test_common_options_stand_before_or_after_the_command(command: Command, position: str) -> None:
    words = ["--json", "status"] if position == "before" else ["status", "--json"]
    assert command(*words).json["agent"] == "main"
    words = ["--agent", "other", "status"] if position == "before" else ["status", "--agent", "other"]
    assert command("--json", *words).json["agent"] == "other"


def test_an_index_that_the_chosen_backend_did_not_get_is_a_failure(command: Command) -> None:
    away = {"MEMORY_CORE_BACKEND": "postgres", "MEMORY_CORE_POSTGRES_DSN": "postgresql://ada@127.0.0.1:9/memory"}
    for fails in (True, False):
        shown = command("index", environment=away if fails else {})
        assert (shown.code, "backend 'postgres' is not synced: " in shown.err) == (int(fails), fails)
        assert shown.out.startswith("Indexed ")


def test_an_agent_that_a_list_does_not_name_is_refused(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "host.json5"
    path.write_text('{agents: {list: [{id: "bob"}, {id: "ada"}]}}')
    for words in (["status"], ["mcp"], ["config", "get"]):
        shown = command(*words, "--config", str(path), "--agent", "bbo")
        assert shown.code == 2
        assert "--agent: the configuration names bob, ada, not 'bbo'; did you mean 'bob'?" in shown.error
    assert command("status", "--config", str(path), "--agent", "BOB").code == 0


@pytest.mark.parametrize(
    "words",
    [
        ["serch", "x"],
        ["search"],
        ["search", "x", "--max-results", "many"],
        ["search", "x", "--max-results", "0"],
        ["search", "x", "--min-score", "2"],
        ["search", "x", "--after", "soon"],
        ["get", "a.md", "--from", "0"],
        ["status", "--unknown"],
        ["status", "--agent", "../other"],
        ["config", "--agent", "main"],
        ["config", "check", "no-such-file.json5"],
        ["--config", "no-such-file.json5", "status"],
    ],
)
def test_bad_usage_is_one_line_and_exit_code_two(command: Command, words: list[str]) -> None:
    refused = command(*words)
    assert (refused.code, refused.out) == (2, "")
    assert refused.error


def test_a_path_outside_the_notes_is_refused(command: Command) -> None:
    refused = command("get", "../../etc/passwd")
    assert refused.code in {1, 2}
    assert "etc/passwd" in refused.error
    assert refused.out == ""


def test_debug_shows_the_traceback(command: Command) -> None:
    shown = command("--config", "no-such-file.json5", "status", "--debug")
    assert shown.code == 1
    assert "Traceback" in shown.err


def test_debug_shows_the_traceback_of_a_plugin_that_fails(command: Command, tmp_path: Path) -> None:
    """A plugin's author sees the line that failed; everybody else the type and the message, in one line."""
    with pytest.MonkeyPatch.context() as patch:
        install(patch, tmp_path / "site", BACKENDS_GROUP, {"raising": "tests.fakes.moody:RAISING"})
    path = os.pathsep.join([str(tmp_path / "site"), str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
    environment = {"MEMORY_CORE_BACKEND": "raising", "PYTHONPATH": path}
    short = command("status", environment=environment)
    assert "it cannot be opened: its licence has run out" in short.error
    shown = command("status", "--debug", environment=environment)
    assert "OSError: its licence has run out" in shown.err
    assert "moody.py" in shown.err
    assert "Traceback" in shown.err


@pytest.mark.parametrize("word", ["--version", "--help"])
def test_version_and_help_are_answers(command: Command, word: str) -> None:
    answered = command(word)
    assert (answered.code, answered.err) == (0, "")
    assert "memory-core" in answered.out


def test_a_reader_that_has_seen_enough_is_no_error(indexed: Command) -> None:
    """`memory-core get ... | head -1`, with a pipe that is closed before anything is written."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        done = subprocess.run(
            [*indexed.start(), "search", QUESTION],
            check=False,
            env=indexed.variables(),
            stderr=subprocess.PIPE,
            stdout=closed,
            timeout=60,
        )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Processes started here take SIGINT, also when this one was started in the background, where it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_is_one_line(command: Command, tmp_path: Path) -> None:
    release = threading.Event()
    with OpenAIServer() as server:
        server.fail(*[Reply(500, after=release)] * 9)  # the command waits for an answer that does not come
        config = tmp_path / "host.json5"
        remote = {"provider": "openai-compatible", "model": "m", "remote": {"baseUrl": server.url}}
        config.write_text(json.dumps({"agents": {"defaults": {"memorySearch": remote}}}))
        process = subprocess.Popen(
            [*command.start(), "--config", str(config), "index"],
            env={name: value for name, value in command.variables().items() if name != "MEMORY_CORE_PROVIDER"},
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        try:
            assert eventually(lambda: server.requests)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            release.set()
            process.kill()
    outcome = Outcome(process.returncode, out, err)
    assert (outcome.code, outcome.out) == (130, "")
    assert "interrupted" in outcome.error


def test_an_interrupt_while_modules_are_imported_shows_no_traceback() -> None:
    source = """
import sys
class Interrupting:
    def find_spec(self, name, *_):
        if name == "memory_core.cli.output":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
from memory_core.cli.main import main
sys.exit(main(["status"]))
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False, cwd=REPOSITORY)
    assert (done.returncode, done.stderr) == (130, "")


def test_a_poor_terminal_gets_escapes_and_no_traceback(indexed: Command) -> None:
    shown = indexed(
        "search",
        "ブートローダーはどのバージョン以上に更新する必要がありますか？",
        environment={"PYTHONIOENCODING": "ascii"},
    )
    assert (shown.code, shown.err) == (0, "")
    assert "\\u30d6" in shown.out


def test_an_argument_that_is_no_utf_8_is_searched_all_the_same(indexed: Command) -> None:
    assert indexed("search", os.fsdecode(b"guitar \xff\xfe"), "--json").json["results"]


def test_a_terminal_gets_no_control_characters_of_a_note(command: Command, workspace: Path) -> None:
    (workspace / "memory" / "trap.md").write_text("the zirkon \x1b]0;owned\x07 note\n")
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [*command.start(), "get", "memory/trap.md"], check=True, env=command.variables(), stdout=theirs, timeout=60
    )
    os.close(theirs)
    shown = os.read(ours, 4096)
    os.close(ours)
    assert done.returncode == 0
    assert shown.rstrip() == b"the zirkon ]0;owned note"


def test_json_is_json_in_every_script(indexed: Command) -> None:
    printed = indexed("search", "第一批样机什么时候从盐田港发出？", "--json").out
    assert "盐田港" in printed
    assert json.loads(printed)["results"][0]["path"] == "memory/2026-01-27.md"


def test_a_place_is_read_as_search_prints_it(command: Command) -> None:
    whole = command("get", "memory/2026-01-10.md", "--from", "3", "--lines", "2")
    assert whole.code == 0
    assert command("get", "memory/2026-01-10.md:L3-L4").out == whole.out
    assert command("get", "memory/2026-01-10.md#L3-L4").out == whole.out


OFF = {
    "status": 0, "doctor": 0, "config check": 0, "index": 2, "search x": 2, "get MEMORY.md": 2, "add x": 2, "open MEMORY.md": 2,
    "watch": 2, "probe": 2, "items list": 2, "items show x": 2, "items add x": 2,
}  # fmt: skip


@pytest.mark.parametrize("words", OFF)
def test_exit_codes_while_memory_is_off(command: Command, tmp_path: Path, words: str) -> None:
    """What looks at the configuration succeeds; what needs memory fails as with any wrong configuration."""
    off = tmp_path / "off.json5"
    off.write_text('{plugins: {slots: {memory: "none"}}}')
    shown = command(*words.split(), "--config", str(off), "--json")
    assert shown.code == OFF[words]
    assert 'plugins.slots.memory is "none"' in json.dumps(shown.json).replace('\\"', '"')


def test_json_is_printed_for_failures_too(command: Command, tmp_path: Path) -> None:
    unknown = command("items", "show", "nope", "--json")
    assert (unknown.code, unknown.json["error"]) == (1, "there is no item 'nope'")
    broken = tmp_path / "broken.json5"
    broken.write_text("{memory: {backend: 5}}")
    refused = command("index", "--config", str(broken), "--json")
    assert refused.code == 2
    assert "memory.backend" in refused.json["error"]


@pytest.mark.parametrize("arguments", ["search oak --workspace w", "adopt notes"])
def test_a_relative_path_in_a_folder_that_was_removed_is_refused_by_its_name(
    command: Command, tmp_path: Path, arguments: str
) -> None:
    def leave() -> None:
        folder = tmp_path / "gone"
        folder.mkdir()
        os.chdir(folder)
        folder.rmdir()

    assert command("search", QUESTION, before=leave).out.startswith(ANSWER)
    refused = command(*arguments.split(), before=leave)
    name = arguments.rsplit(maxsplit=1)[-1]
    assert refused.code == 2
    assert refused.error.startswith(
        f"memory-core: {name}: is a relative path, and the current folder was removed or cannot be read. "
    )
