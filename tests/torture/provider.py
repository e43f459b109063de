"""Embedding endpoints that answer with anything at all: a search still finds by keyword, in time, in bounded memory.

A case is one hostile answer, given to a search that reads, to a search that also brings the index up to date, or to a whole
sync. After a hostile sync a good endpoint must be able to put everything right. The key is in nothing that anybody sees.
"""

# ruff: noqa: E501 - lists of hostile values are kept short in lines, which are long
from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import memory_core
from memory_core import CallContext, Memory, MemoryCoreError
from tests.torture import hostile
from tests.torture.attack import Attack, Outcome
from tests.torture.leaks import exposed, new_key
from tests.torture.notes import WORDS, contents, finds, write_notes
from tests.torture.watch import Seen, brief, told, watching

SLACK_SECONDS = 4.0  # on top of the time-outs: the machine is shared
SYNC_SECONDS = 30.0  # three retries with pauses, of a handful of texts
CLOSE_SECONDS = 8.0
MAX_GROWTH_BYTES = 256 << 20
READER = CallContext(session_key="agent:main:main", chat_type="direct", access="ro")
WRITER = CallContext(session_key="agent:main:main", chat_type="direct")
CONFIGURATION = "configuration"
PROVIDERS = ("openai-compatible", "openai", "mistral", "openrouter", "ollama")  # those spoken to directly
FRESH_WORD, FRESH_PATH = "tinwhistle", "memory/2026-01-09.md"


_TIMEOUTS = {"healthy": 10.0}  # on a busy machine, too: a good endpoint has to be used


@dataclass(frozen=True, slots=True)
class Case:
    """The plan of one case.

    Attributes:
        kind: Of the answer; "configuration" puts the hostility into the configuration instead.
        way: "read", "write" or "sync".
        timeout_seconds: For one request, and for a question's embedding.
    """

    number: int
    kind: str
    way: str
    provider: str
    key: str
    word: str
    timeout_seconds: float


class ProviderAttack(Attack):
    """See the module."""

    name: ClassVar[str] = "provider"
    full: ClassVar[int] = 10_000
    jobs: ClassVar[int] = 6  # they mostly wait
    share: ClassVar[float] = 0.45
    limit_seconds: ClassVar[float] = 60.0

    def __init__(self, folder: Path, seed: int) -> None:
        super().__init__(folder, seed)
        command = [sys.executable, "-m", "tests.torture.hostile_server", str(seed)]
        self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._server.stdout is not None
        self._url = f"http://127.0.0.1:{int(self._server.stdout.readline())}/v1"
        self._workspace = folder / "workspace"
        write_notes(self._workspace)
        self._templates: dict[str, Path] = {}

    def case(self, number: int) -> Case:
        """Plan the case of this number."""
        dice = self.dice(number)
        kinds = [*hostile.kinds(), CONFIGURATION]
        kind = dice.choices(kinds, [0.3 if kind in hostile.BULKY else 1.0 for kind in kinds])[0]
        return Case(
            number=number,
            kind=kind,
            way=dice.choices(["read", "write", "sync"], [6, 2, 1])[0],
            provider=dice.choices(PROVIDERS, [6, 2, 1, 1, 1])[0],
            key=new_key(dice),
            word=dice.choice(list(WORDS)),
            timeout_seconds=_TIMEOUTS.get(kind, 1.5 if kind in hostile.BULKY else 0.3),
        )

    def run(self, number: int) -> Outcome:
        case, outcome = self.case(number), Outcome()
        template = self._template(case.provider)
        place = self.folder / f"case-{number}"
        try:
            if case.way == "sync":
                self._sync(case, place, outcome)
            else:
                self._search(case, template, place, outcome)
        finally:
            shutil.rmtree(place, ignore_errors=True)
        return outcome

    def close(self) -> None:
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait(10)
        assert self._server.stdout is not None
        self._server.stdout.close()

    def _search(self, case: Case, template: Path, place: Path, outcome: Outcome) -> None:
        workspace, state, context = self._workspace, template, READER
        if case.way == "write":
            workspace, state, context = place / "workspace", place / "state", WRITER
            shutil.copytree(self._workspace, workspace)
            shutil.copytree(template, state)
            (workspace / FRESH_PATH).write_text(f"# Notes\n\nThe {FRESH_WORD} is new.\n")
        shown: list[str] = []
        with watching() as seen:
            memory = self._opened(self._config(case), workspace, state, shown)
            if memory is None:
                outcome.count("configuration refused")
            else:
                begun = time.monotonic()
                answer = memory.call_tool("memory_search", {"query": f"Where is the {case.word}?"}, context)
                seconds = time.monotonic() - begun
                while "search again" in answer.get("action", "") and time.monotonic() < begun + SYNC_SECONDS:
                    time.sleep(0.2)  # a busy machine has not indexed anything within the budget of a search
                    answer = memory.call_tool("memory_search", {"query": f"Where is the {case.word}?"}, context)
                shown.append(self._judged(case, answer, seconds, outcome))
                self._shut(memory, case, shown, outcome)
        self._check(case, seen, shown, state, outcome)

    def _sync(self, case: Case, place: Path, outcome: Outcome) -> None:
        shown: list[str] = []
        with watching() as seen:
            memory = self._opened(self._config(case), self._workspace, place, shown)
            if memory is None:
                outcome.count("configuration refused")
            else:
                begun = time.monotonic()
                try:
                    report = memory.sync()
                    shown.append(repr(report))
                    outcome.count("synced, all embedded" if not report.pending else "synced, embeddings pending")
                    if report.failures:
                        outcome.add("lost", "a sync leaves notes out because of a provider's answer", report.failures)
                except MemoryCoreError as error:
                    shown.append(told(error))
                    outcome.add(
                        "down",
                        f"a sync ends with {type(error).__name__} instead of leaving embeddings pending",
                        brief(error),
                    )
                except Exception as error:  # noqa: BLE001 - that any came is the finding
                    shown.append(told(error))
                    outcome.add("down", f"a sync raises {type(error).__name__} ({case.kind})", brief(error))
                seconds = time.monotonic() - begun
                if seconds > SYNC_SECONDS:
                    outcome.add("down", f"a sync takes too long ({case.kind})", f"{seconds:.1f} s")
                answer = memory.call_tool("memory_search", {"query": f"Where is the {case.word}?"}, READER)
                shown.append(self._judged(case, answer, 0.0, outcome))
                self._shut(memory, case, shown, outcome)
        self._check(case, seen, shown, place, outcome)
        if memory is not None:
            self._recovers(case, place, outcome)

    def _recovers(self, case: Case, state: Path, outcome: Outcome) -> None:
        """A good endpoint at the same place puts everything right."""
        config = self._config(case, good=True)
        with memory_core.open_memory(config, workspace=self._workspace, state_dir=state) as memory:
            report = memory.sync()
            answer = memory.call_tool("memory_search", {"query": f"Where is the {case.word}?"}, READER)
        if report.pending or report.failures:
            outcome.add("down", f"a good endpoint does not put right what a bad one left ({case.kind})", report)
        elif not finds(answer, case.word) or answer.get("mode") != "hybrid":
            outcome.add(
                "down", f"searches stay without vectors after a bad endpoint was put right ({case.kind})", answer
            )
        else:
            outcome.count("put right by a good endpoint")

    def _opened(self, config: dict[str, Any], workspace: Path, state: Path, shown: list[str]) -> Memory | None:
        try:
            memory = memory_core.open_memory(config, workspace=workspace, state_dir=state)
        except MemoryCoreError as error:
            shown.append(told(error))
            return None
        shown.append(f"{memory!r} {memory.config()!r}")
        return memory

    def _judged(self, case: Case, answer: dict[str, Any], seconds: float, outcome: Outcome) -> str:
        """Judge a search's answer; returns all that it shows."""
        text = f"{json.dumps(answer)} {json.dumps(answer, ensure_ascii=False)}"
        if "defect" in answer.get("action", ""):
            outcome.add("down", f"a search answers an internal error ({case.kind})", answer)
        elif not finds(answer, case.word):
            outcome.add("down", f"a search finds nothing ({case.kind})", answer)
        elif answer["mode"] == "keyword" and not answer.get("warning"):
            outcome.add("down", f"keywords answer without a warning ({case.kind})", answer)
        else:
            outcome.count(f"{answer['mode']} hits")
        if case.kind == "healthy" and answer.get("mode") != "hybrid":
            outcome.add("down", "a good endpoint is not used", answer)
        if seconds > case.timeout_seconds + 0.5 + SLACK_SECONDS:
            outcome.add("down", f"a search takes longer than it may ({case.kind})", f"{seconds:.1f} s")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            outcome.add("down", f"an answer holds what UTF-8 cannot carry ({case.kind})", error)
        return text

    def _shut(self, memory: Memory, case: Case, shown: list[str], outcome: Outcome) -> None:
        try:
            shown.append(repr(memory.status()))
        except MemoryCoreError as error:
            shown.append(told(error))
        begun = time.monotonic()
        left = memory.close()
        seconds = time.monotonic() - begun
        if seconds > CLOSE_SECONDS:
            outcome.add("down", f"close() takes too long ({case.kind})", f"{seconds:.1f} s, left {left}")
        time.sleep(0.01)
        threads = [thread.name for thread in threading.enumerate() if thread.name.startswith("memory")]
        if threads and not left:
            time.sleep(1)  # a daemon that is about to end
            threads = [thread.name for thread in threading.enumerate() if thread.name.startswith("memory")]
        if threads and not left:
            outcome.add("down", f"close() leaves a thread behind and does not say so ({case.kind})", threads)

    def _check(self, case: Case, seen: Seen, shown: list[str], state: Path, outcome: Outcome) -> None:
        files = "".join(data.decode("latin-1") for data in contents(state).values())
        for place, text in (("an answer, error or repr", "\n".join(shown)), ("the log", seen.text), ("a file", files)):
            spelling = exposed(text, case.key)
            if spelling is not None:
                outcome.add("leaked", f"the key, {spelling}, is in {place} ({case.kind})", _around(text, case.key))
        if seen.stray:
            outcome.add("down", f"an error of a thread or task reaches nobody ({case.kind})", seen.stray[0])
        if seen.grown_bytes > MAX_GROWTH_BYTES:
            outcome.add("down", f"memory grows beyond bounds ({case.kind})", f"{seen.grown_bytes >> 20} MB")

    def _template(self, provider: str) -> Path:
        """A state folder whose index a good endpoint has embedded."""
        if provider not in self._templates:
            state = self.folder / f"template-{provider}"
            case = Case(-1, "healthy", "sync", provider, "sk-template", "quartzlantern", 5.0)
            with memory_core.open_memory(
                self._config(case, good=True), workspace=self._workspace, state_dir=state
            ) as memory:
                report = memory.sync()
            assert not report.pending, report
            self._templates[provider] = state
        return self._templates[provider]

    def _config(self, case: Case, *, good: bool = False) -> dict[str, Any]:
        url, headers = self._url, {} if good else {"X-Case": f"{case.kind}/{case.number}"}
        seconds = 10.0 if good else case.timeout_seconds
        remote: dict[str, Any] = {"baseUrl": url, "apiKey": case.key, "timeoutSeconds": seconds, "headers": headers}
        if case.kind == CONFIGURATION:
            remote["headers"] = {"X-Case": f"healthy/{case.number}"}
            if not good:
                _spoil(remote, case.key, self.dice(case.number, "configuration"))
        return {
            "memorySearch": {
                "provider": case.provider,
                "model": "m",
                "remote": remote,
                "query": {"embedTimeoutMs": round(seconds * 1000)},
                "sync": {"watch": False, "onSearchBudgetMs": 500},
            }
        }


def _spoil(remote: dict[str, Any], key: str, dice: random.Random) -> None:
    """Put something into the remote section that no request bears, or that carries the key where it is easily shown."""
    url: str = remote["baseUrl"]
    host = url.removeprefix("http://")
    headers = [
        {"Content-Length": "5"}, {"Content-Length": "x"}, {"Transfer-Encoding": "chunked"}, {"Host": "a b"}, {"Host": ""}, {"Expect": "100-continue"},
        {"Accept-Encoding": "br"}, {"Content-Type": "text/plain"}, {"Connection": "upgrade"}, {"Authorization": f"Basic {key}"}, {"X-Key": key},
        {"X-Bad": "a\r\nX-More: b"}, {"X Bad": "a"}, {"": "a"}, {"X-Long": "a" * 100_000}, {"content-length": "0"}, {"Content-Encoding": "gzip"}, {"TE": "\0"},
    ]  # fmt: skip
    # Only names of this machine: a worker that asks for another one is stopped.
    urls = [
        f"http://user:{key}@{host}", f"{url}?api_key={key}", f"{url}?key={key}#x", f"http://{host}/{key}/v1", f"{url}#{key}", "http://127.0.0.1:99999/v1",
        "http://[::1", "http://", "ftp://127.0.0.1/", "127.0.0.1", "http://127.0.0.1:x/", "http://\0/", "http://127.0.0.1:1/v1",
        f"http://127.0.0.1:9/{key * 2000}", "http://127.0.0.1:0/", "HTTP://127.0.0.1:1", "//",
        "http://\ud800/", "http://xn--\u00ff/", f"http://{key}:{key}@127.0.0.1:1/v1", "unix:///tmp/x", "http://127.0.0.1:1/\r\nX: y", "http://[fe80::1%25x]/",
    ]  # fmt: skip
    if dice.random() < 0.5:
        remote["headers"] |= dice.choice(headers)
    else:
        remote["baseUrl"] = dice.choice(urls)


def _around(text: str, key: str) -> str:
    """Some text around the key where it stands plainly, else the end of the text."""
    at = next(
        (at for at in (text.find(key[n : n + 12]) for n in range(len(key) - 11)) if at >= 0), max(0, len(text) - 600)
    )
    return text[max(0, at - 200) : at + 200]
