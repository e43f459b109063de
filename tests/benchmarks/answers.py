"""Measure answers on published sets of conversations: a chat model answers from what `memory_search` finds, and judges.

    MEMORY_CORE_BENCH_KEY=... python -m tests.benchmarks.answers DATA ENDPOINT [--model NAME] [--first N] [--json FILE]

DATA is what `tests.benchmarks.public` reads; ENDPOINT the base URL of any OpenAI-compatible chat endpoint, as http://127.0.0.1:8080/v1.
Its key comes from MEMORY_CORE_BENCH_KEY, and is not sent if that is not set. The default search answers with what it shows to an
agent. Printed are the prompts and, by category, the share of questions whose answer was judged right. Questions whose answer the
set does not give (LoCoMo's adversarial ones) are left out. A model that judges its own answers is a lenient judge.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import httpx

from tests.benchmarks.public import Conversation, indexed, read_set

KEY = "MEMORY_CORE_BENCH_KEY"
ANSWER = """Answer the question from these notes alone, in one short sentence. If they do not tell, answer: I do not know.

{notes}

Question: {question}"""
JUDGE = """Does the given answer say the same as the right one? Other words, and another way to write a date, are right; an answer
that leaves out what the right one says, or says that it does not know, is wrong. Reply with one word: RIGHT or WRONG.

Question: {question}
Right answer: {right}
Given answer: {given}"""
Chat = Callable[[str], str]


def open_chat(client: httpx.Client, endpoint: str, model: str) -> Chat:
    """Return a function that sends a prompt to the endpoint and gives its reply."""
    headers = {"Authorization": f"Bearer {key}"} if (key := os.environ.get(KEY)) else {}

    def chat(prompt: str) -> str:
        body = {"model": model, "temperature": 0, "messages": [{"role": "user", "content": prompt}]}
        reply = client.post(f"{endpoint.rstrip('/')}/chat/completions", json=body, headers=headers)
        if reply.is_error:
            raise SystemExit(f"{endpoint} answered {reply.status_code}: {reply.text[:300]}; its key comes from {KEY}")
        return str(reply.json()["choices"][0]["message"]["content"]).strip()

    return chat


def judge_all(conversation: Conversation, chat: Chat, first: int | None = None) -> list[tuple[str, bool]]:
    """Answer the questions of a conversation; return the category of each, and whether its answer was judged right."""
    verdicts = []
    with indexed(conversation, {"provider": "static"}) as (memory, _):
        for question in [each for each in conversation.questions if each.answer][:first]:
            hits = memory.call_tool("memory_search", {"query": question.text})["results"]
            notes = "\n\n".join(f"{hit['path']}\n{hit['snippet']}" for hit in hits)
            given = chat(ANSWER.format(notes=notes, question=question.text))
            verdict = chat(JUDGE.format(question=question.text, right=question.answer, given=given))
            verdicts.append((question.category, verdict.upper().startswith("RIGHT")))
    return verdicts


def tabulate(verdicts: Sequence[tuple[str, bool]]) -> Mapping[str, float]:
    """Print the share of right answers, of all and by category, and return it."""
    rows = {"all": [right for _, right in verdicts]}
    for category, right in verdicts:
        rows.setdefault(category, []).append(right)
    print(f"{'':28s} {'questions':>9s} {'judged right':>15s}")
    for title, several in rows.items():
        print(f"{title:28s} {len(several):9d} {sum(several) / len(several):15.3f}")
    return {title: sum(several) / len(several) for title, several in rows.items()}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("endpoint")
    parser.add_argument("--model", default="default", help="as the endpoint names it")
    parser.add_argument("--first", type=int, help="ask no more questions of a conversation")
    parser.add_argument("--json", type=Path, help="write the figures, too")
    arguments = parser.parse_args()
    name, conversations = read_set(arguments.data)
    with httpx.Client(timeout=300) as client:
        chat = open_chat(client, arguments.endpoint, arguments.model)
        verdicts = [each for one in conversations for each in judge_all(one, chat, arguments.first)]
    if not verdicts:
        raise SystemExit(f"{arguments.data} has no question with an answer")
    print(f"Prompts\n\n{ANSWER}\n\n{JUDGE}\n\n{name}; answered and judged by {arguments.model} at {arguments.endpoint}")
    figures = tabulate(verdicts)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
