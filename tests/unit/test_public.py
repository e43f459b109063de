"""Published sets of conversations are read as they are published."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks import answers
from tests.benchmarks.drivers import System
from tests.benchmarks.public import DEVELOPMENT, LOCOMO, ask_all, compare, read_set, write_notes
from tests.servers.loopback import Reply, Request, Server, openai_error

TALK: dict[str, Any] = {
    "sample_id": "conv-91",
    "conversation": {
        "speaker_a": "Ines", "speaker_b": "Tom",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ines", "dia_id": "D1:1", "text": "I planted  quinces\nalong the wall."},
            {"speaker": "Tom", "dia_id": "D1:2", "text": "Nice!", "img_url": ["x"], "blip_caption": "a photo of a\nwall"},
        ],
        "session_2_date_time": "10:05 am on 12 June, 2023",
        "session_2": [{"speaker": "Tom", "dia_id": "D2:1", "text": "My canoe leaks again."}],
        "session_3_date_time": "9:00 am on 1 July, 2023",
        "session_3": [],
    },
    "qa": [
        {"question": "What did Ines plant?", "answer": "quinces", "evidence": ["D1:1"], "category": 4},
        {"question": "What leaks, and what grows?", "answer": 2, "evidence": ["D2:01; D:1:1"], "category": 1},
        {"question": "What did Tom plant?", "adversarial_answer": "quinces", "evidence": ["D1:1"], "category": 5},
        {"question": "Who knows?", "answer": "nobody", "evidence": [], "category": 3},
        {"question": "Of a session that is not there?", "answer": "", "evidence": ["D9:1"], "category": 3},
    ],
}  # fmt: skip
HISTORY: dict[str, Any] = {
    "question_id": "q1",
    "question_type": "single-session-user",
    "question": "Where do I keep the spare key?",
    "answer": "under the anvil",
    "question_date": "2023/05/30 (Tue) 23:40",
    "haystack_session_ids": ["s_a", "s_b"],
    "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 10:00"],
    "haystack_sessions": [
        [
            {"role": "user", "content": "The spare key lies under the anvil."},
            {"role": "assistant", "content": "Noted."},
        ],
        [{"role": "user", "content": "What is a good soup?"}, {"role": "assistant", "content": "Leek\nsoup."}],
    ],
    "answer_session_ids": ["s_a"],
}

READS = """
from pathlib import Path
def index(talk):
    texts = {talk["names"][path.name]: path.read_text() for path in Path(talk["notes"]).iterdir()}
    def ask(question):
        words = set(question.strip("?").split())
        print("as systems do")
        return sorted(texts, key=lambda name: -len(words & set(texts[name].split())))[: talk["most"]]
    return ask
"""


def write(folder: Path, rows: object) -> Path:
    path = folder / "data.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


def test_a_file_of_locomo(tmp_path: Path) -> None:
    name, (talk,) = read_set(write(tmp_path, [TALK]))
    assert name == "LoCoMo, 1 conversations"
    assert [(session.name, len(session.lines)) for session in talk.sessions] == [("D1", 2), ("D2", 1)]
    assert talk.sessions[0].lines[1] == "- Tom: Nice! [image: a photo of a wall]"
    assert [(each.category, sorted(each.evidence)) for each in talk.questions] == [
        ("single-hop", ["D1"]),
        ("multi-hop", ["D1", "D2"]),
        ("adversarial", ["D1"]),
    ]
    names = write_notes(talk, {"": tmp_path / "notes"})
    assert names == {"memory/2023-05-08-session-1.md": "D1", "memory/2023-06-12-session-2.md": "D2"}
    text = (tmp_path / "notes" / "memory" / "2023-05-08-session-1.md").read_text(encoding="utf-8")
    assert "- Ines: I planted quinces along the wall.\n" in text


def test_the_whole_file_is_known_by_its_conversations(tmp_path: Path) -> None:
    rows = [{**TALK, "sample_id": name} for name in sorted(LOCOMO)]
    name, talks = read_set(write(tmp_path, rows))
    assert name == "LoCoMo, the whole locomo10.json"
    assert sum(talk.name in DEVELOPMENT for talk in talks) == 5


def test_a_file_of_longmemeval_and_its_figures(tmp_path: Path) -> None:
    without = {**HISTORY, "question_id": "q2_abs"}
    name, (history,) = read_set(write(tmp_path, [HISTORY, without]))
    assert name == "LongMemEval, 2 questions"
    (found,) = ask_all(history, {"provider": "none"}, 40)
    assert found.sessions[0] == "s_a"
    assert (found.fraction(5), found.question.category) == (1.0, "single-session-user")


def test_workspaces_that_were_made_of_it(tmp_path: Path) -> None:
    notes = tmp_path / "conv-92" / "memory"
    notes.mkdir(parents=True)
    (notes / "2023-05-08.md").write_text(
        "# 2023-05-08\n\n## Session 1, 1:56 pm on 8 May, 2023\n\n- Ines: Quinces.\n\n"
        "## Session 2, 6:00 pm on 8 May, 2023\n\n- Tom: My canoe leaks.\n",
        encoding="utf-8",
    )
    (notes.parent / "questions.json").write_text(json.dumps(TALK["qa"]), encoding="utf-8")
    _, (talk,) = read_set(tmp_path)
    (both,) = [each for each in ask_all(talk, {"provider": "none"}, 40) if len(each.question.evidence) == 2]
    assert [session.name for session in talk.sessions] == ["D1", "D2"]
    assert both.sessions[0] == "D2"


def test_another_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="neither LoCoMo's nor LongMemEval's"):
        read_set(write(tmp_path, [{"text": "x"}]))


def test_a_table_beside_other_systems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, talks = read_set(write(tmp_path, [TALK]))
    systems = [
        System("Reader 1", [], READS, "reads the notes"),
        System("Breaker 2", [], "raise SystemExit('no key')", "wants a key"),
        System("Newcomer 3", ["newcomer"], "", "is of the future", needs="sys.version_info >= (3, 99)"),
    ]
    rows = compare(talks, {"memory-core": {"provider": "none"}}, systems, {"most": 40}, 60)
    assert rows["memory-core"]["any 5"] == rows["Reader 1"]["fraction 5"] == 1
    assert rows["Reader 1"]["index, s"] < 60
    assert rows["Breaker 2"] == "failed: no key"
    assert rows["Newcomer 3"] == "needs a Python with sys.version_info >= (3, 99)"
    printed = capsys.readouterr().out
    assert "\nBreaker 2                    failed: no key\n" in printed
    assert "as systems do" not in printed
    assert "Reader 1: reads the notes\n" in printed


def test_a_system_that_takes_too_long_is_a_line_that_says_so(tmp_path: Path) -> None:
    _, talks = read_set(write(tmp_path, [TALK]))
    sleeper = System("Sleeper 1", [], "import time; time.sleep(60)", "sleeps")
    assert compare(talks, {}, [sleeper], {"most": 40}, 0.2) == {"Sleeper 1": "did not end within 0.2 s"}


class Model(Server):
    """A chat endpoint that knows of quinces, and finds that right alone."""

    def answer(self, request: Request) -> Reply:
        prompt = request.json()["messages"][0]["content"]
        if prompt.startswith("Does the given answer"):
            text = "RIGHT" if "Right answer: quinces\nGiven answer: Quinces." in prompt else "WRONG."
        else:
            text = "Quinces." if "I planted quinces" in prompt else "I do not know."
        return Reply(body={"choices": [{"message": {"role": "assistant", "content": text}}]})


def test_answers_are_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data, figures = write(tmp_path, [TALK]), tmp_path / "figures.json"
    with Model() as server:
        arguments = ["answers", str(data), f"{server.origin}/v1", "--model", "m", "--json", str(figures)]
        monkeypatch.setattr(sys, "argv", arguments)
        monkeypatch.setenv(answers.KEY, "sk-loopback")
        answers.main()
    assert json.loads(figures.read_text(encoding="utf-8")) == {"all": 0.5, "single-hop": 1.0, "multi-hop": 0.0}
    assert {request.headers["authorization"] for request in server.requests} == {"Bearer sk-loopback"}
    assert [request.json()["model"] for request in server.requests] == ["m"] * 4
    printed = capsys.readouterr().out
    assert answers.ANSWER in printed
    assert answers.JUDGE in printed
    assert "sk-loopback" not in printed


def test_an_endpoint_that_refuses_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Model() as server:
        server.fail(openai_error(401, "no key"))
        monkeypatch.setattr(sys, "argv", ["answers", str(write(tmp_path, [TALK])), f"{server.origin}/v1"])
        monkeypatch.delenv(answers.KEY, raising=False)
        with pytest.raises(SystemExit, match=r"answered 401.*MEMORY_CORE_BENCH_KEY"):
            answers.main()
