"""A QMD that behaves like the real one as far as the backend can tell, and fails on demand. Standard library only.

It keeps a database with the real one's tables. Faults come from the file that FAKE_QMD_FAULTS names: a JSON object from
a subcommand (or "*") to a fault, or to a list from which each call takes the first. Every call is appended to the file
that FAKE_QMD_CALLS names.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

SCHEMA = """
CREATE TABLE IF NOT EXISTS content (hash TEXT PRIMARY KEY, doc TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS documents (id INTEGER PRIMARY KEY, collection TEXT, path TEXT, hash TEXT, mtime INTEGER,
  active INTEGER DEFAULT 1, UNIQUE (collection, path));
CREATE TABLE IF NOT EXISTS content_vectors (hash TEXT, seq INTEGER, model TEXT, PRIMARY KEY (hash, seq));
CREATE VIRTUAL TABLE IF NOT EXISTS documents_fts USING fts5(filepath, title, body, tokenize='porter unicode61');
"""


def main() -> int:
    words = sys.argv[1:]
    assert words[:2] == ["--index", "index"], "project-local .qmd folders would win"
    command, *rest = words[2:]
    with Path(os.environ["FAKE_QMD_CALLS"]).open("a", encoding="utf-8") as calls:
        calls.write(json.dumps([command, *rest]) + "\n")
    fault = take_fault(command)
    if fault:
        return fail(fault, rest)
    if command == "--version":
        print(f"qmd {version()} (fake)")
        return 0
    try:
        return COMMANDS[command](rest)
    except sqlite3.DatabaseError as error:
        print(f"SqliteError: {error}", file=sys.stderr)
        return 1


def version() -> str:
    return os.environ.get("FAKE_QMD_VERSION", "2.8.3")


def take_fault(command: str) -> str | None:
    """Return the fault of this call; lists are used up under a lock, so that concurrent calls take one each."""
    path = Path(os.environ["FAKE_QMD_FAULTS"])
    with path.open("r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        faults: dict[str, Any] = json.loads(file.read() or "{}")
        key = command if command in faults else "*"
        fault = faults.get(key)
        if isinstance(fault, list):
            if not fault:
                return None
            first = fault.pop(0)
            file.seek(0)
            file.truncate()
            file.write(json.dumps(faults))
            fault = first
        return fault if isinstance(fault, str) and fault != "none" else None


def fail(fault: str, rest: list[str]) -> int:
    if fault == "hang":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        time.sleep(600)
    if fault == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if fault == "flood":
        while True:
            sys.stdout.write("ggml_cuda_init: no device\n" * 1000)
    if fault == "garbage":
        print("[ggml] loading\n{not json")
    if fault == "skip":
        print("Another embed process is already running. Skipping.")
    if fault == "empty":
        print("[]")
    if fault.startswith("say "):
        print(fault.removeprefix("say "))
    if fault.startswith("exit "):
        _, status, message = fault.split(" ", 2)
        print(message, file=sys.stderr)
        return int(status)
    return 0


def read_config() -> dict[str, Any]:
    path = Path(os.environ["QMD_CONFIG_DIR"]) / "index.yml"
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"collections": {}}
    if document["collections"] and not {"embed", "generate", "rerank"} <= document.get("models", {}).keys():
        path.write_text(json.dumps({**document, "models": {}}), encoding="utf-8")
    return document


def connect() -> sqlite3.Connection:
    connection = sqlite3.connect(os.environ["INDEX_PATH"], isolation_level=None)
    connection.execute("PRAGMA journal_mode = wal")
    connection.executescript(SCHEMA)
    return connection


def update(_: list[str]) -> int:
    busy = Path(os.environ["INDEX_PATH"] + ".updating")
    try:
        os.close(os.open(busy, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        print("SqliteError: UNIQUE constraint failed (SQLITE_CONSTRAINT_PRIMARYKEY)", file=sys.stderr)
        return 1
    try:
        connection = connect()
        for name, collection in read_config()["collections"].items():
            new, changed, unchanged, removed = sync(connection, name, Path(collection["path"]), collection["pattern"])
            print(f"Indexed: {new} new, {changed} updated, {unchanged} unchanged, {removed} removed")
        time.sleep(float(os.environ.get("FAKE_QMD_UPDATE_SECONDS", "0")))
    finally:
        busy.unlink()
    return 0


def sync(connection: sqlite3.Connection, name: str, root: Path, pattern: str) -> tuple[int, int, int, int]:
    known = dict(connection.execute("SELECT path, hash FROM documents WHERE collection = ?", (name,)).fetchall())
    new = changed = unchanged = 0
    # A missing root has no files: its documents are dropped, as by the real one.
    for path in sorted(root.glob(pattern)):
        relative = path.relative_to(root).as_posix()
        stored = slug(relative) if version() < "2.5" else relative
        text = path.read_text(encoding="utf-8", errors="replace")
        digest = hashlib.sha256(text.encode()).hexdigest()
        old = known.pop(stored, None)
        if old == digest:
            unchanged += 1
            continue
        new, changed = new + (old is None), changed + (old is not None)
        drop(connection, name, stored)
        connection.execute("INSERT OR REPLACE INTO content VALUES (?, ?)", (digest, text))
        cursor = connection.execute(
            "INSERT INTO documents (collection, path, hash) VALUES (?, ?, ?)", (name, stored, digest)
        )
        body = re.sub(r"[\u3040-\u9fff\uac00-\ud7af]", lambda match: f" {match[0]} ", text)
        connection.execute(
            "INSERT INTO documents_fts (rowid, filepath, title, body) VALUES (?, ?, '', ?)",
            (cursor.lastrowid, stored, body),
        )
    for path_ in known:
        drop(connection, name, path_)
    return new, changed, unchanged, len(known)


def drop(connection: sqlite3.Connection, name: str, path: str) -> None:
    for (row,) in connection.execute(
        "SELECT id FROM documents WHERE collection = ? AND path = ?", (name, path)
    ).fetchall():
        connection.execute("DELETE FROM documents_fts WHERE rowid = ?", (row,))
        connection.execute("DELETE FROM documents WHERE id = ?", (row,))


def slug(path: str) -> str:
    *folders, name = path.lower().replace("___", "/").split("/")
    stem, dot, extension = name.rpartition(".")
    return "/".join([*(dash(folder) for folder in folders), dash(stem) + dot + extension])


def dash(segment: str) -> str:
    return re.sub(r"[\W_]+", "-", segment).strip("-")


def embed(rest: list[str]) -> int:
    connection, model = connect(), Path(read_config()["models"]["embed"])
    if "-f" in rest:
        connection.execute("DELETE FROM content_vectors")  # before the model is looked at
    if not model.exists():
        return fail("hang", rest)  # the real one tries to download for 730 s
    if model.read_bytes()[:4] != b"GGUF":
        model.unlink()
        print("not a GGUF file", file=sys.stderr)
        return 1
    if b"broken" in model.read_bytes():
        print("the model cannot be loaded", file=sys.stderr)
        return 1
    connection.execute(
        "CREATE TABLE IF NOT EXISTS vectors_vec (hash_seq TEXT PRIMARY KEY, embedding BLOB)"
    )  # stays empty
    for (digest,) in connection.execute("SELECT DISTINCT hash FROM documents").fetchall():
        connection.execute("INSERT OR REPLACE INTO content_vectors VALUES (?, 0, ?)", (digest, str(model)))
    print("Done")
    return 0


def parse_options(rest: list[str]) -> tuple[str, list[str], set[str], int]:
    """Return the query behind `--`, the collections, the flags and the limit."""
    split = rest.index("--")
    names, flags, limit = [], set(), 20
    words = iter(rest[:split])
    for word in words:
        if word == "-c":
            names.append(next(words))
        elif word == "-n":
            limit = int(next(words))
        else:
            flags.add(word)
    return " ".join(rest[split + 1 :]), names, flags, limit


def collection_list(_: list[str]) -> int:
    connect()
    print(f"Collections ({len(read_config()['collections'])}):")
    return 0


def search(rest: list[str]) -> int:
    query, names, _, limit = parse_options(rest)
    if version() < "1":
        names = names[-1:]
    return answer([(rank + 1, row) for rank, row in enumerate(match(connect(), query.split(), names))][:limit])


def query(rest: list[str]) -> int:
    text, names, flags, limit = parse_options(rest)
    unknown = [name for name in names if name not in read_config()["collections"]]
    if unknown:
        print(f"Collection not found: {unknown[0]}", file=sys.stderr)
        return 1
    lines = [line.partition(": ") for line in text.split("\n")]
    if any(kind not in {"lex", "vec"} for kind, _, _ in lines):
        lines = [("vec", "", text)]
    if any(kind == "vec" for kind, _, _ in lines) and not Path(read_config()["models"]["embed"]).exists():
        return fail("hang", rest)
    if any(kind == "vec" for kind, _, _ in lines) and has_stale_vectors():
        print("vectors of another model", file=sys.stderr)
        return 1
    typed = [(kind, value) for kind, _, value in lines]
    rows = fuse(connect(), typed, names)[:limit]
    return answer(list(enumerate(rows, start=1)), typed if "--explain" in flags else None)


def build_evidence(rank: int, lines: list[tuple[str, str]]) -> dict[str, Any]:
    """Build what `--explain` adds: a cosine by the rank, for questions without a "lex" line."""
    by_meaning = "lex" not in {kind for kind, _ in lines}
    return {"explain": {"vectorScores": [0.8 / rank] if by_meaning else [], "rerankScore": 0}}


def has_stale_vectors() -> bool:
    models = {model for (model,) in connect().execute("SELECT DISTINCT model FROM content_vectors")}
    return bool(models - {read_config()["models"]["embed"]})


def fuse(connection: sqlite3.Connection, lines: list[tuple[str, str]], names: list[str]) -> list[tuple[str, str, str]]:
    scores: dict[tuple[str, str, str], float] = {}
    for kind, text in lines:
        words = text.split() if kind == "lex" else re.findall(r"\w+", text)
        groups = [words] if kind == "lex" else [[word] for word in words]
        for group in groups:
            for rank, row in enumerate(match(connection, group, names)):
                scores[row] = scores.get(row, 0.0) + 1 / (60 + rank)
    return sorted(scores, key=lambda row: -scores[row])


def match(connection: sqlite3.Connection, words: list[str], names: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the rows that hold all words, best first."""
    phrases = [" ".join(re.findall(r"[\u3040-\u9fff\uac00-\ud7af]|[^\W\u3040-\u9fff\uac00-\ud7af]+", w)) for w in words]
    condition = " AND ".join(f'"{phrase}"' for phrase in phrases if phrase)
    if not condition:
        return
    marks = ",".join("?" * len(names))
    yield from connection.execute(
        "SELECT d.collection, d.path, c.doc FROM documents_fts f JOIN documents d ON d.id = f.rowid"
        f" JOIN content c ON c.hash = d.hash WHERE documents_fts MATCH ? AND d.collection IN ({marks}) ORDER BY rank",
        (condition, *names),
    )


def answer(ranked: list[tuple[int, tuple[str, str, str]]], explained: list[tuple[str, str]] | None = None) -> int:
    rows = []
    for rank, (collection, path, text) in ranked:
        digest = hashlib.sha256(text.encode()).hexdigest()
        row: dict[str, Any] = {
            "docid": f"#{digest[:6]}",
            "score": round(1 / rank, 2),
            "file": f"qmd://{collection}/{path}",
        }
        if version() >= "2.5":
            row["line"] = 1
        row |= {"title": "t", "snippet": "@@ -1,2 @@ (0 before, 0 after)\n\ud83d"}
        if explained is not None:
            row |= build_evidence(rank, explained)
        rows.append(row)
    if not rows and version() < "2":
        print("No results found.")
        return 0
    print(json.dumps(rows, indent=2))
    return 0


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/evidence":
            fault = take_fault("GET /evidence")
            self.reply({}, status=int(fault) if fault else 200 if os.environ.get("NODE_OPTIONS") else 404)
        else:
            self.reply({"status": "ok"})

    def do_POST(self) -> None:
        fault = take_fault(self.path)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if fault == "die":
            os._exit(1)
        if fault == "hang":
            time.sleep(600)
        items = body.get("searches") or body.get("queries") or [{"type": "vec", "query": body.get("query")}]
        lines = [(item["type"], item["query"]) for item in items]
        rows = fuse(self.server.connection, lines, body["collections"])[: body["limit"]]  # type: ignore[attr-defined]
        results = [
            {"file": f"qmd://{collection}/{path.replace(' ', '%20')}", "score": 1 / rank, "line": 1}
            | (build_evidence(rank, lines) if self.path == "/evidence" else {})
            for rank, (collection, path, _) in enumerate(rows, start=1)
        ]
        self.reply({"results": results} if fault != "garbage" else {"error": "no"})

    def reply(self, document: object, *, status: int = 200) -> None:
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""


def mcp(rest: list[str]) -> int:
    server = HTTPServer(("127.0.0.1", int(rest[rest.index("--port") + 1])), Handler)
    server.connection = connect()  # type: ignore[attr-defined]  # kept open, as the real one does, unlinked or not
    server.serve_forever()
    return 0


COMMANDS = {
    "collection": collection_list,
    "update": update,
    "embed": embed,
    "search": search,
    "vsearch": query,
    "query": query,
    "mcp": mcp,
}

if __name__ == "__main__":
    sys.exit(main())
