"""Secret references of OpenClaw lead to the keys to which they lead there, and never into a message."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from memory_core.config import environment
from memory_core.config.description import build_config_schema
from memory_core.config.load import load_config
from memory_core.errors import ConfigError

KEY = "sk-planted-7f3a"
ENV = {"HOME": "/nowhere", "EMBEDDINGS_KEY": KEY}


def document(ref: object, secrets: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {"memorySearch": {"remote": {"apiKey": ref}}, "secrets": secrets or {}}


def read(ref: object, secrets: Mapping[str, Any] | None = None) -> str:
    key = load_config(document(ref, secrets), environ=ENV).agent().search.remote.api_key
    assert key is not None
    return key.reveal()


def refuse(ref: object, secrets: Mapping[str, Any] | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config(document(ref, secrets), environ=ENV)
    assert KEY not in str(caught.value)
    return str(caught.value)


def ref(source: str, key: str, provider: str = "default") -> dict[str, str]:
    return {"source": source, "provider": provider, "id": key}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A program that answers as the protocol says, counts its runs, and has one of the secrets."""
    program = tmp_path / "vault"
    program.write_text(f"""#!{sys.executable}
import json, os, sys
request = json.load(sys.stdin)
with open({str(tmp_path / "runs")!r}, "a") as runs:
    runs.write(json.dumps([request, sorted(os.environ.keys() - {{"LC_CTYPE"}}), sys.argv[1:]]) + chr(10))
values = {{"openai/key": {KEY!r}}} if request["ids"] == ["openai/key"] else {{}}
print(json.dumps({{"protocolVersion": 1, "values": values}}))
""")
    program.chmod(0o700)
    return program


def test_a_variable(tmp_path: Path) -> None:
    assert read(ref("env", "EMBEDDINGS_KEY")) == KEY
    assert read({"source": "env", "id": "EMBEDDINGS_KEY"}) == KEY
    assert read(ref("env", "EMBEDDINGS_KEY", "team"), {"defaults": {"env": "team"}}) == KEY
    assert read("$EMBEDDINGS_KEY") == KEY
    assert read("${MISSING:-fallback}") == "fallback"
    assert read("$${EMBEDDINGS_KEY}") == "${EMBEDDINGS_KEY}"
    assert "EMBEDDINGS is not set" in refuse(ref("env", "EMBEDDINGS"))
    assert "is not in secrets.providers" in refuse(ref("env", "EMBEDDINGS_KEY", "team"))
    assert "allowlist" in refuse(
        ref("env", "EMBEDDINGS_KEY"), {"providers": {"default": {"source": "env", "allowlist": []}}}
    )


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"
    path.write_text(json.dumps({"providers": {"a/b~c": {"keys": ["other", KEY]}}, "number": 5}))
    path.chmod(0o600)
    secrets = {"providers": {"main": {"source": "file", "path": str(path)}}}
    assert read(ref("file", "/providers/a~1b~0c/keys/1", "main"), secrets) == KEY
    assert "nothing stands" in refuse(ref("file", "/providers/none", "main"), secrets)
    assert "empty, or no string" in refuse(ref("file", "/number", "main"), secrets)
    assert "JSON pointer" in refuse(ref("file", KEY, "main"), secrets)
    assert "another source" in refuse(ref("exec", "a", "main"), secrets)
    path.write_text(f"{KEY}\n")
    single = {"providers": {"main": {"source": "file", "path": str(path), "mode": "singleValue"}}}
    assert read(ref("file", "value", "main"), single) == KEY
    assert "no JSON" in refuse(ref("file", "/a", "main"), secrets)


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions than these bits")
def test_a_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    path, link = tmp_path / "secret", tmp_path / "link"
    path.write_text(KEY)
    path.chmod(0o644)
    link.symlink_to(path)
    secrets = {"providers": {"main": {"source": "file", "path": str(path), "mode": "singleValue"}}}
    assert "chmod 600" in refuse(ref("file", "value", "main"), secrets)
    assert "no link" in refuse(
        ref("file", "value", "main"), {"providers": {"main": {"source": "file", "path": str(link)}}}
    )


@pytest.mark.skipif(os.name == "nt", reason="Windows runs no scripts by their first line")
def test_a_program_is_asked_once(vault: Path, tmp_path: Path) -> None:
    provider = {
        "source": "exec",
        "command": str(vault),
        "args": ["--profile", "x"],
        "passEnv": ["HOME"],
        "env": {"A": "b"},
    }
    secrets = {"providers": {"vault": provider}}
    for _ in range(2):
        assert read(ref("exec", "openai/key", "vault"), secrets) == KEY
    (run,) = (tmp_path / "runs").read_text().splitlines()
    request = {"protocolVersion": 1, "provider": "vault", "ids": ["openai/key"]}
    assert json.loads(run) == [request, ["A", "HOME"], ["--profile", "x"]]
    assert "no secret of this id" in refuse(ref("exec", "other", "vault"), secrets)
    assert "may be asked for" in refuse(ref("exec", "a/../b", "vault"), secrets)
    vault.chmod(0o722)
    assert "chmod go-w" in refuse(ref("exec", "third", "vault"), secrets)


@pytest.mark.skipif(os.name == "nt", reason="Windows runs no scripts by their first line")
def test_no_program_runs_for_an_account_that_no_agent_uses(vault: Path, tmp_path: Path) -> None:
    keys = {"apiKey": ref("exec", "openai/key", "vault")}
    given = {
        "models": {"providers": {"anthropic": keys, "openai": keys}},
        "secrets": {"providers": {"vault": {"source": "exec", "command": str(vault)}}},
    }
    config = load_config(given, environ=ENV).agent()
    assert config.providers["openai"].api_key is None
    assert config.warnings == ()
    assert not (tmp_path / "runs").exists()
    chosen = load_config({**given, "memorySearch": {"provider": "openai"}}, environ=ENV).agent()
    key = chosen.providers["openai"].api_key
    assert key is not None
    assert key.reveal() == KEY
    assert len((tmp_path / "runs").read_text().splitlines()) == 1


@pytest.mark.skipif(os.name == "nt", reason="Windows runs no scripts by their first line")
def test_a_program_outside_the_trusted_folders_is_refused(vault: Path, tmp_path: Path) -> None:
    trusted = tmp_path / "trusted"
    trusted.mkdir()
    inside = {"source": "exec", "command": str(vault), "trustedDirs": [str(trusted / "..")]}
    assert read(ref("exec", "openai/key", "vault"), {"providers": {"vault": inside}}) == KEY
    around = inside | {"command": f"{trusted}/../vault", "trustedDirs": [str(trusted)]}
    assert "outside the provider's trustedDirs" in refuse(
        ref("exec", "openai/key", "vault"), {"providers": {"vault": around}}
    )


@pytest.mark.skipif(os.name == "nt", reason="Windows runs no scripts by their first line")
@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"trustedDirs": "/"}, "trustedDirs must be a list of strings"),
        ({"args": 5}, "args must be a list of strings"),
        ({"passEnv": [5]}, "passEnv must be a list of strings"),
        ({"env": ["A"]}, "env must be a mapping"),
        ({"env": {"A=B": "c"}}, "a character that programs cannot take"),
        ({"args": ["a\0b"]}, "a character that programs cannot take"),
        ({"command": "/a\0b"}, "a character that no path has"),
    ],
)
def test_a_damaged_provider_is_a_clear_error(vault: Path, settings: Mapping[str, Any], told: str) -> None:
    provider = {"source": "exec", "command": str(vault), **settings}
    assert told in refuse(ref("exec", "openai/key", "vault"), {"providers": {"vault": provider}})


def test_an_allowlist_that_is_no_list_allows_nothing() -> None:
    secrets = {"providers": {"default": {"source": "env", "allowlist": "EMBEDDINGS_KEY"}}}
    assert "allowlist must be a list of strings" in refuse(ref("env", "EMBEDDINGS_KEY"), secrets)


@pytest.mark.skipif(os.name == "nt", reason="Windows runs no scripts by their first line")
def test_only_an_answer_with_a_key_is_kept_and_not_for_ever(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = {"providers": {"vault": {"source": "exec", "command": str(vault), "timeoutMs": float("inf")}}}
    script = vault.read_text()
    vault.write_text("#!/bin/sh\necho locked\n")
    assert "printed no JSON" in refuse(ref("exec", "openai/key", "vault"), secrets)
    vault.write_text(script)
    assert read(ref("exec", "openai/key", "vault"), secrets) == KEY
    assert len((tmp_path / "runs").read_text().splitlines()) == 1
    monkeypatch.setattr(environment, "MAX_AGE_SECONDS", -1.0)
    assert read(ref("exec", "openai/key", "vault"), secrets) == KEY
    assert len((tmp_path / "runs").read_text().splitlines()) > 1


def test_the_store_of_openclaw_cannot_be_read() -> None:
    assert "cannot be read here" in refuse(ref("store", "OPENAI_API_KEY"))
    config = load_config({"models": {"providers": {"openai": {"apiKey": ref("env", "NONE")}}}}, environ=ENV).agent()
    assert "NONE is not set; it is left out" in config.warnings[0]


def test_the_schema_allows_references() -> None:
    schema = Draft202012Validator(build_config_schema())
    assert schema.is_valid(document(ref("env", "EMBEDDINGS_KEY")))
    assert schema.is_valid({"memorySearch": {"remote": {"headers": {"X-Key": ref("env", "EMBEDDINGS_KEY")}}}})
    assert not schema.is_valid(document({"source": "elsewhere", "id": "a"}))
