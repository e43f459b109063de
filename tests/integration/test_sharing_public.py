"""A remote that anybody can read is refused: git itself asks a server on the loopback interface without a password."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_core.errors import InvalidArgument, RemoteUnreachable
from tests.machines import Machine, make_remote, run_git


class _Files(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    run_git(make_remote(tmp_path / "remote.git"), "update-server-info")
    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(_Files, directory=str(tmp_path))
    ) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}/remote.git"
        server.shutdown()


def test_what_anybody_can_read_is_refused_unless_told(url: str, tmp_path: Path) -> None:
    machine = Machine(tmp_path / "m", tmp_path)
    machine.write("MEMORY.md", "# Memory\n\n- One.\n")
    with pytest.raises(InvalidArgument, match="anybody can read"):
        machine.sharing.init(url)
    assert machine.sharing.load() is None
    with pytest.raises(RemoteUnreachable, match="cannot be written"):  # this server takes nothing
        machine.sharing.init(url, public=True)
