"""Finds what is outdated, repeated or broken in the notes of an agent, and makes the changes that somebody has accepted."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import cache, partial
from typing import Any, Literal, NamedTuple, TypeVar

from memory_core.completions import Complete
from memory_core.config.agent import AgentConfig
from memory_core.errors import FileUnreadable, InvalidArgument, NoteChanged, NotUndone, PathRefused, StoreError
from memory_core.history.history import History
from memory_core.records import MemoryFile, Progress, ProgressCallback
from memory_core.search.copies import rank_place
from memory_core.sources import pages, roots, writer
from memory_core.sources.activity import load_entries
from memory_core.sources.files import list_files
from memory_core.sources.notes import find_note_date, hash_bytes, read_note
from memory_core.text.dates import get_today
from memory_core.text.languages import Language
from memory_core.text.markdown import split_lines
from memory_core.upkeep import findings, outdated
from memory_core.upkeep.asking import MOST_PAIRS, MOST_QUESTIONS, Suspect, ask
from memory_core.upkeep.proposals import CitedLine, Proposal, sign
from memory_core.upkeep.statements import UNDATED, Statement, Value, detect_language, read_statements
from memory_core.upkeep.store import AROUND, Corpus, Edit, TidyStore

MOST_HOLDERS = 30  # of a stem by which a statement is compared with others
LEAST_STATEMENTS = 200  # that are counted: words of a small notebook are no commoner than those of a larger one
REPEATED_DAYS = 3  # notes of days that say a fact before it is proposed for MEMORY.md
RECALLED = 5  # times that a line was recalled before it is
MOST_VERSIONS = 200  # of a note's history that are read to learn when a line was written
MOST_ENTRIES = 5_000  # of the activity log
Each = TypeVar("Each")
FindDays = Callable[[str], Mapping[str, date | None]]  # see `_read_days`


class Undone(NamedTuple):
    """A change that was taken back, or a proposal that is rejected no more.

    Attributes:
        id: Of the proposal.
        path, line, text: Where the line stands, and as it stands now; "" and 0 where that of a rejected proposal is gone.
        rejected: It was a proposal that had been rejected.
    """

    id: str
    path: str
    line: int
    text: str
    rejected: bool = False


class Tidy:
    """The proposals for the notes of one agent. The constructor opens nothing; close it.

    Args:
        config: The agent's.
    """

    def __init__(self, config: AgentConfig) -> None:
        self._config = config
        self.store = TidyStore(config.tidy_path)

    def close(self) -> None:
        """Close the file."""
        self.store.close()

    def run(self, *, shown_chars: int, progress: ProgressCallback | None = None) -> list[Proposal]:
        """Read what has changed in the notes, and return all that is proposed, the surest first. No note is written.

        Args:
            shown_chars: The most characters of MEMORY.md that a session start shows.
            progress: Called with how many of the changed notes are read, then with how many of their statements are compared.

        Raises:
            StoreError: The file of tidy cannot be used.
        """
        self._finish_edits()
        known = self.store.list_stamps()
        files = {file.path: file for file in list_files(self._config).files if file.source == "memory"}
        stamps = {path: repr(file.stamp) for path, file in files.items()}
        changed = [path for path, stamp in stamps.items() if known.get(path) != stamp]
        key = self.store.get_key()
        with self.store.write() as connection:
            corpus = Corpus(connection)
            if not known:
                corpus.clear()
            for path in [*(known.keys() - files.keys()), *(path for path in changed if path in known)]:
                corpus.remove(path)
            usual = _find_usual_language(files)
            added: list[int] = []
            for path in _count("files", changed, progress):
                with suppress(FileUnreadable):  # sync reports it; the next run reads it anew
                    added += _add_note(corpus, files[path], stamps[path], usual)
            _add_pairs(corpus, added, progress)
        undone = {edit.old.decode(errors="replace").rstrip("\r\n") for edit in self.store.list_edits(done=2)}
        reader, timezone = _Lines(self._config, files), self._config.search.time_zone
        with closing(History(self._config, writable=False)) as history, self.store.write() as connection:
            corpus = Corpus(connection)
            find_days = cache(partial(_read_days, history, reader, timezone))
            marks = {path: json.loads(text) for path, text in corpus.list_marks()}
            found = [
                *_propose_outdated(corpus, reader, find_days, undone),
                *_propose_repeated(corpus, reader),
                *_propose_recalled(self._config, reader),
                *_propose_findings(marks, reader, shown_chars),
                *_propose_dates(timezone, marks, reader, find_days),
            ]
            signed = [sign(each, key, corpus.get_hash(each.path)) for each in found]
            corpus.replace_proposals([*signed, *_find_again(corpus.list_proposed(), reader)])
        return self.store.list_proposals()

    def consult(self, complete: Complete) -> int:
        """Let a model judge what `run` suspects; the next run proposes what it finds outdated, in its words, and only that.

        Args:
            complete: Asks the model.

        Returns:
            The number of pairs that it has judged.

        Raises:
            ModelFailed, MemoryCoreError: It gives no answer that can be read; what was judged before is kept.
        """
        files = {file.path: file for file in list_files(self._config).files if file.source == "memory"}
        reader, suspects = _Lines(self._config, files), []
        with self.store.read() as connection:
            corpus = Corpus(connection)
            listed = corpus.list_pairs()
            told = {(pair.old, pair.new) for pair in listed if pair.line is not None}
            for pair in outdated.select(listed, outdated.CANDIDATE).values():
                before, after = corpus.load(pair.old), corpus.load(pair.new)
                lines = (reader.pick(each.path, each.line) for each in (before, after))
                older, newer = (line[len(_find_lead(line)) :].strip() for line in lines)
                if (pair.old, pair.new) not in told and older and newer:
                    suspects.append(
                        (pair, Suspect(older, "" if before.date == UNDATED else before.date, newer, after.date))
                    )
        suspects.sort(key=lambda each: -each[0].score)
        judged = 0
        for first in range(0, min(len(suspects), MOST_PAIRS * MOST_QUESTIONS), MOST_PAIRS):
            part = suspects[first : first + MOST_PAIRS]
            verdicts = ask(complete, [suspect for _, suspect in part])
            with self.store.write() as connection:
                for number, line in verdicts.items():
                    pair = part[number][0]
                    score = 0.0 if line is None else max(pair.score, outdated.STRONG)
                    Corpus(connection).judge_pair(pair.old, pair.new, score, line or "")
            judged += len(verdicts)
        return judged

    def accept(self, proposal: Proposal, text: str | None = None) -> str:
        """Make the change that a proposal names.

        Args:
            proposal: As `run` has returned it.
            text: The line to write in place of the proposed one.

        Returns:
            The hash of the note as it is now: its proposals for lines further up hold with that one.

        Raises:
            NoteChanged: The note is not as it was when the change was proposed.
            NoteNotWritten: See `writer.replace_part`.
        """
        line, begun, now = choose_line(proposal, text), 0, b""

        def find(data: bytes) -> tuple[int, bytes, bytes]:
            nonlocal begun, now
            if hash_bytes(data).hex() != proposal.note_hash:
                raise NoteChanged(proposal.path)
            start, old = _find_lines(data, proposal.line, proposal.text.count("\n") + 1)
            new = b""
            if line:
                ended = old.rstrip(b"\r\n")
                end = old[len(ended) :] or (b"\r\n" if b"\r\n" in data else b"\n")
                old, new = ended, line.encode().replace(b"\n", end)
            now = hash_bytes(data[:start] + new + data[start + len(old) :])
            begun = self.store.begin_edit(Edit(0, proposal.id, proposal.path, start, old, new, now, done=0))
            return start, old, new

        try:
            self._replace(proposal.path, find)
        except BaseException:
            if begun:
                with suppress(StoreError):  # then the next run looks what became of the note
                    self._finish_edits()
            raise
        self.store.end_edit(begun, 1)
        return now.hex()

    def find_last(self) -> Edit:
        """Return the last change that was accepted and stands.

        Raises:
            NotUndone: There is none.
        """
        self._finish_edits()
        edits = self.store.list_edits(done=1)
        if not edits:
            raise NotUndone("there is nothing to undo")
        return edits[0]

    def undo(self) -> Undone:
        """Take back the last change that was accepted.

        Raises:
            NotUndone: There is none.
            NoteChanged: What was written does not stand in the note any more, or more than once.
        """
        edit, line = self.find_last(), 0

        def find(data: bytes) -> tuple[int, bytes, bytes]:
            nonlocal line
            start = edit.start
            if data[start : start + len(edit.new)] != edit.new or hash_bytes(data) != edit.hash:
                if not edit.new or data.count(edit.new) != 1:
                    raise NoteChanged(edit.path)
                start = data.index(edit.new)
            line = data.count(b"\n", 0, start) + 1
            return start, edit.new, edit.old

        self._replace(edit.path, find)
        self.store.end_edit(edit.id, 2)
        return Undone(edit.proposal, edit.path, line, edit.old.decode(errors="replace").strip())

    def propose(
        self, path: str, line: int, text: str, why: str, *, count: int = 1, others: Sequence[int] = ()
    ) -> Proposal:
        """Keep the proposal of an agent until somebody accepts or rejects it, or it does not stand in the note any more.

        Args:
            path: The note.
            line: Its line, from 1.
            text: The line to write in its place; "" takes it away.
            why: A sentence, which may tell who proposes it.
            count: The number of lines that it is about; of several, the first one is given.
            others: Other lines of the note, without which it means nothing.

        Raises:
            InvalidArgument: The note has no such line.
            PathRefused: It does not lie in the workspace.
        """
        file = self._resolve(path)
        path = file.path
        reader = _Lines(self._config, {path: file})
        stands = "\n".join(reader.pick(path, number) for number in range(line, line + count))
        if not stands.strip():
            raise InvalidArgument("line", f"{path} has no text in line {line}")
        places = [(path, number) for number in others if reader.pick(path, number).strip()]
        made = _make(reader, "proposed", path, line, text, why, places, score=outdated.SHOWN)
        if made.new is None:
            raise PathRefused(path, "does not lie in the workspace", action="tell the user what to change")
        made = sign(replace(made, text=stands), self.store.get_key(), reader.hash(path))
        self.store.add_proposal(made)
        return made

    def _resolve(self, path: str) -> MemoryFile:
        file = pages.resolve(self._config, path)
        if file is None:
            raise PathRefused(path, "there is no such note any more", action="run: memory-core tidy")
        return file

    def _replace(self, path: str, find: Callable[[bytes], tuple[int, bytes, bytes]]) -> None:
        file = self._resolve(path)
        writer.replace_part(file, find, workspace=self._config.workspace, state_dir=self._config.state_dir)

    def _finish_edits(self) -> None:
        """Find out of edits and undos that were begun and not ended, as by a kill, if they were made."""
        for edit in self.store.list_edits(done=0):
            is_left, old, new = self._look(edit)
            self.store.end_edit(edit.id, 1 if is_left or (new and (not old or edit.old in edit.new)) else -1)
        for edit in self.store.list_edits(done=1):
            is_left, old, new = self._look(edit)
            if is_left or new or not old:
                break
            self.store.end_edit(edit.id, 2)

    def _look(self, edit: Edit) -> tuple[bool, bool, bool]:
        """Return whether a note is as an edit has left it, whether it holds the old text, and whether the new one.

        A new text that is part of the old one is looked for outside of that.
        """
        with suppress(FileUnreadable, PathRefused):
            data = read_note(self._resolve(edit.path)).data
            rest = data.replace(edit.old, b"") if edit.new in edit.old else data
            return hash_bytes(data) == edit.hash, edit.old in data, edit.new != b"" and edit.new in rest
        return False, False, False


def choose_line(proposal: Proposal, text: str | None) -> str:
    """Return the line that is to stand in a note: the proposed one, or the text that is given in its place.

    Raises:
        InvalidArgument: There is none, or it is more than one line.
    """
    new = proposal.new if text is None else text
    if new is None:
        raise InvalidArgument(
            "id", f"{proposal.id} names no new line", action="change the note by hand, or give the line"
        )
    if "\n" in new and "\n" not in (proposal.new or ""):
        raise InvalidArgument("text", "expected one line", action="change the note by hand where it needs more")
    return new


def _find_lines(data: bytes, number: int, count: int) -> tuple[int, bytes]:
    """Return where lines of a note begin, and their bytes with the line ends."""
    lines = data.split(b"\n")
    start = sum(len(line) + 1 for line in lines[: number - 1])
    mark = b"\xef\xbb\xbf" if number == 1 and data.startswith(b"\xef\xbb\xbf") else b""
    end = b"\n" if number + count - 1 < len(lines) else b""
    return start + len(mark), (b"\n".join(lines[number - 1 : number - 1 + count]) + end)[len(mark) :]


class _Lines:
    """The lines of notes, each read once.

    Args:
        config: The agent's.
        files: The notes, by path.
    """

    def __init__(self, config: AgentConfig, files: Mapping[str, MemoryFile]) -> None:
        self.files = files
        self._workspace = config.workspace.resolve()
        self._read = cache(lambda path: read_note(files[path]))

    def lines(self, path: str) -> list[str]:
        """Return the lines of a note; none if it cannot be read."""
        try:
            return split_lines(self._read(path).text)
        except (FileUnreadable, KeyError):
            return []

    def pick(self, path: str, number: int) -> str:
        """Return a line of a note by its number from 1; "" if there is none."""
        lines = self.lines(path)
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def find(self, cited: CitedLine) -> int:
        """Return the number of the first line of a note that says what was cited, from 1; 0 if there is none."""
        lines = enumerate(self.lines(cited.path), 1)
        return next((number for number, line in lines if line.strip() == cited.text), 0)

    def may_change(self, path: str) -> bool:
        """Return True for a note of the workspace; those of other folders that are served are their owner's to change."""
        return self.files[path].real_path.is_relative_to(self._workspace)

    def hash(self, path: str) -> str:
        return self._read(path).hash.hex()

    def date(self, path: str) -> str | None:
        return find_note_date(path, self._read(path).text) if path in self.files else None


def _find_usual_language(files: Mapping[str, MemoryFile]) -> Language:
    """Return the language of the first note that tells its own, MEMORY.md before others; too short notes are read in it."""
    for path in (*roots.LONGTERM_NAMES, *sorted(files)):
        with suppress(FileUnreadable, KeyError):
            if language := detect_language(read_note(files[path]).text):
                return language
    return "en"


def _add_note(corpus: Corpus, file: MemoryFile, stamp: str, usual: Language) -> list[int]:
    note = read_note(file)
    day = find_note_date(file.path, note.text)
    marks = findings.read_marks(note.text, dated=day is not None)
    statements = read_statements(file.path, day, note.text, usual)
    return corpus.add(file.path, stamp, note.hash.hex(), json.dumps(marks, ensure_ascii=False), statements)


def _count(
    phase: Literal["files", "statements"], these: Sequence[Each], progress: ProgressCallback | None
) -> Iterator[Each]:
    """Yield what there is to do, and tell before each and at the end how much of it is done."""
    for number in range(len(these) + 1 if these else 0):
        if progress is not None:
            progress(Progress(phase=phase, done=number, total=len(these)))
        yield from these[number : number + 1]


def _add_pairs(corpus: Corpus, added: Sequence[int], progress: ProgressCallback | None) -> None:
    """Compare new statements with all others that share a rare stem."""
    count = max(corpus.count(), LEAST_STATEMENTS)
    fresh = set(added)

    def bits(word: str) -> float:
        return min(outdated.MOST_BITS, math.log2(count / max(corpus.count_holders(word), 1)))

    for number in _count("statements", added, progress):
        statement = corpus.load(number)
        near: set[int] = set()
        for word in {*statement.own, *statement.near, *statement.context}:
            if corpus.count_holders(word) <= MOST_HOLDERS:
                near.update(corpus.list_holders(word))
                near.update(corpus.list_holders(word, AROUND) if word in statement.own else ())
        near.discard(number)
        for other in near:
            if other in fresh and other > number:
                continue  # its own turn comes
            stands = corpus.load(other)
            old, new = (other, number) if stands.date < statement.date else (number, other)
            judged = outdated.judge(corpus.load(old), corpus.load(new), bits)
            if judged is not None and judged.score >= outdated.CANDIDATE:
                corpus.add_pair(old, new, judged.score, json.dumps(judged))


def _propose_outdated(
    corpus: Corpus, reader: _Lines, find_days: FindDays, undone: Collection[str]
) -> Iterator[Proposal]:
    """Propose what is to become of outdated lines, but for those of undated notes that were written after what replaces them.

    What stands there since an edit was undone is no newer for that.
    """
    judged = {(pair.old, pair.new): pair for pair in corpus.list_pairs()}
    selected = outdated.select(judged.values())
    names = {old: {*corpus.load(old).title} & {*corpus.load(pair.new).own} for old, pair in selected.items()}
    named = {pair.new for old, pair in selected.items() if names[old]}  # they name the note of a line that they replace
    for old, pair in selected.items():
        _, _, _, score, body, said = judged.get((old, pair.new), pair)
        before, after = corpus.load(old), corpus.load(pair.new)
        if pair.new in named and before.title and not names[old]:
            continue
        line = reader.pick(before.path, before.line)
        written = find_days(before.path).get(line) if before.date == UNDATED and line not in undone else None
        if not line.strip() or (written and written.isoformat() > after.date):
            continue
        places = [(after.path, after.line)]
        beside = [each for each in corpus.list_beside(old) if each.line == before.line]
        new = _swap(beside, corpus.list_beside(pair.new), body, line)
        if said and before.date == UNDATED and not line.rstrip().endswith("|"):
            new = f"{_find_lead(line)}{said} (since {after.date}, see {after.path}:{after.line})"
        since = "" if before.date == UNDATED else f" of {before.date}"
        why = f"The line{since} is replaced by what was written on {after.date}."
        yield _make(reader, "outdated", before.path, before.line, new or _mark(line, after), why, places, score)


def _swap(old: Sequence[Statement], new: Sequence[Statement], body: str, line: str) -> str | None:
    """Return a line of an undated note with new values in the place of old ones, if what else it says may still hold.

    It may not where the newer sentence or one beside it has another value or name of a kind that the line has, too.

    Args:
        old: The older statement, and those beside it in its line.
        new: The newer one, and those beside it.
        body: The judgement.
        line: The line.
    """
    judged: list[Any] = json.loads(body) if body else [""] * 4
    _, kind, former, *_ = judged
    before, after = old[0], new[0]
    if kind != "value" or before.date != UNDATED or before.language != after.language:
        return None
    says: dict[str, str] = {}
    held = {(each.kind, each.text) for said in old for each in said.values}
    kinds = {name for name, _ in held}
    swapped = set()
    for name in kinds:
        pair = [[each for each in said.values if each.kind == name] for said in (before, after)]
        if [each.text for each in pair[1][:-1]] == [each.text for each in pair[0]] and _stand_together(
            after.text, pair[1]
        ):
            del pair[1][0]  # "from £34 to £41"
        own = name == former[0] or (name not in ("date", "month") and not _opens_log(pair[1]))
        if own and [len(each) for each in pair] == [1, 1]:
            (value,), (other,) = pair
            says[before.text[value.start : value.end]] = after.text[other.start : other.end]
            held.add((name, other.text))
            swapped.add(name)
    others = {(each.kind, each.text) for said in new for each in said.values if each.kind in kinds} - held
    if (
        former[0] not in swapped
        or others
        or outdated.name_others(old, new)
        or any(line.count(each) != 1 for each in says)
    ):
        return None
    return re.sub("|".join(map(re.escape, says)), lambda found: says[found[0]], line)


def _stand_together(text: str, values: Sequence[Value]) -> bool:
    """Return True for two values with a few words between them, which no comma parts."""
    return len(values) == 2 and re.fullmatch(r"[\w ]{1,20}", text[values[0].end : values[1].start]) is not None


def _opens_log(values: Sequence[Value]) -> bool:
    """Return True for a time of day that opens a line: it may be the one at which the line was written."""
    return bool(values) and values[0].kind == "clock" and not values[0].start


def _find_lead(line: str) -> str:
    """Return the indentation and the sign of a list at the beginning of a line."""
    return line[: len(line) - len(re.sub(r"^\s*(?:[-*+]\s+)?", "", line))]


def _mark(line: str, after: Statement) -> str:
    """Return a line that says since when it holds no more, and where that stands."""
    mark = f"(until {after.date}, see {after.path}:{after.line})"
    if line.rstrip().endswith("|"):
        return f"{line.rstrip()[:-1].rstrip()} {mark} |"
    return f"{line.rstrip()} {mark}"


def _propose_repeated(corpus: Corpus, reader: _Lines) -> Iterator[Proposal]:
    """Propose to take away what an undated note says again, and to add to MEMORY.md what notes of several days say."""
    for numbers in corpus.list_repeated():
        several = [corpus.load(number) for number in numbers]
        lasting = [each for each in several if each.date == UNDATED]
        places = [(each.path, each.line) for each in several]
        if len(lasting) > 1:
            first, *others = sorted(
                lasting, key=lambda each: (each.path not in roots.LONGTERM_NAMES, rank_place(each.path), each.line)
            )
            for each in others:
                line = reader.pick(each.path, each.line)
                if line and len(line) <= len(each.text) + 8:
                    why = f"{first.path} says the same in line {first.line}."
                    yield _make(reader, "repeated", each.path, each.line, "", why, [(first.path, first.line)], 5.0)
        elif (
            not lasting
            and len({each.date for each in several}) >= REPEATED_DAYS
            and any("state" in each.flags for each in several)
        ):
            yield from _propose_missing(reader, several[-1].text, f"{len(places)} notes say so.", places)


def _find_again(proposals: Iterable[Proposal], reader: _Lines) -> Iterator[Proposal]:
    """Yield what others have proposed, with the place where its lines stand now.

    Nothing is left of it where they, or a line that speaks for it, are gone, nor where they stand twice in a changed note.
    """
    for each in proposals:
        lines, text = reader.lines(each.path), each.text.split("\n")
        places = [at + 1 for at in range(len(lines)) if lines[at : at + len(text)] == text]
        if lines and each.note_hash == reader.hash(each.path):
            places = [each.line]
        cited = [replace(line, line=reader.find(line)) for line in each.evidence]
        if len(places) == 1 and all(line.line for line in cited):
            yield replace(each, line=places[0], evidence=tuple(cited), note_hash=reader.hash(each.path))


def _propose_missing(reader: _Lines, fact: str, why: str, places: Sequence[tuple[str, int]]) -> Iterator[Proposal]:
    """Propose to add a fact behind the last line of MEMORY.md."""
    path = next((name for name in roots.LONGTERM_NAMES if name in reader.files), None)
    lines = reader.lines(path) if path else []
    last = next((number for number in range(len(lines), 0, -1) if lines[number - 1].strip()), 0)
    if path and last and not any(fact in line for line in lines):
        yield _make(reader, "missing", path, last, f"{lines[last - 1]}\n- {fact}", why, places[:5], 4.5)


def _propose_recalled(config: AgentConfig, reader: _Lines) -> Iterator[Proposal]:
    """Propose for MEMORY.md the lines of dated notes that are recalled again and again."""
    counts: Counter[str] = Counter()
    with suppress(OSError):  # without a log nothing was recalled
        for entry in load_entries(config.activity_path, limit=MOST_ENTRIES):
            if entry.action == "recalled":
                counts.update(entry.places)
    for place, count in counts.most_common(20):
        path, _, number = place.partition("#L")
        if count < RECALLED or not number.isdigit() or path not in reader.files or reader.date(path) is None:
            continue
        line = reader.pick(path, int(number)).lstrip("-*+ ").strip()
        if 10 < len(line) <= 200 and not line.startswith(("#", "|", ">", "[")):
            yield from _propose_missing(reader, line, f"It was recalled {count} times.", [(path, int(number))])


def _propose_findings(marks: Mapping[str, Mapping[str, Any]], reader: _Lines, shown_chars: int) -> Iterator[Proposal]:
    found = [*findings.find_links_that_lead_nowhere(marks), *findings.find_spellings(marks)]
    for name in roots.LONGTERM_NAMES:
        if name in reader.files:
            found += findings.find_overflow(name, "\n".join(reader.lines(name)), shown_chars)
    for each in found:
        line = reader.pick(each.path, each.line)
        new = line.replace(each.old, each.new) if each.old and each.new else None
        yield _make(reader, each.kind, each.path, each.line, new, each.why, each.evidence, 5.0)


def _propose_dates(
    timezone: str | None, marks: Mapping[str, Mapping[str, Any]], reader: _Lines, find_days: FindDays
) -> Iterator[Proposal]:
    """Propose the dates of "next Friday" and its like in undated notes, where the history knows when a line was written."""
    today = get_today(timezone, datetime.now(UTC))
    for path, number, phrase in ((path, *each) for path, held in marks.items() for each in held.get("relative", ())):
        line = reader.pick(path, number)
        day = find_days(path).get(line)
        for named in findings.find_relative(line, day) if day else ():
            if named.text == phrase and named.period.last < today:
                stands = " to ".join(str(each) for each in dict.fromkeys((named.period.first, named.period.last)))
                why = f"The line was written on {day}; {phrase} is {stands}."
                new = line.replace(phrase, f"{phrase} ({stands})", 1)
                yield _make(reader, "relative date", path, number, new, why, (), 5.0)


def _read_days(history: History, reader: _Lines, timezone: str | None, path: str) -> dict[str, date | None]:
    """Return the days on which the lines of a note came into it, for the last time; None before the history began."""
    versions = history.list_versions(path)
    if not versions:
        return {}
    moments = {moment.id: moment.at for moment in history.list_moments()}
    read = versions[-MOST_VERSIONS:]
    texts = [(split_lines(note.text), moments[version.since]) for version, note in history.load_texts(read)]
    texts.append((reader.lines(path), datetime.fromtimestamp(reader.files[path].stamp.mtime_ns / 1e9, UTC)))
    old = len(versions) > len(read) or read[0].since == min(moments)
    days: dict[str, date | None] = {}
    before: set[str] = set()
    for number, (lines, at) in enumerate(texts):
        day = get_today(timezone, at) if number or not old else None
        days.update((line, day) for line in {*lines} - before)
        before = {*lines}
    return days


def _make(  # noqa: PLR0917
    reader: _Lines, kind: Any, path: str, line: int, new: str | None, why: str,
    places: Iterable[tuple[str, int]] = (), score: float = 0.0,
) -> Proposal:  # fmt: skip
    evidence = tuple(
        CitedLine(path=each, line=number, text=reader.pick(each, number).strip(), date=reader.date(each))
        for each, number in places
    )
    text = reader.pick(path, line)
    if new is not None and not reader.may_change(path):
        new, why = None, f"{why} Change it by hand: the note lies outside of the workspace."
    return Proposal(
        id="", kind=kind, path=path, line=line, text=text, new=new, why=why, evidence=evidence, score=round(score, 1)
    )
