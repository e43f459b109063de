"""Measure session retrieval on published sets of conversations: no model, no key, no network.

    python -m tests.benchmarks.public DATA [--max-results N] [--provider static|none] [--model FOLDER] [--layers N] [--json FILE]
    python -m tests.benchmarks.public DATA --peers --model FOLDER    # beside other memory systems; FOLDER has all-MiniLM-L6-v2

DATA is LoCoMo's locomo10.json (https://github.com/snap-research/locomo), a file of LongMemEval, as longmemeval_s.json
(https://github.com/xiaowu0162/LongMemEval), or a folder of workspaces that were made of LoCoMo's conversations.

Every session becomes one note of its day. Every question that names evidence is asked with one `memory_search` call; the sessions
of its hits, in their order and each once, are the answer. Printed are, by category:

fraction  share of the sessions with evidence among the first 5, and 10, sessions
any       share of questions with at least one of them there

This is the protocol by which other projects print their figures, and it is generous: a session is a large target (LoCoMo's
conversations have 19 to 32, so that 10 are a third of all), and nobody checks that an answer can be given. Questions of category
5 (adversarial) ask about the wrong person; their evidence counts as in those figures, and a line without them is printed.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from memory_core.config.load import ConfigSource
from memory_core.plugin.memory import Memory
from tests.benchmarks.drivers import KEY, MODEL, SYSTEMS, NotDriven, System, drive, serve_vectors

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
# The conversations on which the ranking was developed; all others of the ten are held out.
DEVELOPMENT = frozenset({"conv-26", "conv-30", "conv-41", "conv-42", "conv-43"})
LOCOMO = DEVELOPMENT | {"conv-44", "conv-47", "conv-48", "conv-49", "conv-50"}
DEPTHS = (5, 10)
_EVIDENCE = re.compile(r"D:?(\d+):0*\d+")
_SESSION = re.compile(r"^## Session (\d+), (.*)$", re.MULTILINE)
_DAYS = ("%I:%M %p on %d %B, %Y", "%Y/%m/%d (%a) %H:%M")


@dataclass(frozen=True)
class Session:
    """One session: its name, what was said, as the lines of a note, and when, as the set writes it."""

    name: str
    lines: Sequence[str]
    at: str


@dataclass(frozen=True)
class PublicQuestion:
    """A question, its category, the names of the sessions that hold its evidence, and its answer; "" if none is known."""

    text: str
    category: str
    evidence: frozenset[str]
    answer: str = ""


@dataclass(frozen=True)
class Conversation:
    """Sessions, and questions about them."""

    name: str
    sessions: Sequence[Session]
    questions: Sequence[PublicQuestion]


@dataclass(frozen=True)
class Found:
    """The sessions that a question found, best first, each once, and the seconds of its call."""

    conversation: str
    question: PublicQuestion
    sessions: Sequence[str]
    seconds: float

    def fraction(self, depth: int) -> float:
        """Return the share of the sessions with evidence among the first ones."""
        return len(self.question.evidence & {*self.sessions[:depth]}) / len(self.question.evidence)


def read_locomo(rows: Sequence[Mapping[str, Any]]) -> Iterator[Conversation]:
    """Read the conversations of locomo10.json."""
    for row in rows:
        talk = row["conversation"]
        numbers = sorted(int(found[1]) for key in talk if (found := re.fullmatch(r"session_(\d+)", key)))
        sessions = [
            Session(f"D{number}", [*map(_write_turn, talk[f"session_{number}"])], talk[f"session_{number}_date_time"])
            for number in numbers
            if talk[f"session_{number}"]
        ]
        yield Conversation(row["sample_id"], sessions, _read_questions(row["qa"], sessions))


def read_workspace(folder: Path) -> Conversation:
    """Read a conversation from notes that were made of it: a section `## Session N, time` for each."""
    sessions = []
    for path in sorted((folder / "memory").glob("*.md")):
        _, *parts = _SESSION.split(path.read_text(encoding="utf-8"))
        for number, at, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            sessions.append(Session(f"D{number}", text.strip().split("\n"), at))
    questions = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
    return Conversation(folder.name, sessions, _read_questions(questions, sessions))


def read_longmemeval(rows: Sequence[Mapping[str, Any]]) -> Iterator[Conversation]:
    """Read a file of LongMemEval: every question has a history of its own. Those that have no evidence (`_abs`) are left out."""
    for row in rows:
        whole = zip(row["haystack_session_ids"], row["haystack_dates"], row["haystack_sessions"], strict=True)
        sessions = [
            Session(name, [f"- {turn['role']}: {' '.join(turn['content'].split())}" for turn in turns], at)
            for name, at, turns in whole
        ]
        evidence = frozenset(row["answer_session_ids"])
        if evidence and not row["question_id"].endswith("_abs"):
            question = PublicQuestion(row["question"], row["question_type"], evidence, str(row["answer"]))
            yield Conversation(row["question_id"], sessions, [question])


def read_set(data: Path) -> tuple[str, list[Conversation]]:
    """Read a set; return its name, too."""
    if data.is_dir():
        found = [read_workspace(path.parent) for path in sorted(data.glob("*/questions.json"))]
        return f"LoCoMo, {len(found)} conversations", found
    rows = json.loads(data.read_text(encoding="utf-8"))
    if rows and "haystack_sessions" in rows[0]:
        return f"LongMemEval, {len(rows)} questions", [*read_longmemeval(rows)]
    if not rows or "conversation" not in rows[0]:
        raise SystemExit(
            f"{data} is neither LoCoMo's nor LongMemEval's: expected `conversation` or `haystack_sessions`"
        )
    found = [*read_locomo(rows)]
    names = {one.name for one in found}
    name = "LoCoMo, the whole locomo10.json" if names == LOCOMO else f"LoCoMo, {len(found)} conversations"
    return name, found


def _write_turn(turn: Mapping[str, Any]) -> str:
    text = " ".join(turn["text"].split())
    picture = f" [image: {' '.join(turn['blip_caption'].split())}]" if turn.get("blip_caption") else ""
    return f"- {turn['speaker']}: {text}{picture}"


def _read_questions(rows: Sequence[Mapping[str, Any]], sessions: Sequence[Session]) -> list[PublicQuestion]:
    """Return the questions with evidence; evidence may stand as "D8:6; D9:17" and as "D:11:26"."""
    known = {session.name for session in sessions}
    questions = []
    for row in rows:
        evidence = {f"D{found[1]}" for each in row.get("evidence") or () for found in _EVIDENCE.finditer(each)} & known
        if evidence:
            category, answer = CATEGORIES[row["category"]], str(row.get("answer", ""))
            questions.append(PublicQuestion(row["question"], category, frozenset(evidence), answer))
    return questions


def _read_day(at: str) -> str:
    for form in _DAYS:
        try:
            return f"{datetime.strptime(at, form):%Y-%m-%d}"  # noqa: DTZ007 -- the sets name no zone
        except ValueError:
            continue
    raise SystemExit(f"{at!r} is no time as LoCoMo or LongMemEval write it")


def write_notes(conversation: Conversation, layers: Mapping[str, Path]) -> dict[str, str]:
    """Write a note for every session, into one layer after the other; return the name of the session by the path of its note.

    Args:
        conversation: The sessions.
        layers: The folders, by what paths in them begin with.
    """
    for workspace in layers.values():
        (workspace / "memory").mkdir(parents=True)
    names = {}
    for number, session in enumerate(conversation.sessions, 1):
        prefix, workspace = [*layers.items()][number % len(layers)]
        day = _read_day(session.at)
        path = f"memory/{day}-session-{number}.md"
        text = "\n".join([f"# {day}", "", f"## Session {number}, {session.at}", "", *session.lines, ""])
        (workspace / path).write_text(text, encoding="utf-8")
        names[prefix + path] = session.name
    return names


@contextmanager
def indexed(
    conversation: Conversation, settings: Mapping[str, Any], layers: int = 1
) -> Iterator[tuple[Memory, Mapping[str, str]]]:
    """Index a conversation in a folder of its own; give its memory, and the names of its sessions by the paths of notes."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "workspace"
        others = {f"layer-{number}": Path(folder) / f"layer-{number}" for number in range(1, layers)}
        names = write_notes(conversation, {"": workspace, **{f"{name}:": place for name, place in others.items()}})
        document = {"memorySearch": settings, "memory": {"layers": {name: str(each) for name, each in others.items()}}}
        source = ConfigSource(document, workspace=workspace, state_dir=Path(folder) / "state")
        with Memory(source) as memory:
            memory.sync()
            yield memory, names


def ask_all(conversation: Conversation, settings: Mapping[str, Any], most: int, layers: int = 1) -> list[Found]:
    """Index a conversation, and ask its questions."""
    found = []
    with indexed(conversation, settings, layers) as (memory, names):
        for question in conversation.questions:
            begun = time.perf_counter()
            answer = memory.call_tool("memory_search", {"query": question.text, "maxResults": most, "minScore": 0})
            seconds = time.perf_counter() - begun
            sessions = [*dict.fromkeys(names[hit["path"]] for hit in answer["results"])]
            found.append(Found(conversation.name, question, sessions, seconds))
    return found


def tell(title: str, found: Sequence[Found], more: str = "") -> dict[str, float]:
    """Print a line of figures and of more, and return the figures."""
    figures = {}
    for depth in DEPTHS:
        shares = [each.fraction(depth) for each in found]
        figures[f"fraction {depth}"] = sum(shares) / len(shares)
        figures[f"any {depth}"] = sum(share > 0 for share in shares) / len(shares)
    print(f"{title:28s} {len(found):9d} " + "".join(f"{value:15.3f}" for value in figures.values()) + more, flush=True)
    return figures


def tell_columns(more: str = "") -> None:
    """Print what stands above such lines."""
    columns = [f"{kind} at {depth}" for depth in DEPTHS for kind in ("fraction", "any")]
    print(f"{'':28s} {'questions':>9s} " + "".join(f"{column:>15s}" for column in columns) + more)


def compare(
    conversations: Sequence[Conversation],
    ours: Mapping[str, Mapping[str, Any]],
    systems: Sequence[System],
    given: Mapping[str, Any],
    limit_s: float,
) -> dict[str, Any]:
    """Print and return a line for memory-core with each of some settings, and one for each other system.

    Args:
        conversations: All are asked about the same ones.
        ours: The settings, by what the line is called.
        systems: The others.
        given: What their scripts get besides a conversation; `most` is the number of hits of a question.
        limit_s: The seconds each of them has.
    """
    rows: dict[str, Any] = {}
    tell_columns(f"{'index, s':>12s}{'question, ms':>15s}")
    for title, settings in ours.items():
        begun = time.perf_counter()
        found = [each for one in conversations for each in ask_all(one, settings, given["most"])]
        rows[title] = _tell_timed(title, found, time.perf_counter() - begun - sum(each.seconds for each in found))
    for system in systems:
        with tempfile.TemporaryDirectory() as folder:
            talks = [{**given, **_lay_out(one, Path(folder) / str(number))} for number, one in enumerate(conversations)]
            try:
                told = drive(system, talks, limit_s)
            except NotDriven as error:
                print(f"{system.name:28s} {error}", flush=True)
                rows[system.name] = str(error)
                continue
        found = [
            Found(one.name, question, sessions, seconds)
            for one, each in zip(conversations, told, strict=True)
            for question, (sessions, seconds) in zip(one.questions, each.answers, strict=True)
        ]
        rows[system.name] = _tell_timed(system.name, found, sum(each.index_s for each in told))
    for system in systems:
        print(f"{system.name}: {system.remark}")
    return rows


def _lay_out(conversation: Conversation, folder: Path) -> dict[str, Any]:
    """Write a conversation's notes; return what a script gets of it."""
    names = write_notes(conversation, {"": folder / "workspace"})
    (folder / "store").mkdir()
    return {
        "notes": str(folder / "workspace" / "memory"),
        "store": str(folder / "store"),
        "names": {Path(path).name: name for path, name in names.items()},
        "sessions": [asdict(session) for session in conversation.sessions],
        "questions": [question.text for question in conversation.questions],
    }


def _tell_timed(title: str, found: Sequence[Found], index_s: float) -> dict[str, float]:
    question_ms = statistics.median(each.seconds for each in found) * 1000
    figures = tell(title, found, f"{index_s:12.1f}{question_ms:15.1f}")
    return {**figures, "index, s": index_s, "question, ms": question_ms}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--max-results", type=int, default=40, help="hits a question: enough for ten sessions")
    parser.add_argument("--provider", choices=("static", "none", "local"), default="static")
    parser.add_argument("--model", type=Path, help="a GGUF model or a BERT's folder, with --provider local or --peers")
    parser.add_argument(
        "--peers", action="store_true", help="beside other memory systems, which are installed into .cache"
    )
    parser.add_argument("--only", help="with --peers: the one whose name begins so")
    parser.add_argument("--limit", type=float, default=420, help="with --peers: seconds for each")
    parser.add_argument("--layers", type=int, default=1, help="folders over which the sessions are spread")
    parser.add_argument("--json", type=Path, help="write the figures, too")
    arguments = parser.parse_args()
    name, conversations = read_set(arguments.data)
    if arguments.peers:
        if arguments.model is None:
            parser.error("--peers needs --model: the folder of all-MiniLM-L6-v2, which make bench-public names")
        print(f"{name}; no language model, no key")
        with serve_vectors(arguments.model) as url:
            remote = {"provider": "openai-compatible", "model": MODEL, "remote": {"baseUrl": url}}
            ours: dict[str, dict[str, Any]] = {"memory-core": {"provider": "static"}, "memory-core, MiniLM": remote}
            given = {"url": url, "key": KEY, "model": MODEL, "weights": str(arguments.model.absolute())}
            systems = [each for each in SYSTEMS if each.name.startswith(arguments.only or "")]
            figures = compare(conversations, ours, systems, {**given, "most": arguments.max_results}, arguments.limit)
        _keep(arguments.json, figures)
        return
    settings: dict[str, Any] = {"provider": arguments.provider}
    if arguments.model is not None:
        settings["local"] = {"modelPath": str(arguments.model)}
    found = [each for one in conversations for each in ask_all(one, settings, arguments.max_results, arguments.layers)]
    print(f"{name}; {arguments.provider}, no language model, no key")
    tell_columns()
    rows = {"all": found}
    if any(one.name in LOCOMO for one in conversations):
        rows["development half"] = [each for each in found if each.conversation in DEVELOPMENT]
        rows["held-out half"] = [each for each in found if each.conversation not in DEVELOPMENT]
        rows["all but adversarial"] = [each for each in found if each.question.category != CATEGORIES[5]]
    for each in found:
        rows.setdefault(each.question.category, []).append(each)
    figures = {title: tell(title, several) for title, several in rows.items() if several}
    seconds = sorted(each.seconds for each in found)
    print(f"a question: median {seconds[len(seconds) // 2] * 1000:.1f} ms")
    _keep(arguments.json, figures)


def _keep(path: Path | None, figures: Mapping[str, Any]) -> None:
    if path is not None:
        path.write_text(json.dumps(figures, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
