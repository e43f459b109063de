"""One entry in the configuration of another program: nothing else changes, and taking it out gives back what was there."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pyjson5
import pytest
import tomlkit
import yaml
from hypothesis import given
from hypothesis import strategies as st

from memory_core.config.editing import NotEditable, put_entry, read_document, take_entry

KEYS = ("mcp", "servers", "memory-core")
ENTRY = {"command": "/usr/bin/memory-core", "args": ["--workspace", '/a "b" c', "mcp"]}

JSON_DOCUMENTS = [
    "",
    "{}",
    "{ }\n",
    '{"a": 1}',
    '{"a": 1,}',
    '{\n  "a": 1\n}\n',
    '{\n\t"a": 1, // why\n\t"mcp": {}\n}\n',
    "// first\n{\n  a: 'x', /* y */ b: [1, {c: 2,},],\n}\n// last\n",
    '{\n  "mcp": {\n    "servers": {\n      "other": {"url": "https://x/#//y"} // mine\n    }\n  }\n}',
    '{"mcp": {"servers": {"memory-core": {"command": "old"}, "other": 1}}, "z": null}',
    '{"mcp": {"servers": {"other": 1, "memory-core": {"command": "old"}}}, "z": null}',
    "{\n  // only a comment\n}",
    '{"mcp": {"servers": {\n    // nothing yet\n  }}}',
]
TOML_DOCUMENTS = [
    "",
    'model = "x" # why\n',
    'model = "x"',
    '[mcp_servers.other]\ncommand = "y"\n# mine\n\n[profiles.p]\nmodel = "z"\n',
    '[mcp_servers.memory-core]\ncommand = "old"\n\n# about the next\n[mcp_servers.other]\ncommand = "y"\n',
    '[mcp_servers."memory-core"] # ours\ncommand = "old"\n',
    "mcp_servers = {other = {command = 'y'}} # mine\n",
    '[mcp_servers.other]\ncommand = "y"\n\n[z]\n\n[mcp_servers.third] # mine\ncommand = "z"\n',
    'mcp_servers.other.command = "y" # mine\n',
]
YAML_DOCUMENTS = [
    "",
    "a: 1\n",
    "a: 1",
    "memory:\n  # who\n  provider: honcho # old\n  x: 1\nz: 2\n",
    "memory:\n  x: 1\n\nz:\n  provider: other\n",
    "memory: # ours\n    x: 1\n",
    "memory:",
    "\n# ours\n",
    "memory: {provider: honcho} # old\n",
    "memory:\n  deep:\n    provider: honcho # who\n",
    "z:\n    - a\n    - b:  yes # who\nmemory:\n    x: 'q'\n\n# old\ny: {a: 1, b: [2]}\n",
]


@pytest.mark.parametrize("text", JSON_DOCUMENTS)
def test_json_keeps_all_that_is_not_ours(text: str) -> None:
    before = pyjson5.decode(text) if text.strip() else {}
    put = put_entry(text, ".json", KEYS, ENTRY)
    after = pyjson5.decode(put)
    assert after["mcp"]["servers"].pop("memory-core") == ENTRY
    assert {**after, "mcp": {}} == {**before, "mcp": {}}
    for comment in ("// why", "/* y */", "// first", "// last", "// mine", "// only a comment", "// nothing yet"):
        assert put.count(comment) == text.count(comment)
    taken = take_entry(put, ".json", KEYS)
    assert "memory-core" not in taken
    for comment in ("// why", "/* y */", "// first", "// last", "// mine"):
        assert taken.count(comment) == text.count(comment)


def test_what_is_written_is_json() -> None:
    assert json.loads(put_entry('{\n    "a": 1\n}\n', ".json", KEYS, ENTRY))["mcp"]["servers"]["memory-core"] == ENTRY


def test_an_entry_looks_like_those_beside_it() -> None:
    before = '{\n    "a": 1, // one\n    "b": 2 // two\n}\n'
    assert put_entry(before, ".jsonc", ("c",), {"d": 3}) == (
        '{\n    "a": 1, // one\n    "b": 2, // two\n    "c": {\n        "d": 3\n    }\n}\n'
    )
    assert take_entry(put_entry(before, ".jsonc", ("c",), {"d": 3}), ".jsonc", ("c",)) == before


@pytest.mark.parametrize("text", TOML_DOCUMENTS)
def test_toml_keeps_all_that_is_not_ours(text: str) -> None:
    keys = ("mcp_servers", "memory-core")
    put = put_entry(text, ".toml", keys, ENTRY)
    assert read_document(put, ".toml")["mcp_servers"]["memory-core"] == ENTRY
    assert put_entry(put, ".toml", keys, ENTRY) == put
    taken = take_entry(put, ".toml", keys)
    for comment in ("# why", "# mine", "# about the next"):
        assert taken.count(comment) == text.count(comment)
    if "memory-core" not in text and text[-1:] in {"\n", ""}:
        assert taken == text


def test_what_is_added_stands_above_the_comments_of_what_follows() -> None:
    toml = '[mcp_servers.memory-core]\ncommand = "x"\n\n# about the next\n[z]\n'
    put = put_entry(toml, ".toml", ("mcp_servers", "memory-core"), {"command": "x", "args": []})
    assert put == toml.replace('"x"\n', '"x"\nargs = []\n')
    assert take_entry(toml, ".toml", ("mcp_servers", "memory-core")) == "# about the next\n[z]\n"
    text = "memory:\n  x: 1\n\n# about the next\nz: 2\n"
    put = put_entry(text, ".yaml", ("memory", "provider"), "memory-core")
    assert put == text.replace("x: 1\n", "x: 1\n  provider: memory-core\n")
    assert take_entry(put, ".yaml", ("memory", "provider")) == text


@pytest.mark.parametrize("text", YAML_DOCUMENTS)
def test_yaml_keeps_all_that_is_not_ours(text: str) -> None:
    keys = ("memory", "provider")
    put = put_entry(text, ".yaml", keys, "memory-core")
    assert put_entry(put, ".yaml", keys, "memory-core") == put
    assert read_document(put, ".yaml")["memory"]["provider"] == "memory-core"
    for comment in ("# who", "# old", "# ours"):
        assert put.count(comment) == text.count(comment)
    assert "memory-core" not in take_entry(put, ".yaml", keys)


@pytest.mark.parametrize(
    ("suffix", "text", "keys"),
    [
        (".json", '{"mcp": 7}', KEYS),
        (".json", "[]", KEYS),
        (".json", '{"mcp": ', KEYS),
        (".toml", "mcp_servers = 7\n", ("mcp_servers", "memory-core")),
        (".toml", "= 7", ("mcp_servers", "memory-core")),
        (".yaml", "memory: [provider]\n", ("memory", "provider")),
        (".yaml", "a: 1\na: 2\n", ("memory", "provider")),
        (".yaml", "a: [", ("memory", "provider")),
    ],
)
def test_what_cannot_be_changed_without_a_risk_is_refused(suffix: str, text: str, keys: tuple[str, ...]) -> None:
    value: Any = "memory-core" if suffix == ".yaml" else ENTRY
    with pytest.raises(NotEditable):
        put_entry(text, suffix, keys, value)


def test_an_object_is_emptied_whatever_comments_stand_in_it() -> None:
    text = '{\n  memory: { // mine\n    provider: "none",\n    // few\n    query: {maxResults: 3} }\n}\n'
    assert read_document(put_entry(text, ".json5", ("memory",), {}), ".json5") == {"memory": {}}


NAMES = st.text("abc'\"\\ é/#", min_size=1, max_size=4)
DOCUMENTS = st.dictionaries(
    NAMES,
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | NAMES,
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
        max_leaves=6,
    ),
    max_size=3,
)


@given(document=DOCUMENTS, indent=st.sampled_from([None, 2, "\t"]))
def test_any_document_comes_back_as_it_was(document: dict[str, Any], indent: int | str | None) -> None:
    text = json.dumps(document, indent=indent, ensure_ascii=False)
    put = put_entry(text, ".json", KEYS, ENTRY)
    assert json.loads(put) == {**document, "mcp": {"servers": {"memory-core": ENTRY}}}
    assert json.loads(take_entry(put, ".json", KEYS)) == document


@given(document=DOCUMENTS)
def test_any_yaml_says_the_same_besides(document: dict[str, Any]) -> None:
    text = yaml.safe_dump(document, allow_unicode=True)
    put = put_entry(text, ".yaml", ("memory", "provider"), "memory-core")
    assert yaml.safe_load(put) == {**document, "memory": {"provider": "memory-core"}}
    assert read_document(take_entry(put, ".yaml", ("memory", "provider")), ".yaml") == document


def leave_out_null(value: Any) -> Any:
    """TOML has no null."""
    if isinstance(value, dict):
        return {key: leave_out_null(each) for key, each in value.items() if each is not None}
    return [leave_out_null(each) for each in value if each is not None] if isinstance(value, list) else value


@given(document=DOCUMENTS.map(leave_out_null))
def test_any_toml_comes_back_as_it_was(document: dict[str, Any]) -> None:
    text = tomlkit.dumps(document)
    put = put_entry(text, ".toml", KEYS, ENTRY)
    assert tomllib.loads(put) == {**document, "mcp": {"servers": {"memory-core": ENTRY}}}
    assert tomllib.loads(take_entry(put, ".toml", KEYS)) == document
