"""The journal of turns: every message once, whatever becomes of the transcript or of the process that reads it."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import pytest

from memory_core.atomic import locked
from memory_core.config.agent import AgentConfig
from memory_core.config.settings import Capture, ItemSettings, SearchSettings
from memory_core.errors import FileUnreadable
from memory_core.hosts.events import Event, keep_turns
from memory_core.sources import journal as module
from memory_core.sources.journal import PAUSE, Journal, JournalSession
from memory_core.sources.transcripts import Said, parse_said
from memory_core.text.messages import is_off_the_record

ROUNDS = int(os.environ.get("MEMORY_CORE_TEST_KILLS", "12"))


def claude(role: str, text: str, name: str = "", **more: Any) -> bytes:
    """A line as Claude Code writes it."""
    entry = {
        "parentUuid": None,
        "isSidechain": False,
        "type": role,
        "message": {"role": role, "content": [{"type": "text", "text": text}] if role == "assistant" else text},
        "uuid": name or str(uuid.uuid4()),
        "timestamp": "2026-03-01T10:00:00.000Z",
        "sessionId": "s1",
        **more,
    }
    return json.dumps(entry).encode() + b"\n"


def codex(role: str, text: str, at: str = "2026-03-01T10:00:00.000Z") -> bytes:
    kind = "input_text" if role == "user" else "output_text"
    message = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
    return json.dumps({"timestamp": at, "type": "response_item", "payload": message}).encode() + b"\n"


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    return tmp_path / "transcript.jsonl"


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "state" / "main.journal")


def session(transcript: Path, key: str = "s1", host: str = "claude-code") -> JournalSession:
    return JournalSession(host, key, "/work", str(transcript))


def texts(journal: Journal) -> list[str]:
    """All texts of the journal, session by session."""
    lines = [json.loads(line) for path in sorted(journal.folder.glob("*.jsonl")) for line in _whole(path)]
    return [line["content"] for line in lines if "role" in line]


def _whole(path: Path) -> list[bytes]:
    return [line for line in path.read_bytes().split(b"\n") if line.endswith(b"}")]


def everything(journal: Journal) -> bytes:
    return b"".join(path.read_bytes() for path in journal.folder.rglob("*") if path.is_file())


def test_a_session_is_not_taken_for_one_whose_id_ends_so(journal: Journal, transcript: Path) -> None:
    transcript.write_bytes(claude("user", "Hello.", "u1"))
    journal.follow(session(transcript, "x-1"))
    assert journal.holds("x-1")
    assert not journal.holds("1")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (claude("user", "Hello.", "u1"), ("user", "Hello.")),
        (claude("assistant", "Good day."), ("assistant", "Good day.")),
        (claude("user", "x", isMeta=True), None),
        (claude("user", "x", isSidechain=True), None),
        (claude("user", "x", isCompactSummary=True), None),
        (claude("user", "<command-name>/exit</command-name>\n<command-message>exit</command-message>"), None),
        (claude("user", "<local-command-stdout>Bye!</local-command-stdout>"), None),
        (claude("user", "Hello.<system-reminder>x</system-reminder>"), ("user", "Hello.")),
        (claude("user", 'Hello.<teammate-message teammate_id="a">x</teammate-message>'), ("user", "Hello.")),
        (claude("user", "<user-prompt-submit-hook>x</user-prompt-submit-hook>Hello."), ("user", "Hello.")),
        (claude("user", "Stop hook feedback:\nRemember x."), None),
        (claude("user", "Another Claude session sent a message: Remember x."), None),
        (claude("user", "@notes.md\nContents of notes.md:\nRemember x."), None),
        (claude("user", "<user_query>Hello.</user_query>"), ("user", "<user_query>Hello.</user_query>")),
        (claude("user", "[Request interrupted by user]"), None),
        (b'{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"x"}]}}', None),
        (b'{"type":"api-request-blob","role":"user","content":"x"}', None),
        (codex("user", "Hello."), ("user", "Hello.")),
        (codex("user", "<environment_context>x</environment_context>"), None),
        (codex("developer", "x"), None),
        (b'{"type":"event_msg","payload":{"type":"user_message","message":"x"}}', None),
        (b'{"role":"user","content":"Hello.","timestamp":1}', ("user", "Hello.")),
        (b"[1]", None),
        (b'{"type":"user","message":7}', None),
    ],
)
def test_what_is_said_in_a_line(line: bytes, said: tuple[str, str] | None) -> None:
    found = parse_said(line)
    assert (found[:2] if found else None) == said


def test_each_turn_is_kept_once(journal: Journal, transcript: Path) -> None:
    journal.follow(session(transcript))  # at the first start of a session there is no transcript
    transcript.write_bytes(claude("user", "one") + claude("assistant", "two"))
    for _ in range(3):
        assert not journal.follow(session(transcript))
    with transcript.open("ab") as file:
        file.write(claude("user", "three") + claude("assistant", "half")[:-20])
    journal.follow(session(transcript))
    assert texts(journal) == ["one", "two", "three"]
    (line,) = [json.loads(line) for line in _whole(next(journal.folder.glob("*.jsonl")))[1:2]]
    assert (line["role"], line["timestamp"]) == ("user", "2026-03-01T10:00:00.000Z")


def test_a_session_of_copilot_is_kept(journal: Journal, transcript: Path) -> None:
    for kind, text in (
        ("user.message", "Where is it?"),
        ("assistant.message", "In the shed."),
        ("system.message", "Be brief."),
    ):
        entry = {"type": kind, "data": {"content": text}, "id": kind, "timestamp": "2026-11-27T06:32:48.686Z"}
        with transcript.open("ab") as stream:
            stream.write(json.dumps(entry, separators=(",", ":")).encode() + b"\n")
    journal.follow(session(transcript, host="copilot"))
    assert texts(journal) == ["Where is it?", "In the shed."]


def test_a_fork_a_rewrite_and_a_move_repeat_nothing(journal: Journal, transcript: Path, tmp_path: Path) -> None:
    lines = [claude("user", "one"), claude("assistant", "two"), claude("user", "three")]
    transcript.write_bytes(b"".join(lines))
    journal.follow(session(transcript))
    fork = tmp_path / "fork.jsonl"
    fork.write_bytes(b"".join([*lines[:2], claude("user", "other")]))
    journal.follow(session(fork, "s2"))
    transcript.write_bytes(b"".join([claude("user", "before" * 50), *lines, claude("assistant", "four")]))
    journal.follow(session(transcript))
    moved = tmp_path / "archived.jsonl"
    transcript.rename(moved)
    with moved.open("ab") as file:
        file.write(claude("user", "five"))
    journal.follow(session(moved))
    assert texts(journal) == ["one", "two", "three", "before" * 50, "four", "five", "other"]


def test_messages_without_a_name_are_known_by_what_they_say_and_when(journal: Journal, transcript: Path) -> None:
    lines = [
        codex("user", "yes"),
        codex("user", "yes", "2026-03-01T10:00:01.000Z"),
        b'{"role":"user","content":"yes"}\n',
    ]
    transcript.write_bytes(b"".join(lines))
    journal.follow(session(transcript, host="codex"))
    transcript.write_bytes(b"".join([lines[0], lines[1]]))  # rewritten
    journal.follow(session(transcript, host="codex"))
    assert texts(journal) == ["yes"] * 3


def test_two_hosts_may_name_a_session_alike(journal: Journal, transcript: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    transcript.write_bytes(claude("user", "one"))
    other.write_bytes(codex("user", "two"))
    journal.follow(session(transcript))
    journal.follow(session(other, host="codex"))
    assert texts(journal) == ["one", "two"]
    assert {(each.host, each.key) for each in journal.list_sessions()} == {("claude-code", "s1"), ("codex", "s1")}


def test_a_long_transcript_is_read_in_parts(
    journal: Journal, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LINE_BYTES", 100_000)
    noise = json.dumps({"type": "attachment", "x": "y" * 300_000}).encode() + b"\n"
    huge = claude("user", "z" * 300_000)
    transcript.write_bytes(
        noise * 3 + claude("user", "one") + noise * 9 + huge + claude("assistant", "two") + noise * 4
    )
    parts = 1
    while journal.follow(session(transcript)):
        parts += 1
    assert parts > 3
    assert texts(journal) == ["one", "two"], "a line that is too long holds no message"
    with transcript.open("ab") as file:
        file.write(claude("user", "three"))
    assert not journal.follow(session(transcript))
    assert texts(journal) == ["one", "two", "three"]


def test_a_transcript_of_two_gigabytes_without_a_line_is_read_in_parts(journal: Journal, transcript: Path) -> None:
    with transcript.open("wb") as file:
        file.write(claude("user", "one"))
        file.seek(2 << 30)  # nothing is stored of what lies between
        file.write(b"\n" + claude("user", "two") + claude("assistant", "three")[:40])
    parts = 1
    assert journal.follow(session(transcript)), "a hook reads no more than a part"
    while journal.follow(session(transcript)):
        parts += 1
    assert parts >= (2 << 30) // module.LINE_BYTES
    assert texts(journal) == ["one", "two"]
    assert len(everything(journal)) < 100_000
    with transcript.open("ab") as file:
        file.write(claude("assistant", "three")[40:])
    journal.follow(session(transcript))
    assert texts(journal) == ["one", "two", "three"], "half a line is read once it is whole"


def test_a_line_of_100_megabytes_holds_no_message_and_hides_none(journal: Journal, transcript: Path) -> None:
    inner = json.dumps(claude("user", "within").decode())  # as a tool may quote a transcript
    with transcript.open("wb") as file:
        file.write(claude("user", "one") + b'{"type":"progress","data":"')
        for _ in range(100):
            file.write(b"x" * 1_000_000 + inner.strip('"').encode())
        file.write(b'"}\n' + claude("assistant", "two"))
    while journal.follow(session(transcript)):
        pass
    assert texts(journal) == ["one", "two"]


def test_a_line_that_is_too_long_is_never_read_from_its_middle(
    journal: Journal, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its second part looks like a message of its own."""
    monkeypatch.setattr(module, "LINE_BYTES", 4_000)
    monkeypatch.setattr(module, "PLACE_BYTES", 1)
    transcript.write_bytes(b"y" * 4_000 + claude("user", "within") + claude("user", "one"))
    journal.follow(session(transcript), max_bytes=1)
    while journal.follow(session(transcript), max_bytes=1):
        pass
    assert texts(journal) == ["one"]


def test_times_that_go_back_change_no_order(journal: Journal, transcript: Path) -> None:
    times = (
        "2026-03-01T10:00:00Z",
        "2020-01-01T00:00:00Z",
        "1969-12-31T23:59:59Z",
        "yesterday",
        "9999-12-31T23:59:59Z",
        "",
    )
    transcript.write_bytes(b"".join(claude("user", f"at {at!r}", timestamp=at) for at in times))
    journal.follow(session(transcript))
    assert texts(journal) == [f"at {at!r}" for at in times]
    assert not journal.follow(session(transcript))
    assert journal.catch_up(seconds=10)
    assert len(texts(journal)) == len(times)
    assert journal.prune(365 * 2) == 2, "those without a time that can be read stay"


def test_no_secret_is_on_the_disk(journal: Journal, transcript: Path) -> None:
    transcript.write_bytes(claude("user", "My password is swordfish-4711, and sk-abcdefghij0123456789 is the key."))
    journal.follow(session(transcript))
    journal.add(JournalSession("hermes", "agent:main:main"), [Said("user", "password: swordfish-4711")])
    assert len(texts(journal)) == 2
    assert b"4711" not in everything(journal)
    assert b"sk-abcdefghij" not in everything(journal)


def test_what_is_said_off_the_record_or_while_paused_is_passed_over(
    journal: Journal, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [
        claude("user", "Off the record: I am tired."),
        claude("user", "Very."),
        claude("assistant", "Rest."),
        claude("user", "Fine."),
    ]
    transcript.write_bytes(b"".join(lines[:3]))
    journal.follow(session(transcript))
    transcript.write_bytes(b"".join([*lines, claude("assistant", "Good.")]))
    journal.follow(session(transcript))
    assert texts(journal) == ["Fine.", "Good."]
    monkeypatch.setenv(PAUSE, "1")
    assert journal.is_paused
    with transcript.open("ab") as file:
        file.write(claude("user", "Secretly."))
    journal.follow(session(transcript)._replace(is_left_out=journal.is_paused))
    monkeypatch.delenv(PAUSE)
    with transcript.open("ab") as file:
        file.write(claude("assistant", "Indeed.") + claude("user", "Openly."))
    journal.follow(session(transcript))
    for on in (True, False):
        journal.pause(on=on)
        assert journal.is_paused is on
    transcript.write_bytes(claude("user", "New.") + transcript.read_bytes())
    journal.follow(session(transcript))
    assert texts(journal) == ["Fine.", "Good.", "Openly.", "New."]
    assert not any(word in everything(journal) for word in (b"tired", b"Very", b"Rest", b"Secretly", b"Indeed"))


@pytest.mark.parametrize(
    ("text", "off"),
    [
        ("Off-the-record, I am tired.", True),
        ("That stays off the record.", True),
        ("The record is off by two.", False),
        ("Das ist nicht fürs Protokoll: ich bin müde.", True),
        ("Unter uns gesagt, ich bin müde.", True),
        ("Gut. Im Vertrauen: ich bin müde.", True),
        ("Das bleibt bitte unter uns.", True),
        ("Just between us: Mia leaves in May.", True),
        ("Please do not remember this: Mia leaves in May.", True),
        ("Confidential: Mia leaves in May.", True),
        ("Merk dir das bitte nicht.", True),
        ("Ne retiens pas ça.", True),
        ("No guardes esto.", True),
        ("I do not remember that street.", False),
        ("Don't save this file yet.", False),
        ("The letter is confidential: a lawyer wrote it.", False),
        ("Einer unter uns ist müde.", False),
        ("Das Treffen war inoffiziell, aber gut.", False),
        ("Hors micro, je suis fatigué.", True),
        ("Je te le dis en off.", True),
        ("Entre nous : je suis fatigué.", True),
        ("Que ça reste entre nous.", True),
        ("Il nous faut une voix en off.", False),
        ("La table est entre nous deux.", False),
        ("Extraoficialmente, estoy cansado.", True),
        ("Te lo digo fuera de micrófono.", True),
        ("Que quede entre nosotros.", True),
        ("Entre nosotros hay una mesa.", False),
        ("Off-record: Zoe quits.", True),
        ("not for the record, Zoe quits", True),
        ("Please don't write this down: Zoe quits.", True),
        ("Don't keep this in memory: I have diabetes.", True),
        ("This is confidential, don't remember it: the merger is on.", True),
        ("Don’t save this, but Zoe quits.", True),
        ("do not store any of this", True),
        ("dont remember this please", True),
        ("Never record that anywhere.", True),
        ("Zoe quits, and please don't note it.", True),
        ("Please do not memorize what I say now: Zoe quits.", True),
        ("Don't put this in your notes. Zoe quits.", True),
        ("Don't keep a record of this: Zoe quits.", True),
        ("Don't take notes of this, Zoe quits.", True),
        ("Please don't log this conversation.", True),
        ("Keep this out of your memory: Zoe quits.", True),
        ("None of this should be saved.", True),
        ("This must not be recorded: Zoe quits.", True),
        ("That's confidential, Zoe quits.", True),
        ("Confidential - Zoe quits.", True),
        ("Strictly confidential: Zoe quits.", True),
        ("I tell you this in confidence: Zoe quits.", True),
        ("Don't remember my diagnosis.", True),
        ("don't save it yet, I have to ask Zoe", True),
        ("You don't have to... no need to remember this, Zoe quits", True),
        ("Please don't store this in memory or in the notes.", True),
        ("Don't save this anywhere. Zoe quits.", True),
        ("Never write any of this down.", True),
        ("Merk dir das nicht: Zoe kündigt.", True),
        ("Speichere das bitte nicht, Zoe kündigt.", True),
        ("Notier dir davon nichts: Zoe kündigt.", True),
        ("Schreib das nicht auf: Zoe kündigt.", True),
        ("Schreibe das bitte nirgends auf.", True),
        ("Halte das nicht fest, Zoe kündigt.", True),
        ("Bitte nicht speichern: Zoe kündigt.", True),
        ("Das bitte nicht merken: Zoe kündigt.", True),
        ("Das ist streng vertraulich, Zoe kündigt.", True),
        ("Behalte das nicht im Gedächtnis: ich habe Diabetes.", True),
        ("Nichts davon soll gespeichert werden.", True),
        ("Ne note pas ça : Zoé part.", True),
        ("N'enregistre pas ça, Zoé part.", True),
        ("Ne l'enregistre nulle part : Zoé part.", True),
        ("note pas ça stp, Zoé part", True),
        ("Ne garde pas ça en mémoire : j'ai du diabète.", True),
        ("Merci de ne pas noter : Zoé part.", True),
        ("À ne pas retenir : Zoé part.", True),
        ("C'est confidentiel, Zoé part.", True),
        ("Ne retenez rien de ceci : Zoé part.", True),
        ("No lo apuntes: Zoe se va.", True),
        ("No guardes esto en la memoria: tengo diabetes.", True),
        ("No anotes nada de esto, Zoe se va.", True),
        ("Por favor, no lo guardes en ningún sitio.", True),
        ("Esto es confidencial, Zoe se va.", True),
        ("No registres eso: Zoe se va.", True),
        ("Não guarde isso: a Zoe sai.", True),
        ("Onthoud dit niet: Zoe vertrekt.", True),
        ("Schrijf dat niet op: Zoe vertrekt.", True),
        ("Don't remember this part, though.", True),
        ("don't store this in the database, use a file", False),
        ("don't save it to disk yet", False),
        ("Never commit this to git", False),
        ("don't keep it in the cache", False),
        ("do not store that in Redis", False),
        ("don't save this to S3", False),
        ("don't log it to /var/log/app.log", False),
        ("Don't save it as JSON.", False),
        ("Don't store this in config.yaml, use the env", False),
        ("don't keep this in userState", False),
        ("I don't remember that.", False),
        ("We never store this.", False),
        ("Don't keep it open.", False),
        ("Never keep that connection open.", False),
        ("don't log that request", False),
        ("Never store this.props in a variable", False),
        ("the one-off record in the table is wrong", False),
        ("turn off recording", False),
        ("Speichere das nicht in der Datenbank, nimm eine Datei.", False),
        ("Schreib das nicht in die Datei.", False),
        ("Halte das nicht für nötig.", False),
        ("Warum kann ich das nicht speichern?", False),
        ("Ne stocke pas ça dans la base de données.", False),
        ("Je ne retiens pas ça.", False),
        ("Je ne note pas ça.", False),
        ("No guardes esto en la base de datos.", False),
        ("No lo guardes en disco todavía.", False),
        ("No guardes el archivo.", False),
        ("ne garde pas cette fonction", False),
        ("Don't remember to close the tag.", False),
        ("don't save it with pickle", False),
        ("don't store it in a list", False),
        ("Das ist nicht zu speichern möglich", False),
        ("Use a 95 percent confidence interval, in confidence terms.", False),
        ("Sla dit niet op in de database.", False),
        ("Remember that, and don't forget this.", False),
        ("Never forget this.", False),
        ("Do not write this to stdout... in src/main.py", False),
        ("Do not note the time.", False),
        ("No recuerdes a Zoe su cita.", False),
        ("Keep this out of the critical path.", False),
        ("Leave it out of the build.", False),
        ("Don't save these rows to the table.", False),
        ("Please do not keep this.", True),
        ("Do NOT save any of what I say now: I am pregnant.", True),
        ("Don't save what I'm about to tell you.", True),
        ("I don't want this saved: I am pregnant.", True),
        ("I don't want you to remember this.", True),
        ("I'd rather you didn't remember this.", True),
        ("Nothing I say now should be remembered.", True),
        ("don't memorise that pls", True),
        ("Don't record this in your notes.", True),
        ("Do not log this anywhere, I'm pregnant", True),
        ("Off record, I'm pregnant.", True),
        ("This is off record.", True),
        ("(off the record) I'm pregnant", True),
        ("This message is confidential.", True),
        ("What follows is confidential: I'm pregnant.", True),
        ("Please treat this as confidential.", True),
        ("Please treat this confidentially: I'm pregnant.", True),
        ("Between you and me, I'm pregnant.", True),
        ("Don't write down that I'm pregnant.", True),
        ("Don't remember that I'm pregnant.", True),
        ("Do not note that Zoe quits.", True),
        ("don't ever store this info: I'm pregnant", True),
        ("Do not retain this.", True),
        ("Don't persist this.", True),
        ("don't commit this to memory", True),
        ("Please don't take note of this.", True),
        ("Make no note of this: I'm pregnant.", True),
        ("Don't save to memory: I'm pregnant.", True),
        ("Not to be saved: I'm pregnant.", True),
        ("Do not save: I'm pregnant.", True),
        ("do not remember: Zoe quits", True),
        ("Bitte merk dir das nicht, ich bin schwanger.", True),
        ("Bitte speichere das nirgendwo.", True),
        ("Nicht merken: ich bin schwanger.", True),
        ("Schreib das bitte nicht mit.", True),
        ("Das soll nicht gespeichert werden: ich bin schwanger.", True),
        ("Das hier ist vertraulich.", True),
        ("Merk dir nicht, dass Zoe kündigt.", True),
        ("Notiere nicht, dass Zoe kündigt.", True),
        ("Das ist nicht für die Notizen.", True),
        ("Nicht aufschreiben, bitte: ich bin schwanger.", True),
        ("Ne note rien de tout ça.", True),
        ("Ne garde aucune trace de ça : je suis enceinte.", True),
        ("N'écris pas ça : je suis enceinte.", True),
        ("Ne retiens pas que Zoé part.", True),
        ("Ça reste confidentiel.", True),
        ("Pas pour le compte rendu : Zoé part.", True),
        ("No guardes lo que te digo ahora.", True),
        ("No tomes nota de esto: estoy embarazada.", True),
        ("No recuerdes que Zoe se va.", True),
        ("Que no quede registro de esto: estoy embarazada.", True),
        ("No lo anotes: estoy embarazada.", True),
        ("Don't remember to run the tests? You must.", False),
        ("The tests do not write down results.", False),
        ("Do not save the file until the tests pass.", False),
        ("don't store passwords in plain text", False),
        ("don't log errors twice", False),
        ("Never keep secrets in git.", False),
        ("Don't record the metric in Prometheus.", False),
        ("Don't keep the lock while writing.", False),
        ("don't store that value in the session", False),
        ("Do not commit this to main", False),
        ("Don't note that in the changelog", False),
        ("Don't put this in the database", False),
        ("don't write this to disk", False),
        ("Don't save it to ~/.cache", False),
        ("Please don't keep this in a global variable", False),
        ("You must not store it in localStorage", False),
        ("This must not be stored in the database.", False),
        ("Treat this field as confidential in the schema.", False),
        ("Speichere das nicht auf der Festplatte.", False),
        ("Das soll nicht in der Datenbank gespeichert werden.", False),
        ("Merk dir das.", False),
        ("N'enregistre pas ça dans un fichier.", False),
        ("No lo guardes en la caché.", False),
        ("No guardes nada en localStorage", False),
        ("I don't remember that I wrote it.", False),
        ("We don't note that in commits.", False),
        ("Don't forget to save this.", False),
        ("Do not save the model: it is too large.", False),
        ("Clients never save it, and the server retries.", False),
        ("If the flag is off, do not save it.", False),
        ("We decided: don't store this on our servers", False),
        ("Que no quede registrado dos veces", False),
        ("He said it's confidential", False),
        ("Can you check whether this is confidential?", False),
        ("Mark the document header: This is confidential.", False),
        ("Don't save it, just show me the diff", False),
        ("Do not save it after each keystroke", False),
        ("Das darf nicht gespeichert werden, wenn der Nutzer abbricht", False),
        ("Please make sure you don't remember this.", True),
        ("Zoe quits - please don't save this.", True),
        ("It's confidential: Zoe quits.", True),
        ("Secret: don't remember this.", True),
        ("If you keep notes, don't save this.", True),
        ("- Seriously, don't save this.", True),
        (
            "Zoe quits because the new owner wants to move the whole office to Bonn by the end of the year, so don't save this.",
            True,
        ),
        ("Surtout ne note pas ça.", True),
    ],
)
def test_what_says_that_it_is_off_the_record(text: str, *, off: bool) -> None:
    assert is_off_the_record(text) is off


def test_a_session_that_is_kept_out_is_kept_out_of_what_is_caught_up_with(journal: Journal, transcript: Path) -> None:
    journal.follow(session(transcript)._replace(is_left_out=True))  # its start; then the host is killed
    transcript.write_bytes(claude("user", "Secretly."))
    assert journal.catch_up(seconds=10)
    assert journal.count_unread() == 0
    journal.follow(session(transcript))
    assert texts(journal) == []


def test_what_was_missed_is_caught_up_with(journal: Journal, transcript: Path, tmp_path: Path) -> None:
    journal.follow(session(transcript))
    other = tmp_path / "other.jsonl"
    other.write_bytes(claude("user", "one"))
    journal.follow(session(other, "s2"))
    transcript.write_bytes(claude("user", "two"))  # and the host is killed
    assert journal.count_unread() == 1
    assert journal.catch_up(seconds=10)
    assert sorted(texts(journal)) == ["one", "two"]
    assert journal.count_unread() == 0
    later = time.time() + 60
    with transcript.open("ab") as file:
        file.write(claude("user", "three"))
    os.utime(transcript, (later, later))
    assert journal.catch_up(seconds=10)
    assert sorted(texts(journal)) == ["one", "three", "two"]


def open_impatient(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[AgentConfig, Journal]:
    """Return an agent that keeps a journal, and its journal, which hardly waits for the lock of others."""
    search = SearchSettings(items=ItemSettings(capture=Capture(journal=True)))
    config = AgentConfig(
        agent="main", workspace=folder, state_dir=folder, store_path=folder / "main.sqlite", search=search
    )
    journal = Journal(config.journal_dir)
    journal.pause(on=False)  # makes the folder
    monkeypatch.setattr(module, "LOCK_SECONDS", 0.05)
    return config, journal


def test_a_turn_that_ends_while_another_process_holds_the_lock_is_caught_up_with(
    journal: Journal, transcript: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    projects = tmp_path / "home" / "projects"
    projects.mkdir(parents=True)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(projects.parent))
    said = {"s1": claude("user", "My parrot is called Polly."), "s2": claude("user", "Secretly.")}
    config, journal = open_impatient(tmp_path, monkeypatch)
    with locked(journal.folder / ".lock", timeout_seconds=5):
        for key, line in said.items():
            (projects / f"{key}.jsonl").write_bytes(line)
            monkeypatch.setenv(PAUSE, "1" if key == "s2" else "")
            event = Event(
                host="claude-code", name="Stop", kind="turn", session=key, transcript=str(projects / f"{key}.jsonl")
            )
            assert keep_turns(event, config)
            assert keep_turns(event, config)
    monkeypatch.setenv(PAUSE, "")
    assert journal.count_unread() == 2
    assert b"Polly" not in everything(journal)
    assert journal.catch_up(seconds=10)
    assert texts(journal) == ["My parrot is called Polly."]
    assert journal.count_unread() == 0
    assert [path.name for path in journal.folder.iterdir() if "missed" in path.name] == []


def test_turns_without_a_transcript_wait_for_the_lock_of_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, journal = open_impatient(tmp_path, monkeypatch)
    turns = ["My parrot is called Polly.", "My password is gannet77.", "Off the record: I am broke.", "I live in Ely."]
    with locked(journal.folder / ".lock", timeout_seconds=5):
        for number, text in enumerate(turns):
            said = (Said("user", text, name=f"m{number}"), Said("assistant", f"Answer {number}.", name=f"a{number}"))
            event = Event(host="opencode", name="Stop", kind="turn", session="s1", messages=said)
            assert keep_turns(event, config)
    assert b"gannet77" not in everything(journal)
    assert b"broke" not in everything(journal)
    for _ in range(2):
        assert journal.catch_up(seconds=10)
        found = texts(journal)
        assert (found[0], found[1], found[-2]) == (turns[0], "Answer 0.", turns[-1])
        assert len(found) == 6
    assert [path.name for path in journal.folder.iterdir() if "missed" in path.name] == []


def test_what_is_forgotten_leaves_hashes_and_never_comes_back(journal: Journal, transcript: Path) -> None:
    lines = [claude("user", "The rose is red."), claude("assistant", "Noted."), claude("user", "The fence is green.")]
    transcript.write_bytes(b"".join(lines))
    journal.follow(session(transcript))
    assert journal.forget(lambda _session, text, _at: "rose" in text) == [("sessions/claude-code-s1.jsonl", 2)]
    transcript.write_bytes(claude("user", "before") + b"".join(lines))
    journal.follow(session(transcript))
    assert texts(journal) == ["Noted.", "The fence is green.", "before"]
    assert len(journal.forget(lambda session, _text, _at: session.key == "s1")) == 3
    assert journal.list_sessions() == []
    transcript.write_bytes(transcript.read_bytes() + claude("user", "after"))
    journal.follow(session(transcript))
    assert texts(journal) == ["after"]
    assert b"rose" not in everything(journal)
    assert b"fence" not in everything(journal)


def test_a_look_at_what_would_be_forgotten_changes_nothing(journal: Journal, transcript: Path) -> None:
    assert journal.forget(lambda *_: True, dry_run=True) == []
    assert not journal.folder.exists()
    journal.add(session(transcript), [Said("user", "one")])
    journal.record_missed(JournalSession("hermes", "agent:main:main"), [Said("user", "two")])
    before = {path.name: path.read_bytes() for path in journal.folder.iterdir()}
    assert journal.forget(lambda *_: True, dry_run=True) == [("sessions/claude-code-s1.jsonl", 2)]
    assert {path.name: path.read_bytes() for path in journal.folder.iterdir()} == before


def test_what_is_too_old_goes(journal: Journal, transcript: Path) -> None:
    transcript.write_bytes(claude("user", "old") + claude("user", "new", timestamp="2999-01-01T00:00:00Z"))
    journal.follow(session(transcript))
    assert journal.prune(90) == 1
    assert journal.prune(90) == 0
    assert texts(journal) == ["new"]


@pytest.mark.skipif(os.name != "posix", reason="links and pipes are of POSIX")
def test_what_is_no_regular_file_is_not_read(journal: Journal, transcript: Path, tmp_path: Path) -> None:
    real = tmp_path / "real.jsonl"
    real.write_bytes(claude("user", "one"))
    transcript.symlink_to(real)
    with pytest.raises(FileUnreadable, match="symbolic link"):
        journal.follow(session(transcript))
    transcript.unlink()
    transcript.hardlink_to(real)
    with pytest.raises(FileUnreadable, match="one name"):
        journal.follow(session(transcript))
    transcript.unlink()
    os.mkfifo(transcript)
    with pytest.raises(FileUnreadable):
        journal.follow(session(transcript))
    assert journal.catch_up(seconds=10)
    assert texts(journal) == []


def test_the_end_of_a_file_tells_its_session(journal: Journal, transcript: Path) -> None:
    here = session(transcript)
    for number in range(8):
        with transcript.open("ab") as file:
            file.write(claude("user", f"{number} {'x' * 50_000}"))
        journal.follow(here)
    (path,) = journal.folder.glob("*.jsonl")
    assert path.read_bytes().count(b'{"session":') == 4
    assert journal.list_sessions() == [here]
    with path.open("ab") as file:
        file.write(b'{"session":"torn')
    assert journal.list_sessions() == [here]


def test_a_torn_line_is_made_good(journal: Journal, transcript: Path) -> None:
    transcript.write_bytes(claude("user", "one") + claude("assistant", "two"))
    journal.follow(session(transcript))
    (path,) = journal.folder.glob("*.jsonl")
    path.write_bytes(path.read_bytes()[:-9])
    journal.follow(session(transcript))
    assert texts(journal) == ["one", "two"]


def test_turns_of_hosts_without_a_transcript(journal: Journal) -> None:
    here = JournalSession("hermes", "agent:main:main")
    journal.add(here, [Said("user", "yes"), Said("assistant", "ok")])
    journal.add(here, [Said("user", "yes", "2026-03-01T10:00:00Z", "m1")])
    journal.add(here, [Said("user", "yes", "2026-03-01T10:00:00Z", "m1")])
    assert texts(journal) == ["yes", "ok", "yes"]
    journal.add(here, [Said("user", "yes"), Said("assistant", "ok")])
    assert texts(journal)[3:] == ["yes", "ok"], "which is said twice"


def test_sessions_that_are_over_or_idle_are_learned_from_once(journal: Journal, transcript: Path) -> None:
    def list_texts(idle_seconds: float = 60.0) -> list[tuple[list[str], list[str]]]:
        found = []
        for here, before, new in journal.list_unlearned(idle_seconds=idle_seconds):
            found.append(([line["content"] for line in before], [line["content"] for line in new]))
            journal.mark_learned(here, new[-1]["id"])
        return found

    now = "2999-01-01T00:00:00Z"
    transcript.write_bytes(claude("user", "one", timestamp=now) + claude("assistant", "two", timestamp=now))
    journal.follow(session(transcript))
    assert list_texts() == []
    journal.end(session(transcript))
    assert list_texts() == [([], ["one", "two"])]
    assert list_texts() == []
    with transcript.open("ab") as file:
        file.write(claude("user", "three", timestamp=now))
    journal.follow(session(transcript))
    assert list_texts() == [], "it goes on"
    with transcript.open("ab") as file:
        file.write(claude("user", "four"))
    journal.follow(session(transcript))
    assert list_texts() == [(["one", "two"], ["three", "four"])], "nobody has said anything for long"
    assert list_texts(-1e12) == []


@pytest.mark.parametrize("how", ["forget", "prune"])
def test_a_session_that_goes_on_after_all_of_it_was_forgotten_is_learned_from(journal: Journal, how: str) -> None:
    here, old = JournalSession("hermes", "agent:main:main"), "2020-03-01T10:00:00Z"
    (line,) = journal.add(here, [Said("user", "I like tea.", old)])
    journal.mark_learned(here, line["id"])
    assert not list(journal.list_unlearned(idle_seconds=0))
    if how == "prune":
        assert journal.prune(90) == 1
    else:
        assert journal.forget(lambda *_: True)
    journal.add(here, [Said("user", "I moved to Oslo.")])
    ((_, before, new),) = journal.list_unlearned(idle_seconds=0)
    assert (before, [line["content"] for line in new]) == ([], ["I moved to Oslo."])


def test_problems_are_kept_for_the_doctor(journal: Journal) -> None:
    assert journal.find_problem() == ""
    journal.record_problem("the disk is full")
    assert journal.find_problem().endswith(": the disk is full")


_FOLLOW = """
import sys
from memory_core.sources.journal import Journal, JournalSession
print("ready", flush=True)
Journal(__import__("pathlib").Path(sys.argv[1])).follow(JournalSession("claude-code", sys.argv[3], "", sys.argv[2]))
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are of POSIX")
def test_kills_lose_and_repeat_nothing(journal: Journal, tmp_path: Path) -> None:
    """Readers are killed at random points while transcripts grow, are rewritten and forked; MEMORY_CORE_TEST_KILLS: rounds."""
    chance = random.Random(7)
    said: list[str] = []
    lines: dict[str, list[bytes]] = {"a": [], "b": []}
    killed = 0
    for number in range(ROUNDS):
        key = chance.choice(sorted(lines))
        for _ in range(chance.randint(1, 4)):
            said.append(f"message {len(said)}")
            lines[key].append(claude(chance.choice(["user", "assistant"]), said[-1]))
        if number % 10 == 9:  # both go on from what was said last
            lines["b" if key == "a" else "a"] += lines[key][-2:]
        if number % 5 == 4:  # a fork, read before what it was forked from
            lines[f"fork {number}"] = [*lines[key]]
            key = f"fork {number}"
        (tmp_path / key).write_bytes(b"".join(lines[key]) + claude("user", "half")[: chance.randint(0, 60)])
        words = [sys.executable, "-c", _FOLLOW, str(journal.folder), str(tmp_path / key), key]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as reader:
            assert reader.stdout is not None
            assert reader.stdout.readline() == b"ready\n"
            time.sleep(chance.uniform(0.0, 0.05))
            if reader.poll() is None:
                reader.send_signal(signal.SIGKILL)
                killed += 1
    for key, kept in lines.items():
        (tmp_path / key).write_bytes(b"".join(kept))
        journal.follow(session(tmp_path / key, key))
    assert killed
    assert sorted(texts(journal)) == sorted(said)
