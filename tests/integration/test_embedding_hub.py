"""A model file comes from a hub whole, whatever interrupts it. The hub is a loopback server; huggingface_hub is the real one."""

from __future__ import annotations

import hashlib
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_core.config.settings import Local
from memory_core.embeddings.local.hub import HubFile, fetch
from memory_core.embeddings.local.provider import open_provider
from memory_core.errors import ProviderUnavailable
from tests.command import REPOSITORY
from tests.servers.clients import agent_config, wait_until
from tests.servers.hub import HubServer

CONTENT = b"GGUF" + random.Random(3).randbytes(3_000_000)
FILE = HubFile("owner/repo", "sub/model.gguf")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    # Read when huggingface_hub was imported; the tests at large run offline.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with HubServer(CONTENT, FILE.path) as server:
        yield server


def test_a_file_is_downloaded_once(hub: HubServer, tmp_path: Path) -> None:
    path = fetch(FILE, tmp_path, endpoint=hub.origin)
    count = len(hub.requests)

    assert path == tmp_path / "owner" / "repo" / "sub" / "model.gguf"
    assert path.read_bytes() == CONTENT
    assert fetch(FILE, tmp_path, endpoint=hub.origin) == path
    assert len(hub.requests) == count
    assert not list(path.parent.glob("*.part"))


def test_nothing_is_downloaded_that_nothing_can_compute(
    hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    provider = open_provider(
        agent_config(tmp_path, "local", local=Local(model_path="hf:owner/repo/sub/model.gguf")),
        environ={"HF_ENDPOINT": hub.origin},
    )
    with pytest.raises(ProviderUnavailable, match="llama-cpp-python is not installed"):
        provider.embed_query("a kettle")
    provider.close()
    assert not hub.requests


def test_a_connection_that_breaks_is_resumed_where_it_broke(hub: HubServer, tmp_path: Path) -> None:
    hub.break_after = 1_000_000
    path = fetch(FILE, tmp_path, endpoint=hub.origin)

    assert path.read_bytes() == CONTENT
    assert hub.ranges()[:2] == ["bytes=0-", "bytes=500000-"]


def test_a_killed_process_loses_nothing_that_came(hub: HubServer, tmp_path: Path) -> None:
    hub.break_after, hub.held = 1_000_000, threading.Event()
    script = f"""
import huggingface_hub.constants
huggingface_hub.constants.HF_HUB_OFFLINE = False
from pathlib import Path
from memory_core.embeddings.local.hub import HubFile, fetch
fetch(HubFile("owner/repo", "sub/model.gguf"), Path({str(tmp_path)!r}), endpoint={hub.origin!r})
"""
    with subprocess.Popen([sys.executable, "-c", script], cwd=REPOSITORY) as child:
        wait_until(lambda: len(hub.ranges()) == 2, 20)
        child.kill()
    hub.held.set()
    hub.break_after = hub.held = None

    assert fetch(FILE, tmp_path, endpoint=hub.origin).read_bytes() == CONTENT
    assert hub.ranges() == ["bytes=0-", "bytes=500000-", "bytes=500000-"]


def test_a_file_that_changed_meanwhile_is_begun_anew(hub: HubServer, tmp_path: Path) -> None:
    folder = FILE.within(tmp_path).parent
    folder.mkdir(parents=True)
    stale = hashlib.blake2s(b"other").hexdigest()[:12]
    (folder / f"model.gguf.{stale}.part").write_bytes(b"of another version")

    assert fetch(FILE, tmp_path, endpoint=hub.origin).read_bytes() == CONTENT
    assert hub.ranges() == ["bytes=0-"]


def test_what_is_not_what_the_hub_announced_is_thrown_away(hub: HubServer, tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(ProviderUnavailable, match="stopped"):
        fetch(FILE, tmp_path, endpoint=hub.origin, stop=stop)
    (part,) = FILE.within(tmp_path).parent.glob("*.part")
    part.write_bytes(b"x" * 1000)

    with pytest.raises(ProviderUnavailable, match="not what the hub announced"):
        fetch(FILE, tmp_path, endpoint=hub.origin)
    assert fetch(FILE, tmp_path, endpoint=hub.origin).read_bytes() == CONTENT


def test_a_file_that_is_not_there_is_named(tmp_path: Path, hub: HubServer) -> None:
    with pytest.raises(ProviderUnavailable, match=r"owner/repo/none\.gguf cannot be found on the hub") as caught:
        fetch(HubFile("owner/repo", "none.gguf"), tmp_path, endpoint=hub.origin)
    assert caught.value.action


def test_no_network_is_an_outage(tmp_path: Path, hub: HubServer) -> None:
    with pytest.raises(ProviderUnavailable) as caught:
        fetch(FILE, tmp_path, endpoint="http://127.0.0.1:9")
    assert caught.value.retryable


@pytest.mark.parametrize(
    "uri",
    ["hf:", "hf:owner/repo", "hf:owner/repo/model.bin", "hf:owner/../../x.gguf", "hf:a/b/../../x.gguf", "hf:/a/b.gguf"],
)
def test_a_uri_that_is_written_otherwise_is_refused(tmp_path: Path, uri: str) -> None:
    with pytest.raises(ProviderUnavailable, match="modelPath"):
        open_provider(agent_config(tmp_path, "local", local=Local(model_path=uri)), environ={})


def test_a_missing_file_is_refused_when_it_is_opened(tmp_path: Path) -> None:
    with pytest.raises(ProviderUnavailable, match="is no file"):
        open_provider(agent_config(tmp_path, "local", local=Local(model_path="none.gguf")), environ={})


def test_the_default_model_is_downloaded_to_the_state_folder(tmp_path: Path) -> None:
    provider = open_provider(agent_config(tmp_path, "local"), environ={})

    assert provider.space.model == "hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf"
    assert provider.space.dimensions == 768
    provider.close()
