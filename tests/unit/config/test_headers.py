"""Headers that belong to the connection are refused in our section, and left out of the host's."""

from __future__ import annotations

import pytest

from memory_core.config.load import load_config
from memory_core.errors import ConfigError

FRAMING = ["Content-Length", "transfer-encoding", "Connection", "TE", "Expect", "Content-Encoding", "Upgrade"]


@pytest.mark.parametrize("name", FRAMING)
def test_framing_headers_are_refused(name: str) -> None:
    document = {"memorySearch": {"remote": {"headers": {name: "5", "X-Team": "a"}}}}
    with pytest.raises(ConfigError, match=f"{name} is set by the connection itself"):
        load_config(document, environ={"HOME": "/nowhere"})


def test_framing_headers_of_the_host_are_left_out() -> None:
    document = {"models": {"providers": {"openai": {"headers": {"Content-Length": "5", "X-Team": "a"}}}}}
    config = load_config(document, environ={"HOME": "/nowhere"}).agent()
    assert list(config.providers["openai"].headers) == ["X-Team"]
    assert any("Content-Length is set by the connection itself" in warning for warning in config.warnings)
