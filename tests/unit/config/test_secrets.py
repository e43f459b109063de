"""No key and no header value comes out of a configuration: not in errors, their causes, repr, warnings or descriptions."""

from __future__ import annotations

import copy
import json
import logging
import pickle
import traceback
from pathlib import Path
from typing import Any

import pytest

from memory_core.config.description import build_config_schema, describe
from memory_core.config.fields import Secret
from memory_core.config.load import load_config
from memory_core.config.problems import validate_section
from memory_core.config.settings import Scope
from memory_core.errors import ConfigError

PLANTED = "sk-planted-7f3a"
# Everything that could be written where a key belongs, or near it; each holds the key somewhere.
SHAPES: list[Any] = [
    PLANTED,
    [PLANTED],
    {"value": PLANTED},
    [[PLANTED]],
    {"a": {"b": [PLANTED]}},
    [{"path": PLANTED, "pattern": 5}],
    f"${{UNSET}}{PLANTED}",
]
PLACES = [
    "memorySearch.remote.apiKey",
    "memorySearch.remote.headers",
    "memorySearch.remote.headers.Authorization",
    "memorySearch.remote.baseUrl",
    "memorySearch.remote.apikey",
    "memorySearch.remote.timeoutSeconds",
    "memorySearch.remote.batch",
    "memorySearch.remote.batch.enabled",
    "memorySearch.remote",
    "memorySearch.apiKey",
    "memorySearch.provider",
    "memorySearch.sources",
    "memorySearch.extraPaths",
    "memorySearch.query.maxResults",
    "memorySearch.enabled",
    "memorySearch",
    "memory.backend",
    "memory.citations",
    "memory.scope",
    "memory.scope.rules",
    "memory.apiKey",
    "memory.search",
    "memory",
    "models.providers.openai.apiKey",
    "models.providers.openai.headers",
    "models.providers.openai.headers.Authorization",
    "models.providers.openai",
    "models.providers",
    "models",
    "agents.defaults.memorySearch.remote.apiKey",
    "agents.defaults.compaction.memoryFlush.forceFlushTranscriptBytes",
    "agents.defaults.compaction.reserveTokensFloor",
    "agents.entries.a.memory.search.remote.apiKey",
    "agents.list",
    "agents.defaults.workspace",
    "plugins.slots.memory",
    "embedding.api_key",
    "embedding.index",
    "embedding",
]
# Where a string is a place or a name, which has to be shown when all is well.
SHOWN = {
    "agents.defaults.workspace",
    "memory.backend",
    "memorySearch.extraPaths",
    "memorySearch.remote.baseUrl",
    "plugins.slots.memory",
}


def document(place: str, value: Any) -> dict[str, Any]:
    for name in reversed(place.split(".")):
        value = {name: value}
    assert isinstance(value, dict)
    return value


def told(error: BaseException) -> str:
    """All that a log, a debugger's summary or an error tracker shows of an error."""
    shown = "".join(traceback.format_exception(error))
    while error.__context__ or error.__cause__:
        error = error.__context__ or error.__cause__ or error
        shown += repr(error) + str(error.args)
    return shown


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("place", PLACES)
def test_a_planted_key_does_not_come_out(place: str, shape: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    try:
        config = load_config(document(place, shape), environ={})
    except ConfigError as error:
        shown = told(error) + repr(error) + repr(error.problems) + repr(error.__dict__)
    else:
        described = "" if place in SHOWN else f"{config!r} {config.agent()!r} {describe(config)}"
        shown = f"{config.agent().warnings} {described}"
    assert PLANTED not in shown + caplog.text


@pytest.mark.parametrize("name", ["config.json5", "config.toml"])
def test_a_syntax_error_behind_a_key_does_not_show_it(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(f'{{ a: "{PLANTED}", b: [oops }}' if name.endswith("5") else f'a = "{PLANTED}"\nb = oops')

    with pytest.raises(ConfigError) as caught:
        load_config(path, environ={})

    assert PLANTED not in told(caught.value)


def test_a_key_from_the_environment_does_not_come_out_either() -> None:
    remote = {"apiKey": "${KEY}", "headers": {"X": "${KEY}"}, "timeoutSeconds": -1, "baseUrl": "https://${KEY}@h"}

    with pytest.raises(ConfigError) as caught:
        load_config({"memorySearch": {"remote": remote}}, environ={"KEY": PLANTED})
    assert PLANTED not in told(caught.value)

    config = load_config({"memorySearch": {"remote": {**remote, "timeoutSeconds": 1}}}, environ={"KEY": PLANTED})
    secret = config.agent().search.remote.api_key
    assert secret is not None
    assert secret.reveal() == PLANTED
    assert PLANTED not in f"{config!r} {config.agent()!r} {describe(config)} {secret} {secret!r}"


def test_a_backends_section_is_neither_shown_in_the_configuration_nor_in_its_errors() -> None:
    config = load_config(
        {"memory": {"backend": "mine", "mine": {"apiKey": PLANTED, "list": [{"token": PLANTED}]}}}, environ={}
    )

    assert config.agent().backend_sections["mine"]["apiKey"] == PLANTED
    assert PLANTED not in f"{config!r} {config.agent()!r} {describe(config)}"
    with pytest.raises(ConfigError) as caught:
        validate_section("mine", config.agent().backend_sections["mine"], Scope)
    assert PLANTED not in told(caught.value)


def test_a_secret_shows_itself_nowhere_but_where_it_is_asked_for() -> None:
    secret = Secret(PLANTED)

    assert (str(secret), f"{secret}", repr([secret])) == ("Secret(***)", "Secret(***)", "[Secret(***)]")
    assert (secret == Secret(PLANTED), secret == PLANTED, bool(Secret("")), len({secret, Secret(PLANTED)})) == (
        True,
        False,
        False,
        1,
    )
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(secret)
    with pytest.raises(TypeError):
        copy.deepcopy(secret)
    with pytest.raises(TypeError):
        json.dumps(secret)


def test_the_schema_takes_a_string_or_a_reference_for_a_secret() -> None:
    remote = build_config_schema()["$defs"]["Remote"]["properties"]

    assert remote["apiKey"]["anyOf"] == [{"type": "string"}, {"type": "null"}, {"$ref": "#/$defs/SecretRef"}]
    assert remote["headers"]["additionalProperties"]["anyOf"] == [{"type": "string"}, {"$ref": "#/$defs/SecretRef"}]


@pytest.mark.parametrize("env", [{"vars": {"OPENAI_API_KEY": "sk-own"}}, {"OPENAI_API_KEY": "sk-own"}])
def test_a_document_may_set_the_variables_that_it_names(env: dict[str, object]) -> None:
    """As OpenClaw reads its configuration: the process's own environment wins."""
    document = {"env": env, "models": {"providers": {"openai": {"apiKey": "${OPENAI_API_KEY}"}}}}
    for environ, key in (({}, "sk-own"), ({"OPENAI_API_KEY": "sk-outside"}, "sk-outside")):
        found = load_config(document, environ={"HOME": "/home/u", **environ}).agent("main").providers["openai"].api_key
        assert found is not None
        assert found.reveal() == key
    unnamed = load_config({"env": env}, environ={"HOME": "/home/u"}).agent("main")
    assert unnamed.providers == {}
    assert unnamed.search.remote.api_key is None
