"""plugin.json and mcp.json: what the code says, what Agent Plugins 1.0.0 allows, and where they ship."""

from __future__ import annotations

import copy
import json
import re
import tomllib
from typing import Any

import jsonschema
import pluggy
import pytest

import memory_core
from memory_core.config.description import build_config_schema
from memory_core.hookspecs import PROJECT, HostHooks
from memory_core.plugin import MemorySlot, manifest
from memory_core.tools.arguments import TOOLS
from tests.command import REPOSITORY

# The rules of Agent Plugins 1.0.0 in our own words: the top level of plugin.json is closed, everything a vendor adds
# stands under a reverse domain of its own.
TEXT = {"type": "string", "minLength": 1}
PLUGIN_RULES = {
    "type": "object",
    "required": ["$schema", "name"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"const": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"},
        "name": {"type": "string", "pattern": r"^(?!.*(--|\.\.))[a-z0-9.-]{1,64}$"},
        "version": TEXT,
        "description": TEXT,
        "author": {
            "type": "object",
            "required": ["name"],
            "properties": {"name": TEXT, "email": TEXT, "url": TEXT},
            "additionalProperties": False,
        },
        "homepage": TEXT,
        "repository": TEXT,
        "license": TEXT,
        "keywords": {"type": "array", "items": TEXT, "uniqueItems": True},
        "extensions": {
            "type": "object",
            "propertyNames": {"pattern": r"^[a-z0-9-]+(\.[a-z0-9-]+)+$"},
            "additionalProperties": {"type": "object"},
        },
    },
}
STRINGS = {"type": "object", "additionalProperties": {"type": "string"}}
MCP_RULES = {
    "type": "object",
    "required": ["$schema", "mcpServers"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"const": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json"},
        "mcpServers": {
            "type": "object",
            "additionalProperties": {
                "oneOf": [
                    {
                        "type": "object",
                        "required": ["type", "command"],
                        "additionalProperties": False,
                        "properties": {
                            "type": {"const": "stdio"},
                            "command": TEXT,
                            "args": {"type": "array", "items": {"type": "string"}},
                            "env": STRINGS,
                            "cwd": TEXT,
                        },
                    },
                    {
                        "type": "object",
                        "required": ["type", "url"],
                        "additionalProperties": False,
                        "properties": {"type": {"const": "streamable-http"}, "url": TEXT, "headers": STRINGS},
                    },
                ]
            },
        },
    },
}

PLUGIN = json.loads((REPOSITORY / "plugin.json").read_text(encoding="utf-8"))
MCP = json.loads((REPOSITORY / "mcp.json").read_text(encoding="utf-8"))
OURS = PLUGIN["extensions"]["dev.memory-core"]


@pytest.mark.parametrize(("document", "rules"), [(PLUGIN, PLUGIN_RULES), (MCP, MCP_RULES)])
def test_it_keeps_the_rules_of_the_standard(document: Any, rules: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(rules)
    jsonschema.validate(document, rules)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "memory"},
        {"name": "Memory"},
        {"name": "memory--core"},
        {"name": "a..b"},
        {"name": "a" * 65},
        {"name": None},
        {"author": "me"},
        {"extensions": {"memory": {}}},
        {"$schema": "https://json-schema.org/draft/2020-12/schema"},
    ],
)
def test_the_rules_refuse_what_the_standard_does(change: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(copy.deepcopy(PLUGIN) | change, PLUGIN_RULES)


@pytest.mark.parametrize(
    ("name", "made"), [("plugin.json", manifest.make_plugin_json), ("mcp.json", manifest.make_mcp_json)]
)
def test_the_file_is_what_the_code_says(name: str, made: Any) -> None:
    text = (REPOSITORY / name).read_text(encoding="utf-8")
    assert text == manifest.to_text(made()), "run: python -m memory_core.plugin.manifest"


def test_a_manifest_is_written_whole(tmp_path: Any) -> None:
    manifest.write(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mcp.json", "plugin.json"]
    assert json.loads((tmp_path / "plugin.json").read_text(encoding="utf-8")) == MemorySlot().manifest()


def test_our_extension_says_what_a_host_needs() -> None:
    assert (OURS["id"], OURS["kind"]) == ("memory-core", "memory")
    assert PLUGIN["version"] == memory_core.__version__
    assert OURS["configSchema"] == build_config_schema()
    jsonschema.Draft202012Validator.check_schema(OURS["configSchema"])
    jsonschema.validate({"memory": {"citations": "on"}, "agents": {"list": [{"id": "a"}]}}, OURS["configSchema"])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"memory": {"citation": "on"}}, OURS["configSchema"])
    assert OURS["tools"] == [dict(schema) for schema in TOOLS.values()]
    for tool in OURS["tools"]:
        jsonschema.Draft202012Validator.check_schema(tool["parameters"])
        assert tool["parameters"]["additionalProperties"] is False


def test_the_hooks_it_names_are_those_that_exist() -> None:
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(HostHooks)
    manager.register(MemorySlot())
    manager.check_pending()
    assert OURS["hooks"] == [name for name in vars(HostHooks) if not name.startswith("_")]
    assert all(getattr(manager.hook, name).get_hookimpls() for name in OURS["hooks"])
    assert all(callable(getattr(MemorySlot, name)) for name in OURS["hooks"])


def test_what_it_points_to_is_in_the_package() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert OURS["entryPoint"] == project["entry-points"]["memory_core.slots"]["memory-core"]
    assert MCP["mcpServers"]["memory-core"] == {
        "type": "stdio",
        "command": "memory-core",
        "args": ["mcp", "--state-dir", "${PLUGIN_DATA}"],
    }
    assert project["scripts"]["memory-core"] == "memory_core.cli.main:main"
    assert not re.search(r"\$\{", json.dumps(MCP["mcpServers"]["memory-core"]["command"]))
