"""Other memory systems, each in an environment of its own, which pip fills at the first run, and driven by a script there.

A script gets a conversation as notes on disk and as sessions, indexes it as its system's own documentation says, and answers each
question with the sessions of what it found. Systems that let one choose a model embed with all-MiniLM-L6-v2: through an endpoint
as OpenAI's, which `serve_vectors` serves, or from the folder of its weights.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_core.config.settings import Local
from memory_core.embeddings.local.provider import LocalProvider, open_provider
from tests.command import REPOSITORY
from tests.servers.clients import agent_config, collected
from tests.servers.loopback import Reply, Request, Server

CACHE = REPOSITORY / ".cache"
MODEL = "all-MiniLM-L6-v2"
KEY = "sk-loopback"


class NotDriven(Exception):
    """A system could not be installed, failed, or took too long; the text says which and why."""


@dataclass(frozen=True)
class System:
    """Another memory system.

    Attributes:
        name: With its version.
        packages: What pip installs; nothing for a script that this interpreter runs.
        driver: Python that defines `index(talk)`, which returns a function from a question to the names of sessions, best first.
        remark: What it was given to do, and what it could not be given.
        needs: What holds for a Python that it runs on.
    """

    name: str
    packages: Sequence[str]
    driver: str
    remark: str
    needs: str = "True"


@dataclass(frozen=True)
class Told:
    """What a system answered about one conversation: seconds to index, and the sessions and the seconds of each question."""

    index_s: float
    answers: Sequence[tuple[Sequence[str], float]]


# A conversation a line on standard input; what was told goes to a file, since systems print as they like.
LOOP = """
import json, sys, time
for talk in map(json.loads, sys.stdin):
    begun = time.perf_counter()
    ask = index(talk)
    told = {"index_s": time.perf_counter() - begun, "answers": []}
    for question in talk["questions"]:
        begun = time.perf_counter()
        sessions = list(dict.fromkeys(ask(question)))
        told["answers"].append((sessions, time.perf_counter() - begun))
    with open(sys.argv[1], "a") as file:
        file.write(json.dumps(told) + "\\n")
"""
MEMPALACE = """
import os
from pathlib import Path
from mempalace.convo_miner import mine_convos
from mempalace.searcher import search_memories
def index(talk):
    os.environ |= {"MEMPALACE_EMBEDDING_MODEL": "openai-compat", "MEMPALACE_EMBEDDING_API_URL": talk["url"],
                   "MEMPALACE_EMBEDDING_API_MODEL": talk["model"], "MEMPALACE_EMBEDDING_API_KEY": talk["key"]}
    mine_convos(talk["notes"], talk["store"])
    def ask(question):
        found = search_memories(question, talk["store"], n_results=talk["most"])
        return [talk["names"][Path(hit["source_file"]).name] for hit in found["results"]]
    return ask
"""
MEMSEARCH = """
import asyncio
from pathlib import Path
from memsearch import MemSearch
run = asyncio.new_event_loop().run_until_complete  # its client's connections belong to one loop
def index(talk):
    memory = MemSearch([talk["notes"]], milvus_uri=talk["store"] + "/milvus.db", embedding_model=talk["model"],
                       embedding_base_url=talk["url"], embedding_api_key=talk["key"])
    run(memory.index())
    def ask(question):
        return [talk["names"][Path(hit["source"]).name] for hit in run(memory.search(question, top_k=talk["most"]))]
    return ask
"""
MEM0 = """
from mem0 import Memory
def index(talk):
    remote = {"model": talk["model"], "openai_base_url": talk["url"], "api_key": talk["key"]}
    qdrant = {"path": talk["store"], "embedding_model_dims": 384}
    memory = Memory.from_config({
        "embedder": {"provider": "openai", "config": remote},
        "llm": {"provider": "openai", "config": {"openai_base_url": talk["url"], "api_key": talk["key"]}},
        "vector_store": {"provider": "qdrant", "config": qdrant},
    })
    for session in talk["sessions"]:
        turns = [{"role": "user", "content": line.removeprefix("- ")} for line in session["lines"]]
        memory.add(turns, user_id="bench", infer=False, metadata={"session": session["name"]})
    def ask(question):
        found = memory.search(question, top_k=talk["most"], filters={"user_id": "bench"}, threshold=0)
        return [hit["metadata"]["session"] for hit in found["results"]]
    return ask
"""
ENGRAM = """
import sentence_transformers  # here, so that loading torch is not part of the first index
from engram.backends.base import Document
from engram.ingestion.parser import session_to_documents
from engram.retrieval.embedder import Embedder
from engram.retrieval.pipeline import RetrievalPipeline
def index(talk):
    embedder = Embedder(talk["weights"])
    pipeline = RetrievalPipeline(embedder=embedder, use_reranker=False)
    parsed = []
    for session in talk["sessions"]:
        said = [line.removeprefix("- ").partition(": ") for line in session["lines"]]
        roles = {name: role for name, role in zip(dict.fromkeys(name for name, _, _ in said), ("user", "assistant"))}
        turns = [{"role": roles.get(name, "assistant"), "content": text} for name, _, text in said]
        parsed += session_to_documents(turns, session_id=session["name"], timestamp=session["at"], include_assistant=True,
                                       speaker_names={role: name for name, role in roles.items()})
    rows = embedder.encode_documents([each["text"] for each in parsed])
    documents = [Document(id=each["id"], text=each["text"], embedding=row.tolist(), metadata=each["metadata"])
                 for each, row in zip(parsed, rows)]
    def ask(question):
        found = pipeline.search(question, documents=documents, top_k=talk["most"])
        return [document.metadata["session_id"] for document in found]
    return ask
"""
BASIC_MEMORY = """
import asyncio, os, sqlite3, subprocess, sys
from pathlib import Path
run = asyncio.new_event_loop().run_until_complete
has_vectors = hasattr(sqlite3.Connection, "enable_load_extension")
def index(talk):
    settings = {"SEARCH_ENABLED": str(has_vectors), "EMBEDDING_PROVIDER": "openai", "EMBEDDING_MODEL": talk["model"],
                "EMBEDDING_API_BASE": talk["url"], "EMBEDDING_API_KEY": talk["key"], "EMBEDDING_DIMENSIONS": "384",
                "MIN_SIMILARITY": "0"}
    os.environ |= {"BASIC_MEMORY_SEMANTIC_" + name: value for name, value in settings.items()}
    from fastmcp import Client
    from basic_memory.mcp import tools  # they register themselves
    from basic_memory.mcp.server import mcp
    name = Path(talk["store"]).parent.name
    program = Path(sys.executable).with_name("basic-memory")
    subprocess.run([program, "project", "add", "talk-" + name, talk["notes"]], check=True)
    client = Client(mcp)
    run(client.__aenter__())
    def ask(question):
        asked = {"query": question, "project": "talk-" + name, "page_size": talk["most"], "output_format": "json",
                 "search_type": "hybrid" if has_vectors else "text"}
        found = run(client.call_tool("search_notes", asked))
        return [talk["names"][Path(hit["file_path"]).name] for hit in found.structured_content["result"]["results"]]
    return ask
"""
SYSTEMS = (
    System(
        "MemPalace 3.11.0",
        ["mempalace==3.11.0"],
        MEMPALACE,
        "mines the notes as conversations, and searches with its defaults; MiniLM from the endpoint",
    ),
    System(
        "engram-search 0.1.7",
        ["engram-search==0.1.7", "torch==2.13.0"],
        ENGRAM,
        "its pipeline, told who speaks; MiniLM from its weights, without its reranker, whose weights are a download",
    ),
    System(
        "basic-memory 0.24.1",
        ["basic-memory==0.24.1"],
        BASIC_MEMORY,
        "the search of its MCP server, with no lowest similarity; MiniLM from the endpoint where Python's sqlite3 loads "
        "extensions, else words alone",
        needs="sys.version_info >= (3, 12)",
    ),
    System(
        "memsearch 0.4.23",
        ["memsearch==0.4.23"],
        MEMSEARCH,
        "indexes the notes with its defaults; MiniLM from the endpoint",
    ),
    System(
        "mem0 2.2.1",
        ["mem0ai==2.2.1"],
        MEM0,
        "infer=False, each turn a memory, since its own extraction needs a language model; no BM25, whose model is a download; "
        "MiniLM from the endpoint",
    ),
)


class Vectors(Server):
    """Embeds with a model on this machine, as OpenAI's endpoint does; keeps no vector."""

    def __init__(self, provider: LocalProvider) -> None:
        super().__init__()
        self._provider = provider

    def answer(self, request: Request) -> Reply:
        body = request.json()
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        rows = collected(self._provider, texts)
        items = [{"object": "embedding", "index": n, "embedding": rows[n].tolist()} for n in range(len(texts))]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return Reply(200, {"object": "list", "model": body["model"], "data": items, "usage": usage})


@contextmanager
def serve_vectors(model: Path) -> Iterator[str]:
    """Serve the vectors of a model in a folder, and give the base URL."""
    with tempfile.TemporaryDirectory() as folder:
        provider = open_provider(
            agent_config(Path(folder), "local", local=Local(model_path=str(model.absolute()))), environ={}
        )
        provider.embed_query("Open the model before anybody's time is taken.")
        with Vectors(provider) as server:
            yield f"{server.origin}/v1"
        provider.close()


def install(environment: Path, *packages: str, always: bool = False, python: str = sys.executable) -> Path:
    """Return the folder of an environment's programs; it is made, and filled with packages, when it is not there.

    Args:
        environment: Its folder.
        packages: What pip installs.
        always: Whether the packages are installed anew into one that is there.
        python: The interpreter.

    Raises:
        NotDriven: It cannot be made.
    """
    programs = environment / "bin"
    is_there = (environment / "done").exists()
    if not is_there:
        print(f"installing {' '.join(packages)} into {environment}", flush=True)
        _run(python, "-m", "venv", "--clear", environment)
    if always or not is_there:
        again = ["--force-reinstall", "--no-deps"] if is_there else []
        _run(programs / "python", "-m", "pip", "install", "--quiet", *again, *packages)
        (environment / "done").touch()
    return programs


def _run(*command: str | Path) -> None:
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise NotDriven(f"could not be installed: {_read_last(done.stdout)}")


def _read_last(output: str) -> str:
    return (output.splitlines() or ["it said nothing"])[-1]


def drive(system: System, talks: Sequence[Mapping[str, Any]], limit_s: float) -> list[Told]:
    """Ask a system about conversations, in a process of its own with a home of its own.

    Args:
        system: Which.
        talks: What its script gets of each.
        limit_s: Seconds after which it is ended, with all processes that it started.

    Raises:
        NotDriven: There is no answer.
    """
    python = _find_python(system)
    with tempfile.TemporaryDirectory(prefix="memory-core-bench-") as folder:
        asked, told, said = (Path(folder) / name for name in ("asked", "told", "said"))
        asked.write_text("".join(json.dumps(talk) + "\n" for talk in talks), encoding="utf-8")
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        # No hub and no telemetry. Threads that spin while they wait would take minutes where others work, too.
        ours = {
            "HF_HUB_OFFLINE": "1",
            "ANONYMIZED_TELEMETRY": "False",
            "MEM0_TELEMETRY": "False",
            "OMP_WAIT_POLICY": "PASSIVE",
        }
        with asked.open() as stdin, said.open("w") as output:
            process = subprocess.Popen(
                [python, "-c", system.driver + LOOP, told], cwd=folder, env={**kept, **ours, "HOME": folder},
                stdin=stdin, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            try:
                code = process.wait(limit_s)
            except subprocess.TimeoutExpired as error:
                raise NotDriven(f"did not end within {limit_s:g} s") from error
            finally:
                with suppress(ProcessLookupError):  # it has ended, and left no process behind
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if code:
            raise NotDriven(f"failed: {_read_last(said.read_text(encoding='utf-8', errors='replace'))}")
        return [Told(**json.loads(line)) for line in told.read_text(encoding="utf-8").splitlines()]


def _find_python(system: System) -> Path:
    """Return the interpreter that has a system's packages, which are installed when they are not there."""
    if not system.packages:
        return Path(sys.executable)
    names = [sys.executable, *(f"python3.{minor}" for minor in range(11, 15))]
    python = next((name for name in names if _holds(system.needs, name)), None)
    if python is None:
        raise NotDriven(f"needs a Python with {system.needs}")
    return install(CACHE / system.name.replace(" ", "-"), *system.packages, python=python) / "python"


def _holds(needs: str, python: str) -> bool:
    """Tell whether an interpreter is there, starts, and has what is needed."""
    if shutil.which(python) is None:
        return False
    command = [python, "-c", f"import sqlite3, sys; sys.exit(not ({needs}))"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0
