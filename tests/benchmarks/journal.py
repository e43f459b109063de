"""The journal of turns: what a hook costs, what a turn takes on disk, and how well it is searched.

    python -m tests.benchmarks.journal [--runs N] [--locomo FOLDER] [--no-targets]

Timed is `memory-core hook` at `Stop` as a whole process, with 5,000 turns in the journal, and a transcript of 200 MB that has
grown by one; the process behind it ends before the next run. A bare interpreter is started before each, since a
machine that is slow today takes longer for both: it takes 11 ms where the target was set. Searched are 2,000 turns.

With --locomo, the folder of LoCoMo's conversations of `make bench-retrieval`, only session retrieval is measured: each session
once as a note of its day, and once as a transcript that is kept turn by turn through the events of hooks. Printed is the share of
the sessions with evidence among the first 5, and 10, sessions, of each conversation as it is done: five take four minutes. The
journal must come within .01 of the notes.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from memory_core.config.load import ConfigSource
from memory_core.hosts import events
from memory_core.plugin.memory import Memory
from tests.benchmarks.bench import Report, medians
from tests.benchmarks.daily_notes import Vocabulary, questions
from tests.benchmarks.judged import conversations
from tests.command import Command
from tests.waiting import eventually

RUNS = 21
TURNS, TURNS_A_SESSION, SEARCHED = 5_000, 100, 2_000
TRANSCRIPT_BYTES = 200_000_000
LINE_BYTES = 100_000  # of what tools say, of which most of a transcript consists
NOW = f"{datetime.now().astimezone():%Y-%m-%dT%H:%M:%S%z}"
MOST_MS = 300.0  # for a hook, as p95
FURTHEST = 0.01  # from notes, in the share of sessions that are found in the journal
SETTINGS = {"provider": "static", "sync": {"watch": False}}


class Host:
    """Claude Code, as far as the journal sees it: its transcripts, and the events of its hooks.

    Args:
        folder: Gets all files; must exist.
        capture: Settings of capture beside what `install --capture` switches on.
    """

    def __init__(self, folder: Path, **capture: int) -> None:
        self.workspace, self.state = folder / "workspace", folder / "state"
        self.home, config = folder / "home", folder / "config.json5"
        (self.home / "projects").mkdir(parents=True)
        self.workspace.mkdir()
        settings = {**SETTINGS, "items": {"capture": {"journal": True, **capture}}}
        config.write_text(json.dumps({"memorySearch": settings}), encoding="utf-8")
        variables = {"CLAUDE_CONFIG_DIR": str(self.home), "MEMORY_CORE_CONFIG": str(config)}
        self.command = Command(self.workspace, self.state, variables)
        self.source = ConfigSource(config, workspace=self.workspace, state_dir=self.state)
        self.config = self.source.current().agent()
        os.environ["CLAUDE_CONFIG_DIR"] = str(self.home)

    def find_transcript(self, session: str) -> Path:
        return self.home / "projects" / f"{session}.jsonl"

    def write(self, session: str, *said: str, at: str = NOW) -> None:
        """Append messages to a transcript, of user and assistant in turn."""
        with self.find_transcript(session).open("a", encoding="utf-8") as file:
            for number, text in enumerate(said):
                role = ("user", "assistant")[number % 2]
                place = f"{session}-{file.tell()}"
                line = {"type": role, "uuid": place, "timestamp": at, "message": {"role": role, "content": text}}
                file.write(json.dumps(line) + "\n")

    def make_event(self, session: str, name: str = "Stop") -> str:
        path = str(self.find_transcript(session))
        return json.dumps({"hook_event_name": name, "session_id": session, "cwd": "/work", "transcript_path": path})

    def keep(self, session: str) -> None:
        """Do what a hook does with the event, in this process."""
        assert events.keep_turns(events.read_event("claude-code", io.StringIO(self.make_event(session))), self.config)

    def runs_behind(self) -> bool:
        done = subprocess.run(["ps", "-eo", "args"], capture_output=True, check=True, text=True)
        return any("--behind" in line and str(self.state) in line for line in done.stdout.splitlines())


def fill(host: Host, turns: int) -> None:
    """Keep so many turns, of 45 words in the mean."""
    words = Vocabulary(3)
    for number in range(turns):
        session = f"session-{number // TURNS_A_SESSION}"
        host.write(session, words.text(20), words.text(70))
        if number % TURNS_A_SESSION == TURNS_A_SESSION - 1:
            host.keep(session)


def bench_hook(report: Report, folder: Path, runs: int) -> None:
    """Time the hook of a turn's end."""
    host = Host(folder)
    fill(host, TURNS)
    journal = host.config.journal_dir
    kept = [json.loads(line) for path in journal.glob("*.jsonl") for line in path.read_bytes().splitlines()]
    texts = sum(len(line["content"].encode()) for line in kept if "role" in line)
    size = sum(path.stat().st_size for path in journal.iterdir())
    report.line("journal, bytes a turn", size / TURNS, "B", baseline=f"of which {texts / TURNS:.0f} are its text")
    with host.find_transcript("session-0").open("a", encoding="utf-8") as file:
        while file.tell() < TRANSCRIPT_BYTES:
            file.write(json.dumps({"type": "progress", "data": "x" * LINE_BYTES}) + "\n")
    host.keep("session-0")
    assert host.command("index").code == 0
    words = [*host.command.start(), "hook"]
    environment = {name: value for name, value in host.command.variables().items() if name != "PYTHONDONTWRITEBYTECODE"}
    wall, busy, bare = list[float](), list[float](), list[float]()
    for number in range(runs + 1):
        host.write("session-0", f"Number {number}.", "Noted.")
        bare += medians(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True), runs=1)[:1]
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(
            words, input=host.make_event("session-0"), env=environment, capture_output=True, check=True, text=True
        )  # fmt: skip
        wall.append((time.perf_counter() - begun) * 1000)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        busy.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000)
        assert not done.stderr, done.stderr
        assert eventually(lambda: not host.runs_behind(), seconds=120)
    last = (journal / "claude-code-session-0.jsonl").read_text(encoding="utf-8")
    assert f"Number {runs}." in last
    wall, busy, bare = sorted(wall[1:]), sorted(busy[1:]), sorted(bare[1:])  # the first run compiles
    name, start = f"hook at Stop, {TURNS:,} turns, {TRANSCRIPT_BYTES // 1_000_000} MB", bare[len(bare) // 2]
    for part, share in (("p50", 0.5), ("p95", 0.95)):
        place = int(len(wall) * share)
        known = f"{wall[place] / start:.1f} starts of a bare interpreter, {start:.0f} ms; its {part} {bare[place]:.0f}"
        target = MOST_MS if part == "p95" else None
        report.line(f"{name}: {part}", wall[place], "ms", target=target, baseline=known)
    report.line(f"{name}: processor", busy[len(busy) // 2], "ms")


def bench_search(report: Report, folder: Path) -> None:
    """Time searches over a journal, in a process that has searched before."""
    host = Host(folder)
    fill(host, SEARCHED)
    with Memory(host.source) as memory:
        memory.sync()
        asked = iter(questions(2 * RUNS))
        p50, p95 = medians(lambda: memory.call_tool("memory_search", {"query": next(asked)}))
    report.line(f"search over {SEARCHED:,} turns: p50", p50, "ms")
    report.line(f"search over {SEARCHED:,} turns: p95", p95, "ms")


@dataclass(frozen=True)
class Session:
    """A session of LoCoMo: its name, its time, what was said, and the lines of the notes in which it stands."""

    name: str
    at: datetime
    said: Sequence[str]
    place: tuple[str, range]


_HEADING = re.compile(r"## Session (\d+), (.*)")


def read_sessions(folder: Path) -> Iterator[Session]:
    """Read the sessions of a conversation from its notes."""
    for path in sorted((folder / "memory").glob("*.md")):
        lines = path.read_text(encoding="utf-8").split("\n")
        starts = [number for number, line in enumerate(lines) if _HEADING.fullmatch(line)]
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
            ((number, at),) = _HEADING.findall(lines[start])
            said = [line.removeprefix("- ") for line in lines[start + 1 : end] if line]
            when = datetime.strptime(at, "%I:%M %p on %d %B, %Y").astimezone()
            yield Session(f"D{number}", when, said, (f"memory/{path.name}", range(start + 1, end + 1)))


def find_sessions(memory: Memory, names: Mapping[str, str], question: str) -> list[str]:
    """Return the sessions that a search finds, best first."""
    answer = memory.call_tool("memory_search", {"query": question, "maxResults": 40, "minScore": 0})
    return [*dict.fromkeys(names[hit["path"]] for hit in answer["results"])]


def measure_retrieval(conversation: Path, folder: Path) -> Iterator[tuple[str, float, float]]:
    """Yield for every question the way in which the conversation was kept, and the shares at 5 and 10."""
    sessions = [*read_sessions(conversation)]
    asked = json.loads((conversation / "questions.json").read_text(encoding="utf-8"))
    for way in ("notes", "journal"):
        (folder / way).mkdir()
        host, names = Host(folder / way, retentionDays=100_000), {}
        for session in sessions:
            if way == "journal":
                for text in session.said:
                    host.write(session.name, text, at=session.at.isoformat())
                    host.keep(session.name)
                names[f"sessions/claude-code-{session.name}.jsonl"] = session.name
            else:
                path = host.workspace / "memory" / f"{session.at:%Y-%m-%d}-{session.name}.md"
                path.parent.mkdir(exist_ok=True)
                path.write_text("\n".join(f"- {text}" for text in session.said) + "\n", encoding="utf-8")
                names[f"memory/{path.name}"] = session.name
        with Memory(host.source) as memory:
            memory.sync()
            for row in asked:
                gold = {
                    s.name for path, line in row["gold"] for s in sessions if s.place[0] == path and line in s.place[1]
                }
                if gold:
                    found = find_sessions(memory, names, row["question"])
                    yield way, len(gold & {*found[:5]}) / len(gold), len(gold & {*found[:10]}) / len(gold)


def bench_locomo(data: Path) -> bool:
    """Print session retrieval of both ways; return True if the journal comes close to the notes."""
    shares: dict[str, list[tuple[float, float]]] = {}
    for conversation in conversations(data):
        begun, seen = time.monotonic(), {way: len(found) for way, found in shares.items()}
        with tempfile.TemporaryDirectory(prefix="memory-core-bench-") as folder:
            for way, *figures in measure_retrieval(conversation, Path(folder)):
                shares.setdefault(way, []).append((figures[0], figures[1]))
        for way, found in shares.items():
            print(f"{conversation.name} as {way:8s} {describe(found[seen.get(way, 0) :])}")
        print(f"{conversation.name} took {time.monotonic() - begun:.0f} s", flush=True)
    for way, found in shares.items():
        print(f"LoCoMo as {way:8s} {describe(found)}")
    means = [[statistics.fmean(column) for column in zip(*found, strict=True)] for found in shares.values()]
    return len(means) == 2 and all(abs(note - turn) <= FURTHEST for note, turn in zip(*means, strict=True))


def describe(found: Sequence[tuple[float, float]]) -> str:
    """Return the shares of some questions as a line shows them."""
    at_5, at_10 = (statistics.fmean(column) for column in zip(*found, strict=True))
    return f"{len(found):5d} questions, sessions with evidence: {at_5:.3f} at 5, {at_10:.3f} at 10"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=RUNS, help="of the hook")
    parser.add_argument(
        "--locomo", type=Path, metavar="FOLDER", help="measure session retrieval on these conversations"
    )
    parser.add_argument("--no-targets", action="store_true", help="print only; a busy machine misses targets")
    options = parser.parse_args()
    if options.locomo and not conversations(options.locomo):
        parser.error(f"no conversations of LoCoMo in {options.locomo}")
    if options.locomo:
        return 0 if bench_locomo(options.locomo) or options.no_targets else 1
    report = Report()
    with tempfile.TemporaryDirectory(prefix="memory-core-bench-") as folder:
        for name in ("hook", "search"):
            Path(folder, name).mkdir()
        bench_hook(report, Path(folder, "hook"), options.runs)
        bench_search(report, Path(folder, "search"))
    if report.missed:
        print("missed:", ", ".join(report.missed), file=sys.stderr)
    return 0 if options.no_targets else int(bool(report.missed))


if __name__ == "__main__":
    sys.exit(main())
