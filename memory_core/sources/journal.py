"""The journal of turns: what is said in the main private sessions of an agent, without secrets, kept at the end of every turn.

Each session has a file of JSON lines, named after host and session, which `session_logs` lists and reads. Its lines are:

    {"session", "host", "project", "transcript"}             the session; "leaves" if it is kept out; the last such line counts,
                                                             and comes again from time to time
    {"id", "role", "content", "timestamp", "end", "mark"}    a message
    {"id", "end", "mark"}                                    a message of which nothing is kept
    {"end", "mark"}                                          how far the host's transcript was read
    {"ended"}                                                the session was over

`id` is a keyed hash by which a message is known in all sessions. `end` counts the bytes of the transcript that were read, and
`mark` is a keyed hash of the last of them. A line of a message says both: what is read is appended in one write, and whichever
part of that survives a kill, the next reading goes on behind its last whole line. A transcript that is another one at that place
was rewritten, and is read from its beginning; messages that are known, as after a fork, are passed over.
"""

from __future__ import annotations

import json
import os
import re
import stat
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from memory_core.atomic import BINARY, CLOEXEC, NOFOLLOW, NONBLOCK, locked, replace_file, write_all
from memory_core.config.agent import JOURNAL_SUFFIX
from memory_core.errors import FileUnreadable
from memory_core.sources.activity import find_problem, record_problem
from memory_core.sources.refusals import describe_os_error, refuse_type
from memory_core.sources.transcripts import SHOWN, SUFFIX, Said, parse_entry, parse_said
from memory_core.text.messages import is_off_the_record

STEP_BYTES = 1 << 20  # of a transcript that are read before they are appended
LINE_BYTES = 8 << 20  # a longer line holds no message
BUFFER_BYTES = 1 << 18
PLACE_BYTES = 1 << 16  # without a message, after which the place is kept
TEXT_CHARS = 100_000  # of one message
MARK_BYTES = 64
HEADER_BYTES = 1 << 16  # after which a file says again which session it holds, so that its end tells
LOCK_SECONDS = 1.0
SLACK_NS = 5_000_000_000  # a transcript that changed so long before its file in the journal holds nothing new
KEY = ".key"  # the name of the file with the key of the hashes
PAUSE = "MEMORY_CORE_PAUSE"  # the variable of the environment with which a host keeps a session out of the journal
DAY_SECONDS, PROBLEM_DAYS = 86_400.0, 7
# Files beside those of sessions.
FORGOTTEN, PAUSED, PRUNED, PROBLEM, LEARNED, ASKED = "forgotten", "paused", "pruned", "problem", "learned", "asked"
MISSED = ".missed"  # behind the name of the file of a session: its event came while another process held the lock

_SESSION = b'\n{"session":'
_SAID = b',"role":"'  # in each line of a message whose text is kept
# One is in each line with something said.
_SPOKEN = b'"user"', b'"assistant"', b'"user.message"', b'"assistant.message"'
_ID = re.compile(rb'"id":"([0-9a-f]{16})"')  # within a text, quotes have a backslash
_NAME, _NO_NAME = re.compile(r"[\w.-]{1,100}", re.ASCII), re.compile(r"[^\w.-]", re.ASCII)
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

Line = dict[str, Any]


class JournalSession(NamedTuple):
    """A session, as its host names it.

    Attributes:
        host: The name of the host, such as "claude-code".
        key: The host's name of the session.
        project: The folder that the session is about; "" if nobody knows.
        transcript: The real path of the file in which the host keeps it; "" if there is none.
        is_left_out: Nothing of what is new in it is kept.
    """

    host: str
    key: str
    project: str = ""
    transcript: str = ""
    is_left_out: bool = False

    @property
    def file_name(self) -> str:
        """The name of its file in the journal."""
        return f"{self.host}-{_name_file(self.key)}"

    def to_line(self) -> Line:
        """Return the line that describes it."""
        named = {"session": self.key, "host": self.host, "project": self.project, "transcript": self.transcript}
        return {**named, "leaves": True} if self.is_left_out else named


def holds_session(path: str, key: str) -> bool:
    """Return True if a session log, as search shows it, is the file of a session in the journal, of whichever host."""
    return path.endswith(f"-{_name_file(key)}")


def _name_file(key: str) -> str:
    hashed = f"{_NO_NAME.sub('_', key)[:60]}-{_digest(key.encode('utf-8', 'replace'), b'')}"
    return (key if _NAME.fullmatch(key) else hashed) + SUFFIX


class OffTheRecord:
    """Tells which messages are left out: one in which the user says so, what the user says right behind it, and the answer.

    Args:
        within: The message before was left out.
    """

    def __init__(self, *, within: bool = False) -> None:
        self._within = within
        self._role = "assistant"

    def leaves_out(self, role: str, text: str) -> bool:
        """Return True if the next message is left out."""
        if role == "user":
            self._within = is_off_the_record(text) or (self._role == "user" and self._within)
        self._role = role
        return self._within


@dataclass(slots=True)
class _KeptSession:
    """The state of a session as its file in the journal tells it.

    Attributes:
        path: The file.
        key: Of the hashes.
        session: None if the file is new.
        end, mark: How far the transcript was read.
        off_the_record: Tells which of the next messages are left out.
        ids: Of its messages.
        size, lines: Of its whole lines, in bytes, and their number.
        header_bytes: The size of what follows the line that says the session, this line included.
    """

    path: Path
    key: bytes
    session: JournalSession | None = None
    end: int = 0
    mark: str = ""
    off_the_record: OffTheRecord = field(default_factory=OffTheRecord)
    ids: set[bytes] = field(default_factory=set)
    size: int = 0
    lines: int = 0
    header_bytes: int = 0

    def list_header(self, session: JournalSession) -> list[Line]:
        """Return the line that describes a session, or none if it stands near the end already."""
        return [] if self.session == session and self.header_bytes < HEADER_BYTES else [session.to_line()]

    def keep(self, said: Said, end: int = 0, *, keeps_nothing: bool) -> Line:
        """Return the line of a message; empty for one that is known.

        Args:
            said: The message.
            end: Where it ends in the transcript, which tells messages from each other that have neither name nor time.
            keeps_nothing: Only ids are kept, by which messages are known.
        """
        is_left_out = self.off_the_record.leaves_out(said.role, said.text) or keeps_nothing
        facts = [said.name] if said.name else [said.role, said.text, said.at or str(end)]
        name = _digest("\0".join(facts).encode("utf-8", "replace"), self.key)
        if name.encode("ascii") in self.ids:
            return {}
        self.ids.add(name.encode("ascii"))
        if is_left_out:
            return {"id": name}
        from memory_core.sources.redaction import redact

        at = said.at or datetime.now(UTC).isoformat(timespec="milliseconds")
        return {"id": name, "role": said.role, "content": redact(said.text[:TEXT_CHARS]), "timestamp": at}


class Journal:
    """The journal of one agent. The constructor reads and makes nothing. Several processes may use it at once.

    Methods that change something wait for each other, a second at most.

    Args:
        folder: Its folder; made by the first change.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    # What is kept.

    def follow(self, session: JournalSession, *, max_bytes: int = STEP_BYTES) -> bool:
        """Keep what is new in the transcript of a session, and remember where it lies, if it exists or not.

        Args:
            session: The session.
            max_bytes: About how much of the transcript is read.

        Returns:
            True if there is more to read.

        Raises:
            FileUnreadable: The transcript is no regular file, or cannot be read.
            OSError: The journal cannot be written, or another process holds its lock.
        """
        with self._locked() as key:
            kept = self._load(self.folder / session.file_name, key)
            lines = kept.list_header(session)
            try:
                with _open(session.transcript) as stream:
                    found, more = self._read(stream, kept, keeps_nothing=session.is_left_out, max_bytes=max_bytes)
            except FileNotFoundError:  # the host writes it later, or has removed it
                found, more = [], False
            self._append(session, kept, [*lines, *found])
            return more

    def add(self, session: JournalSession, messages: Iterable[Said]) -> list[Line]:
        """Keep the messages of a turn, for a host without a transcript. A message that is known by its name is passed over.

        One that has neither name nor time is taken for a new one, though it may say what was said before.

        Returns:
            For each message its line, with the number of its "line" in the file, from 1; an empty one if it is not kept.

        Raises:
            OSError: The journal cannot be written, or another process holds its lock.
        """
        with self._locked() as key:
            kept = self._load(self.folder / session.file_name, key)
            lines = kept.list_header(session)
            now, found = datetime.now(UTC).isoformat(timespec="microseconds"), []
            for said in messages:
                line = kept.keep(said._replace(at=said.at or now), keeps_nothing=session.is_left_out)
                lines += [line] if line else []
                found.append({**line, "line": kept.lines + len(lines)} if "role" in line else {})
            self._append(session, kept, lines)
            return found

    def knows(self, session: JournalSession) -> bool:
        """Return True if something was reported of a session, though nothing of it may be kept."""
        return (self.folder / session.file_name).exists()

    def record_missed(self, session: JournalSession, messages: Sequence[Said] = ()) -> None:
        """Record that an event of a session was missed, as another process holds the lock; the next `catch_up` makes up for it.

        Args:
            session: The session, in whose transcript something may be new.
            messages: Those of the turn, for a host without a transcript; what is to be kept of them is in the record.
        """
        alone, now = _KeptSession(self.folder, b""), datetime.now(UTC).isoformat()
        kept = []
        for said in messages:
            line = alone.keep(said._replace(at=said.at or now), keeps_nothing=session.is_left_out)
            if "role" in line:
                kept.append([line["role"], line["content"], line["timestamp"], said.name])
        missed = self.folder / f"{session.file_name}{f'.{time.time_ns()}' if kept else ''}{MISSED}"
        if kept or session.is_left_out or not missed.exists():  # what was to be left out once stays out
            with suppress(OSError):  # that the folder cannot be written is what `doctor` tells
                replace_file(missed, _encode([session.to_line(), *({"said": each} for each in kept)]))

    def catch_up(self, *, seconds: float) -> bool:
        """Keep what is new in the transcripts of all sessions, the last changed first; return False if time was too short.

        What cannot be read is passed over.

        Raises:
            OSError: The journal cannot be written, or another process holds its lock.
        """
        until = time.monotonic() + seconds
        paused = self._pause_mark.exists()
        self._take_missed()
        for path in (*self.folder.glob(f"*{MISSED}"), *self._list_files()):
            session, is_missed = _read_session(path), path.name.endswith(MISSED)
            if session is None or not session.transcript:
                continue
            session = session._replace(is_left_out=session.is_left_out or paused)
            if time.monotonic() > until:
                return False
            with suppress(FileUnreadable, FileNotFoundError):
                changed = Path(session.transcript).stat().st_mtime_ns
                if not is_missed and changed + SLACK_NS < path.stat().st_mtime_ns:
                    continue
                began = time.time_ns()
                while self.follow(session):
                    if time.monotonic() > until:
                        return False
                if is_missed:
                    path.unlink(missing_ok=True)
                else:
                    os.utime(path, ns=(began, began))
        return True

    def _take_missed(self) -> None:
        """Keep the turns that `record_missed` has left; a process that does so, too, finds them known."""
        for missed in sorted(self.folder.glob(f"*{MISSED}")):
            data = _read_whole_lines(missed)
            session = _find_session(data)
            said = [line["said"] for line in map(parse_entry, data.split(b"\n")) if "said" in line]
            if session is not None and (said or not session.transcript):
                self.add(session, [Said(*each) for each in said])
                missed.unlink(missing_ok=True)

    def count_unread(self) -> int:
        """Count the messages that transcripts hold and the journal does not know, in the first part of each that is new."""
        count = 0
        missed = self.folder.glob(f"*{MISSED}")
        new = (path for path in missed if not path.with_name(path.name.removesuffix(MISSED)).exists())
        for path in (*self._list_files(), *new):
            with suppress(OSError, FileUnreadable):
                kept = self._load(path, (self.folder / KEY).read_bytes())
                with _open(kept.session.transcript if kept.session else "") as stream:
                    lines, _ = self._read(stream, kept, keeps_nothing=True, max_bytes=STEP_BYTES)
                count += sum("id" in line for line in lines)
        return count

    def end(self, session: JournalSession) -> None:
        """Remember that a session is over, if anything was said in it, whether that is kept or not.

        Raises:
            OSError: The journal cannot be written, or another process holds its lock.
        """
        with self._locked() as key:
            kept = self._load(self.folder / session.file_name, key)
            if kept.ids:
                self._append(session, kept, [{"ended": True}])

    def list_unlearned(self, *, idle_seconds: float) -> Iterator[tuple[JournalSession, list[Line], list[Line]]]:
        """Yield the sessions with messages that nobody has learned from, once they are over or idle.

        Args:
            idle_seconds: After the last message of a session.

        Yields:
            The session; the messages before, the last one last; and those to learn from, each with its "line" in the file.
        """
        from memory_core.text.dates import read_time  # which no hook at the end of a turn needs

        learned = self._read_marks(LEARNED)
        for path in self._list_files():
            data = _read_whole_lines(path)
            # Its mark stands no more where all of it was forgotten since: what came then is new.
            stands = data.rfind(str(learned[path.name]).encode()) if path.name in learned else -1
            at = data.find(b"\n", stands) if stands >= 0 else 0
            session = _find_session(data)
            last = data.rfind(_SAID)
            if session is None or last < at:
                continue
            said_at = read_time(
                parse_entry(data[data.rfind(b"\n", 0, last) + 1 :].partition(b"\n")[0]).get("timestamp")
            )
            is_idle = said_at is None or time.time() - said_at >= idle_seconds
            if is_idle or data.endswith(_encode([{"ended": True}])):
                first = data.count(b"\n", 0, at + 1)
                parsed = [
                    {**line, "line": number} for number, line in enumerate(map(parse_entry, data.split(b"\n")), 1)
                ]
                before, new = ([line for line in part if "role" in line] for part in (parsed[:first], parsed[first:]))
                yield session, before, new

    def mark_learned(self, session: JournalSession, last: str) -> None:
        """Remember that the messages of a session were learned from, up to the one with an id.

        Raises:
            OSError: The journal cannot be written, or another process holds its lock.
        """
        with self._locked():
            self._set_mark(LEARNED, session, last)

    def take_call(self, session: JournalSession, most: int) -> bool:
        """Count a call of a model for a session, before it is made; return False if there were as many as there may be.

        Raises:
            OSError: The journal cannot be written, or another process holds its lock.
        """
        with self._locked():
            calls = self._read_marks(ASKED).get(session.file_name, 0)
            if calls < most:
                self._set_mark(ASKED, session, calls + 1)
        return bool(calls < most)

    def _read_marks(self, name: str) -> Line:
        try:
            return parse_entry((self.folder / name).read_bytes())
        except OSError:
            return {}

    def _set_mark(self, name: str, session: JournalSession, mark: str | int) -> None:
        """Remember something of a session, and forget that of those that are gone; the lock is held."""
        kept = {path.name for path in self._list_files()}
        marks = {each: value for each, value in self._read_marks(name).items() if each in kept}
        replace_file(self.folder / name, json.dumps({**marks, session.file_name: mark}).encode())

    # What is left out.

    @property
    def is_paused(self) -> bool:
        """True if nothing is to be kept now."""
        return os.environ.get(PAUSE, "") not in ("", "0") or self._pause_mark.exists()

    def pause(self, *, on: bool) -> None:
        """Keep nothing of what is said from now on, or go on.

        Raises:
            OSError: The journal cannot be written, or another process holds its lock.
        """
        with self._locked():
            if on:
                replace_file(self._pause_mark, b"")
            else:
                self._pause_mark.unlink(missing_ok=True)

    @property
    def _pause_mark(self) -> Path:
        """The file that tells of a pause, which holds for all projects of an agent."""
        above = self.folder.parent
        return (above if above.suffix == JOURNAL_SUFFIX else self.folder) / PAUSED

    def list_sessions(self) -> list[JournalSession]:
        """Return the sessions of the journal, the last changed first."""
        return [session for path in self._list_files() if (session := _read_session(path)) is not None]

    def holds(self, key: str) -> bool:
        """Return True if something that was said in a session is kept, whatever its host."""
        files = (self.folder / each.file_name for each in self.list_sessions() if each.key == key)
        return any(_SAID in _read_whole_lines(path) for path in files)

    def describe_logs(self, keys: Collection[str]) -> str:
        """Say that the hosts' own logs of sessions hold what was said, and name their files where they are known."""
        known = {each.transcript: each.key for each in self.list_sessions() if each.transcript and each.key in keys}
        places = [*sorted(known), *(f"the one of session {key}" for key in keys if key not in known.values())]
        return f"the host's own log holds what was said, until you delete that, too: {', '.join(places)}"

    def find_said(self, path: str, places: Iterable[tuple[int, int]]) -> tuple[JournalSession | None, list[list[Line]]]:
        """Return the session of a file, None if it names none, and the messages that stand at each of some places.

        Args:
            path: As search shows it.
            places: The first and the last line of each, from 1, both included.
        """
        data = _read_whole_lines(self.folder / path.rpartition("/")[2])
        lines = data.split(b"\n")
        entries = [map(parse_entry, lines[first - 1 : last]) for first, last in places]
        return _find_session(data), [[entry for entry in each if "role" in entry] for each in entries]

    def forget(
        self, is_forgotten: Callable[[JournalSession, str, float | None], bool], *, dry_run: bool = False
    ) -> list[tuple[str, int]]:
        """Remove messages for good; keyed hashes remain, by which they are known if they come again.

        Args:
            is_forgotten: Takes the session, the text and the time of a message, in Unix seconds; None if nobody knows it.
            dry_run: Only look for them, and change nothing; what `record_missed` has left is not looked at.

        Returns:
            Where they stood: the paths as search shows them, and the lines.

        Raises:
            OSError: The journal cannot be written, or another process holds its lock.
        """
        from memory_core.text.dates import read_time

        places: list[tuple[str, int]] = []
        if not self.folder.exists():
            return places
        if not dry_run:
            self._take_missed()
        with nullcontext() if dry_run else self._locked():
            for path in self._list_files():
                data = _read_whole_lines(path)
                if (session := _find_session(data)) is None:
                    continue
                kept: list[Line] = []
                gone = []
                for number, line in enumerate(map(parse_entry, data.split(b"\n")[:-1]), 1):
                    if "role" in line and is_forgotten(
                        session, str(line.get("content")), read_time(line.get("timestamp"))
                    ):
                        gone.append((SHOWN + path.name, number))
                        kept.append({name: line[name] for name in ("id", "end", "mark") if name in line})
                    else:
                        kept.append(line)
                places += gone
                if dry_run:
                    continue
                if gone and any("role" in line for line in kept):
                    _replace(path, kept)
                elif gone:
                    self._retire(path, data)
        return places

    def prune(self, days: float) -> int:
        """Forget what is older, unless that was done within the last day; return the number of messages.

        Raises:
            OSError: The journal cannot be written, or another process holds its lock.
        """
        mark, now = self.folder / PRUNED, time.time()
        if not self.folder.exists() or (mark.exists() and 0 <= now - mark.stat().st_mtime < DAY_SECONDS):
            return 0
        limit = now - days * DAY_SECONDS
        count = len(self.forget(lambda _session, _text, at: at is not None and at < limit))
        with self._locked():
            for path in self._list_files():  # of sessions in which nothing was said that is kept
                if path.stat().st_mtime < limit:
                    self._retire(path, _read_whole_lines(path))
            replace_file(mark, b"")
        return count

    def _retire(self, path: Path, data: bytes) -> None:
        """Keep the ids of a file alone, and remove it; the lock is held."""
        with (self.folder / FORGOTTEN).open("ab", buffering=0) as file:
            write_all(file.fileno(), b"".join(b'{"id":"%b"}\n' % each for each in sorted(set(_ID.findall(data)))))
        path.unlink()

    # What went wrong.

    def record_problem(self, problem: str) -> None:
        """Keep a sentence for `doctor`. Where the folder cannot be written, that is what `doctor` tells."""
        with suppress(OSError), self._locked():
            record_problem(self.folder / PROBLEM, problem)

    def find_problem(self) -> str:
        """Return what went wrong last; "" if nothing did in the last days."""
        return find_problem(self.folder / PROBLEM, seconds=PROBLEM_DAYS * DAY_SECONDS)

    def find_write_problem(self) -> str:
        """Return why the folder cannot be written; "" if it can, or can be made."""
        above = next((each for each in (self.folder, *self.folder.parents) if each.exists()), self.folder)
        if above.is_dir() and os.access(above, os.W_OK):
            return ""
        return f"{above} is {'not writable' if above.is_dir() else 'no folder'}"

    def take_stamp(self) -> tuple[tuple[str, int], ...]:
        """Return the names and sizes of all files of sessions, sorted: other values whenever something was kept or forgotten."""
        return tuple(sorted((path.name, path.stat().st_size) for path in self._list_files()))

    @contextmanager
    def _locked(self) -> Iterator[bytes]:
        """Hold the lock of the journal; yields the key of its hashes."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with locked(self.folder / ".lock", timeout_seconds=LOCK_SECONDS):
            path = self.folder / KEY
            try:
                key = path.read_bytes()
            except FileNotFoundError:
                key = os.urandom(32)
                replace_file(path, key)
            yield key

    def _list_files(self, since: int = 0) -> list[Path]:
        """Return the files of sessions that changed since a time in nanoseconds, the last changed first."""
        found = []
        with suppress(FileNotFoundError):
            entries = (each for each in os.scandir(self.folder) if each.name.endswith(SUFFIX))
            found = [(each.stat().st_mtime_ns, each.path) for each in entries if each.is_file(follow_symlinks=False)]
        return [Path(path) for changed, path in sorted(found, reverse=True) if changed >= since]

    def _load(self, path: Path, key: bytes) -> _KeptSession:
        data = _read_whole_lines(path)
        kept = _KeptSession(path, key, _find_session(data), ids=set(_ID.findall(data)), size=len(data))
        kept.lines, kept.header_bytes = data.count(b"\n"), len(data) - data.rfind(_SESSION)
        for raw in reversed(data.split(b"\n")):
            line = parse_entry(raw)
            if isinstance(line.get("end"), int) and not kept.mark:
                kept.end, kept.mark = line["end"], str(line.get("mark"))
            if "id" in line:
                kept.off_the_record = OffTheRecord(within="role" not in line)
                break
        return kept

    def _read(
        self, stream: BinaryIO, kept: _KeptSession, *, keeps_nothing: bool, max_bytes: int
    ) -> tuple[list[Line], bool]:
        """Return the lines for what is new in a transcript, and True if there is more."""
        size = os.fstat(stream.fileno()).st_size
        end, tail = kept.end, b""
        if end <= size:
            stream.seek(max(end - MARK_BYTES, 0))
            tail = stream.read(min(end, MARK_BYTES))
        if end > size or (end and _digest(tail, kept.key) != kept.mark):
            stream.seek(0)
            end, tail, kept.off_the_record = 0, b"", OffTheRecord()
        # A fork holds what another session holds, and may be read before it.
        since = kept.path.stat().st_mtime_ns - SLACK_NS if end else 0
        others, forgotten = self._list_files(since), self.folder / FORGOTTEN
        if forgotten.exists() and forgotten.stat().st_mtime_ns >= since:
            others.append(forgotten)
        for path in others:
            if path != kept.path:
                kept.ids.update(_ID.findall(_read_whole_lines(path)))
        lines: list[Line] = []
        kept_at = first = end
        for raw, end, is_line in _read_lines(stream, first, within=not tail.endswith(b"\n") and first > 0):
            tail = (tail + raw[-MARK_BYTES:])[-MARK_BYTES:]
            said = parse_said(raw) if is_line and any(mark in raw for mark in _SPOKEN) else None
            if said is not None and (line := kept.keep(said, end, keeps_nothing=keeps_nothing)):
                lines.append({**line, "end": end, "mark": _digest(tail, kept.key)})
                kept_at = end
            if end - first >= max_bytes:
                break
        if end - kept_at >= PLACE_BYTES:
            lines.append({"end": end, "mark": _digest(tail, kept.key)})
        return lines, end - first >= max_bytes

    def _append(self, session: JournalSession, kept: _KeptSession, lines: list[Line]) -> None:
        if not lines:
            return
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | NOFOLLOW | BINARY | CLOEXEC
        descriptor = os.open(self.folder / session.file_name, flags, 0o600)
        try:
            os.ftruncate(descriptor, kept.size)  # a line that a kill has torn is read again
            write_all(descriptor, _encode(lines))
        finally:
            os.close(descriptor)


@contextmanager
def _open(path: str) -> Iterator[BinaryIO]:
    """Open a transcript, which is a regular file under its real path.

    Raises:
        FileNotFoundError: There is none.
        FileUnreadable: It is something else, or cannot be read.
    """
    if not path:
        raise FileNotFoundError
    try:
        if problem := refuse_type(os.lstat(path)):
            raise FileUnreadable(path, problem)
        with os.fdopen(
            os.open(path, os.O_RDONLY | NOFOLLOW | NONBLOCK | CLOEXEC | BINARY), "rb", BUFFER_BYTES
        ) as stream:
            info = os.fstat(stream.fileno())
            if not stat.S_ISREG(info.st_mode) or info.st_nlink > 1:  # the other name may be of a file of somebody else
                raise FileUnreadable(path, "is no regular file with one name")
            yield stream
    except FileNotFoundError:
        raise
    except OSError as error:
        raise FileUnreadable(path, describe_os_error(error)) from error


def _read_lines(stream: BinaryIO, end: int, *, within: bool) -> Iterator[tuple[bytes, int, bool]]:
    """Yield the lines of a transcript, each with where it ends and True; of one that is too long, its parts and False.

    Half a line at the end, which the host is still writing, is left for the next reading.

    Args:
        stream: The transcript.
        end: Where it stands.
        within: It stands within a line that is too long.
    """
    while raw := stream.readline(LINE_BYTES):
        is_end = raw.endswith(b"\n")
        if not is_end and len(raw) < LINE_BYTES:
            return
        end += len(raw)
        yield raw, end, is_end and not within
        within = not is_end


def _read_whole_lines(path: Path) -> bytes:
    """Return a file of ours but for a last line without an end; nothing if there is none."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return b""
    return data[: data.rfind(b"\n") + 1]


def _replace(path: Path, lines: Iterable[Line]) -> None:
    """Replace a file, and keep its time, by which `catch_up` knows what is new."""
    stamp = path.stat()
    replace_file(path, _encode(lines))
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))


def _read_session(path: Path) -> JournalSession | None:
    """Return the session of a file of the journal; None if it does not say."""
    try:
        with path.open("rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - 2 * HEADER_BYTES, 0))
            return _find_session(file.read()) or _find_session(_read_whole_lines(path))
    except OSError:
        return None


def _find_session(data: bytes) -> JournalSession | None:
    at = data.rfind(_SESSION) + 1
    line = parse_entry(data[at:].partition(b"\n")[0])
    names = ("host", "session", "project", "transcript")
    if not all(name in line for name in names):
        return None
    host, key, project, transcript = (str(line[name]) for name in names)
    return JournalSession(host, key, project, transcript, is_left_out=line.get("leaves") is True)


def _encode(lines: Iterable[Line]) -> bytes:
    return b"".join(_JSON.encode(line).encode("utf-8", "replace") + b"\n" for line in lines)


def _digest(data: bytes, key: bytes) -> str:
    return blake2b(data, key=key, digest_size=8).hexdigest()
