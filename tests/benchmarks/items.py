"""Recall, capture and the comparison of facts on judged data: what is shown, kept and merged, and what stays silent.

python -m tests.benchmarks.items ITEMS [CONVERSATIONS]    two folders of judged data, which are no part of this repository

ITEMS holds `pairs.json`, `salience.json`, `smalltalk.txt` and files of exchanges, `exchanges*.json`, which
`python -m tests.benchmarks.capture` measures alone; CONVERSATIONS is the folder of `make bench-retrieval`, for recall.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import memory_core
from memory_core.embeddings.static import StaticProvider
from memory_core.items.likeness import Fact, Words, corrects, is_same
from memory_core.items.store.matching import measure_salience
from memory_core.sources.journal import Journal, JournalSession
from memory_core.sources.transcripts import Said
from tests.benchmarks.capture import measure as measure_capture
from tests.benchmarks.judged import collapsed, conversations, load_questions

SAMPLE = Path(__file__).parents[1] / "data" / "sample"
TURNS = 2_000  # of the journal
MIN_CHARS = 20  # of a sentence by which a turn is recognised
QUESTIONS = 60  # of each conversation, drawn with one seed
# As people put a question into a chat; each question gets one of them.
WRAPPERS = (
    "hey, quick question: {}",
    "ok thanks! one more thing. {}",
    "I was thinking about this on the way home and could not remember, {} would be great if you knew",
    "{} Sorry for asking again, it has been a long day.",
    "Good morning! Before we go on with the draft, {}",
)


def compare_pairs(folder: Path) -> None:
    """Print how many pairs of each kind are merged, and how many are taken for a correction."""
    words = Words(StaticProvider())
    for kind, pairs in json.loads((folder / "pairs.json").read_text(encoding="utf-8")).items():
        counts = [0, 0]
        for one, other in pairs:
            cosine = float(words.embed(one) @ words.embed(other))
            counts[0] += is_same(Fact(one), Fact(other), words, cosine)
            counts[1] += corrects(Fact(other), Fact(one), words, cosine)
        print(f"{kind:<5} of {len(pairs)}: merged {counts[0]}, taken for a correction {counts[1]}")


def compare_salience(folder: Path) -> None:
    """Print in how many scenarios the item that should come first does."""

    def rank(facts: Sequence[float]) -> float:
        similarity, sessions, age = facts
        return similarity * float(measure_salience(int(sessions), age))

    scenarios = json.loads((folder / "salience.json").read_text(encoding="utf-8"))
    print(f"salience: {sum(rank(first) > rank(second) for _, first, second in scenarios)} of {len(scenarios)}")


def recall(memory: memory_core.Memory, message: str, number: int, milliseconds: list[float]) -> str:
    """Recall for one message in a session of its own, and record the time; the text has white space collapsed."""
    begun = time.perf_counter()
    text = memory.recall_for_message(message, memory_core.CallContext.local(f"session-{number}")).text
    milliseconds.append(1000 * (time.perf_counter() - begun))
    return collapsed(text.replace("\n> ", "\n"))


def recall_notes(folder: Path, questions: Path) -> None:
    """Print for each conversation the share of questions with a gold line, the silence at small talk, and times."""
    talk = [line for line in (folder / "smalltalk.txt").read_text(encoding="utf-8").splitlines() if line.strip()]
    config = {
        "memorySearch": {
            "provider": "static",
            "recall": {"enabled": True, "timeoutMs": 60_000},
            "sync": {"watch": False},
        }
    }
    for conversation in conversations(questions):
        judged = load_questions(conversation)
        drawn = random.Random(1).sample(judged, min(QUESTIONS, len(judged)))
        with (
            tempfile.TemporaryDirectory() as state,
            memory_core.open_memory(config, workspace=conversation, state_dir=state) as memory,
        ):
            memory.sync()
            milliseconds: list[float] = []

            recall(memory, "where is the key to the shed?", -1, [])
            texts = [recall(memory, each.text, number, milliseconds) for number, each in enumerate(drawn)]
            seen = [any(line in text for *_, line in each.gold) for each, text in zip(drawn, texts, strict=True)]
            in_chat = [
                recall(memory, WRAPPERS[number % len(WRAPPERS)].format(each.text), 1000 + number, [])
                for number, each in enumerate(drawn)
            ]
            wrapped = [any(line in text for *_, line in each.gold) for each, text in zip(drawn, in_chat, strict=True)]
            silent = [
                not recall(memory, message, QUESTIONS + number, milliseconds) for number, message in enumerate(talk)
            ]
        milliseconds.sort()
        print(
            f"{conversation.name}: gold line {sum(seen) / len(seen):.3f}, in chat {sum(wrapped) / len(wrapped):.3f},"
            f" silent {sum(silent) / len(silent):.3f},"
            f" p50 {milliseconds[len(milliseconds) // 2]:.0f} ms, p95 {milliseconds[int(0.95 * len(milliseconds))]:.0f} ms",
            flush=True,
        )


def recall_turns(folder: Path, questions: Path) -> None:
    """Print the silence at small talk over a journal of 2,000 turns, the share of questions with a gold line, and times."""
    talk = [line for line in (folder / "smalltalk.txt").read_text(encoding="utf-8").splitlines() if line.strip()]
    search = {
        "provider": "static",
        "items": {"capture": {"journal": True}},
        "recall": {"enabled": True, "timeoutMs": 60_000},
        "sync": {"watch": False},
    }
    with (
        tempfile.TemporaryDirectory() as workspace,
        memory_core.open_memory(
            {"memorySearch": search}, workspace=workspace, state_dir=f"{workspace}/state"
        ) as memory,
    ):
        journal, turns, asked = Journal(memory.config().journal_dir), 0, list[tuple[str, str]]()
        for conversation in conversations(questions):
            for note in sorted((conversation / "memory").glob("*.md")):
                said = [line[2:] for line in note.read_text(encoding="utf-8").splitlines() if line.startswith("- ")]
                said = said[: max(TURNS - turns, 0)]
                turns += len(said)
                key = f"{conversation.name}-{note.stem}"
                messages = (Said(("user", "assistant")[at % 2], text) for at, text in enumerate(said))
                journal.add(JournalSession("bench", key), messages)
            if turns < TURNS:
                judged = random.Random(1).sample(load_questions(conversation), QUESTIONS)
                asked += [(each.text, line) for each in judged for *_, line in each.gold[:1]]
        memory.sync()
        milliseconds: list[float] = []
        recall(memory, "where is the key to the shed?", -1, [])
        texts = [recall(memory, text, number, milliseconds) for number, (text, _) in enumerate(asked)]
        # Sentences of a turn are shown one by one.
        seen = [
            any(part in text for part in line.split(". ") if len(part) >= MIN_CHARS)
            for (_, line), text in zip(asked, texts, strict=True)
        ]
        heard = {each: recall(memory, each, 10_000 + number, milliseconds) for number, each in enumerate(talk)}
    for message in (message for message, text in heard.items() if text):
        print(f"not silent: {message}")
    milliseconds.sort()
    print(
        f"journal of {turns} turns: gold line {sum(seen) / len(seen):.3f},"
        f" silent {sum(not text for text in heard.values()) / len(heard):.3f},"
        f" p50 {milliseconds[len(milliseconds) // 2]:.0f} ms, p95 {milliseconds[int(0.95 * len(milliseconds))]:.0f} ms",
        flush=True,
    )


def recall_requests(requests: Path) -> None:
    """Print the share of short personal requests about the sample workspace that are shown what they need."""
    judged = json.loads(requests.read_text(encoding="utf-8"))
    config = {"memorySearch": {"provider": "static", "recall": {"enabled": True, "timeoutMs": 60_000}}}
    with (
        tempfile.TemporaryDirectory() as state,
        memory_core.open_memory(config, workspace=SAMPLE, state_dir=state) as memory,
    ):
        memory.sync()
        recall(memory, "where is the key to the shed?", -1, [])
        seen = [needed in recall(memory, request, number, []) for number, (request, needed) in enumerate(judged)]
    print(f"personal requests: {sum(seen)} of {len(seen)}", flush=True)


if __name__ == "__main__":
    compare_pairs(Path(sys.argv[1]))
    compare_salience(Path(sys.argv[1]))
    for exchanges in sorted(Path(sys.argv[1]).glob("exchanges*.json")):
        measure_capture(exchanges)
    recall_requests(Path(sys.argv[1]) / "firstperson.json")
    if len(sys.argv) > 2:
        recall_notes(Path(sys.argv[1]), Path(sys.argv[2]))
        recall_turns(Path(sys.argv[1]), Path(sys.argv[2]))
