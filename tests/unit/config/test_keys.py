"""Every key of the configuration: its default, an override, its bounds, a wrong type; and the schema beside it."""

from __future__ import annotations

import json
import math
import re
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_core.config.agent import AgentConfig
from memory_core.config.description import build_config_schema, describe
from memory_core.config.fields import Secret
from memory_core.config.load import load_config
from memory_core.config.settings import ExtraPath
from memory_core.errors import ConfigError
from tests import generated


class Key(NamedTuple):
    """One row: the key, its default, values that load, and values that do not with a part of what is said of them."""

    key: str
    default: Any
    good: list[Any]
    bad: list[tuple[Any, str]]


def switch(key: str, default: bool) -> Key:
    return Key(key, default, [not default], [("yes", "expected true or false, not a string"), (None, "not null")])


def whole(key: str, default: int | None, low: int, high: int | None = None) -> Key:
    bad: list[tuple[Any, str]] = [
        (low - 1, f"not {low - 1}"),
        ("6", "a whole number, not a string"),
        (6.5, "whole number"),
    ]
    bad += [(True, "not a boolean"), (float("inf"), "expected")]
    bad += [] if high is None else [(high + 1, f"expected at most {high}, not {high + 1}")]
    return Key(key, default, [low, low + 1, low + 2 if high is None else high], bad)


def number(key: str, default: float | None, low: float, high: float | None = None, *, above: bool = False) -> Key:
    bad: list[tuple[Any, str]] = [(low - 0.5, f"not {low - 0.5:g}"), ("0.5", "a number, not a string"), ([1], "a list")]
    bad += [(float("nan"), "expected"), (float("inf"), "expected")]
    bad += [(low, f"expected more than {low:g}, not {low:g}")] if above else []
    bad += [] if high is None else [(high + 1, f"expected at most {high:.15g}, not {high + 1:.15g}")]
    return Key(key, default, [low + 0.25, 1 if high is None else high], bad)


def text(key: str, default: str | None = None, *, empty: bool = True) -> Key:
    bad: list[tuple[Any, str]] = [(5, "expected a string, not a number"), (["a"], "not a list")]
    bad += [] if empty else [("", "a string that is not empty, not an empty string")]
    return Key(key, default, ["some text", "日本語"], bad)


def choice(key: str, *choices: str) -> Key:
    return Key(key, choices[0], list(choices), [("nonsense", f'expected one of "{choices[0]}"'), (3, "not a number")])


REMOTES = ("openai", "gemini", "openrouter", "voyage", "mistral", "ollama", "openai-compatible", "litellm", "static")
KEYS = [
    Key("memory.backend", "builtin", ["qmd", "lancedb"], [(5, "expected a string"), ("", "not an empty string")]),
    number("memory.sharing.intervalMinutes", 0, 0, 10_080),
    choice("memory.citations", "auto", "on", "off"),
    Key(
        "memory.layers",
        {},
        [{"person": "~/notes"}, {"person": "", "team": "/srv/handbook"}],
        [([], "an object, not a list"), ({"team": 5}, "a string")],
    ),
    choice("memory.scope.default", "allow", "deny"),
    Key(
        "memory.scope.rules",
        [],
        [
            [{"action": "deny"}],
            [{"action": "allow", "match": {"channel": "c", "chatType": "direct", "keyPrefix": "agent:"}}],
        ],
        [({}, "expected a list, not an object"), ([{}], "is required"), ([{"action": "maybe"}], '"allow", "deny"')],
    ),
    switch("memorySearch.enabled", default=True),
    text("memorySearch.timeZone", empty=False),
    Key(
        "memorySearch.sources",
        ["memory"],
        [[], ["workspace"], ["memory", "workspace"]],
        [(["notes"], 'expected one of "memory", "workspace", "sessions"'), ("memory", "expected a list, not a string")],
    ),
    Key(
        "memorySearch.extraPaths",
        [],
        [["../docs"], [{"path": "/srv/x", "pattern": "*.md"}, "~/y"]],
        [([5], "a string or an object, not a number"), ([""], "not empty"), ([{}], "is required"), ("x", "a list")],
    ),
    Key(
        "memorySearch.exclude.files",
        ["IDENTITY.md", "SOUL.md", "USER.md", "AGENTS.md", "TOOLS.md"],
        [[], ["A.md"]],
        [([1], "expected a string, not a number"), ("A.md", "expected a list")],
    ),
    choice("memorySearch.provider", "auto", "local", *REMOTES, "none"),
    choice("memorySearch.fallback", "none", "local", *REMOTES),
    text("memorySearch.model", empty=False),
    whole("memorySearch.outputDimensionality", None, 64, 4096),
    text("memorySearch.inputType"),
    text("memorySearch.queryInputType"),
    text("memorySearch.documentInputType"),
    text("memorySearch.remote.baseUrl"),
    text("memorySearch.remote.apiKey"),
    Key("memorySearch.remote.headers", {}, [{"X-A": "b"}], [([], "an object, not a list"), ({"X-A": 5}, "a string")]),
    number("memorySearch.remote.timeoutSeconds", 60, 0, 86_400, above=True),
    switch("memorySearch.remote.batch.enabled", default=False),
    switch("memorySearch.remote.batch.wait", default=True),
    whole("memorySearch.remote.batch.concurrency", 2, 1, 32),
    whole("memorySearch.remote.batch.pollIntervalMs", 2000, 1, 86_400_000),
    number("memorySearch.remote.batch.timeoutMinutes", 60, 0, 10_080, above=True),
    text("memorySearch.local.modelPath"),
    text("memorySearch.local.modelCacheDir"),
    whole("memorySearch.local.contextTokens", None, 16),
    text("memorySearch.store.path", empty=False),
    switch("memorySearch.store.vector.enabled", default=True),
    text("memorySearch.store.vector.extensionPath"),
    Key(
        "memorySearch.chunking.tokens",
        400,
        [81, 1000],
        [(0, "more than 0, not 0"), (80, "smaller than"), ("x", "not a")],
    ),
    Key(
        "memorySearch.chunking.overlap",
        80,
        [0, 399],
        [(-1, "at least 0"), (400, "smaller than tokens"), (1.5, "whole")],
    ),
    switch("memorySearch.sync.onSessionStart", default=True),
    switch("memorySearch.sync.onSearch", default=True),
    whole("memorySearch.sync.onSearchBudgetMs", 1500, 0, 86_400_000),
    switch("memorySearch.sync.watch", default=True),
    whole("memorySearch.sync.watchDebounceMs", 1500, 0, 86_400_000),
    number("memorySearch.sync.intervalMinutes", 0, 0, 10_080),
    whole("memorySearch.sync.sessions.deltaBytes", 100_000, 0),
    whole("memorySearch.sync.sessions.deltaMessages", 50, 0),
    whole("memorySearch.query.maxResults", 6, 1, 100),
    number("memorySearch.query.minScore", 0.35, 0, 1),
    whole("memorySearch.query.maxSnippetChars", 700, 50),
    switch("memorySearch.query.explain", default=False),
    switch("memorySearch.query.related", default=False),
    whole("memorySearch.query.embedTimeoutMs", 4000, 1, 86_400_000),
    switch("memorySearch.query.hybrid.enabled", default=True),
    number("memorySearch.query.hybrid.vectorWeight", None, 0),
    number("memorySearch.query.hybrid.textWeight", None, 0),
    whole("memorySearch.query.hybrid.candidateMultiplier", 4, 1, 20),
    switch("memorySearch.cache.enabled", default=True),
    whole("memorySearch.cache.maxEntries", 50_000, 0),
    switch("memorySearch.activity.enabled", default=True),
    switch("memorySearch.history.enabled", default=True),
    Key("memorySearch.tidy.agentMayApply", None, [True, False], [("yes", "expected true or false"), (1, "not a")]),
    number("memorySearch.tidy.interval", 0, 0, 24 * 366),
    number("memorySearch.history.retentionDays", None, 0, above=True),
    Key(
        "memorySearch.history.maxBytes",
        "200mb",
        [0, 1_000_000, "500kb", "1.5 GB"],
        [
            (True, "a whole number or a string, not a boolean"),
            (-1, "a number of bytes"),
            ("2 apples", 'such as "500kb"'),
        ],
    ),
    switch("memorySearch.items.enabled", False),
    text("memorySearch.items.scope", "default", empty=False),
    choice("memorySearch.items.similarity", "cosine", "inverseDistance"),
    switch("memorySearch.items.capture.enabled", False),
    whole("memorySearch.items.capture.maxTokens", 4000, 200, 100_000),
    switch("memorySearch.items.capture.useModel", True),
    switch("memorySearch.items.capture.useProgram", False),
    whole("memorySearch.items.capture.modelCalls", 1, 1, 100),
    whole("memorySearch.items.capture.modelTokens", 8000, 3000, 200_000),
    switch("memorySearch.items.capture.journal", False),
    number("memorySearch.items.capture.retentionDays", 90, 0, above=True),
    switch("memorySearch.items.capture.notes", False),
    switch("memorySearch.recall.enabled", False),
    whole("memorySearch.recall.timeoutMs", 300, 1, 60_000),
    choice("memorySearch.recall.trust", "all", "user", "agent"),
    switch("memorySearch.experimental.sessionMemory", default=False),
    whole("compaction.reserveTokensFloor", 20_000, 0),
    switch("compaction.memoryFlush.enabled", default=True),
    whole("compaction.memoryFlush.softThresholdTokens", 4000, 0),
    Key(
        "compaction.memoryFlush.forceFlushTranscriptBytes",
        "2mb",
        [0, 1_000_000, "500kb", "1.5 GB"],
        [
            (True, "a whole number or a string, not a boolean"),
            (-1, "a number of bytes"),
            ("2 apples", 'such as "500kb"'),
        ],
    ),
    text("compaction.memoryFlush.prompt", empty=False),
    text("compaction.memoryFlush.systemPrompt", empty=False),
]
BY_KEY = {row.key: row for row in KEYS}
# Keys with which a value is refused that would be fine by itself, and sources that are dropped again.
RELATED = {"memorySearch.chunking.tokens", "memorySearch.chunking.overlap"}


def spelt(key: str) -> str:
    """The key where a document of the Moltbot dialect has it."""
    return key if key.partition(".")[0] == "memory" else f"agents.defaults.{key}"


def document(*settings: tuple[str, Any]) -> dict[str, Any]:
    """A document with those settings, each under its dotted key."""
    whole_document: dict[str, Any] = {}
    for key, value in settings:
        *outer, last = spelt(key).split(".")
        here = whole_document
        for name in outer:
            here = here.setdefault(name, {})
        here[last] = value
    return whole_document


def to_plain(value: object) -> Any:
    """A setting's value as JSON has it, keys revealed."""
    if isinstance(value, Secret):
        return value.reveal()
    if isinstance(value, tuple):
        return [to_plain(each) for each in value]
    if is_dataclass(value):
        given = {to_camel(item.name): to_plain(getattr(value, item.name)) for item in fields(value)}
        return {name: each for name, each in given.items() if each not in (None, {})}
    return {name: to_plain(each) for name, each in value.items()} if isinstance(value, dict) else value


def to_camel(name: str) -> str:
    return re.sub("_(.)", lambda found: found[1].upper(), name)


def snake(name: str) -> str:
    return re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name)


def read(config: AgentConfig, key: str) -> Any:
    """Return the value of a key in an agent's configuration."""
    root, *path = key.split(".")
    value: Any = getattr(config, {"memorySearch": "search"}.get(root, root))
    for name in path:
        value = getattr(value, snake(name))
    return to_plain(value)


def written(key: str, value: Any) -> Any:
    """A value as it comes back: a bare extra path has the default pattern, and excludes nothing."""
    if key != "memorySearch.extraPaths":
        return value
    usual = {"pattern": ExtraPath(path="x").pattern, "exclude": []}
    return [{**usual, **({"path": each} if isinstance(each, str) else each)} for each in value]


def cases(kind: str) -> list[Any]:
    return [pytest.param(row, each, id=f"{row.key}={each!r}") for row in KEYS for each in getattr(row, kind)]


@pytest.mark.parametrize("row", KEYS, ids=lambda row: row.key)
def test_the_default_is_the_documented_one(row: Key) -> None:
    assert read(load_config({}, environ={}).agent(), row.key) == row.default


@pytest.mark.parametrize(("row", "value"), cases("good"))
def test_a_valid_value_is_read_back_and_is_valid_in_the_schema(row: Key, value: Any) -> None:
    config = document((row.key, value))

    assert read(load_config(config, environ={}).agent(), row.key) == written(row.key, value)
    VALIDATOR.validate(config)


@pytest.mark.parametrize(("row", "case"), cases("bad"))
def test_an_invalid_value_is_one_problem_with_the_key_as_the_document_spells_it(row: Key, case: Any) -> None:
    value, told = case
    with pytest.raises(ConfigError) as caught:
        load_config(document((row.key, value)), environ={})

    (problem,) = caught.value.problems
    assert problem.key.startswith(spelt(row.key)) or row.key in RELATED
    assert told in problem.message
    assert str(problem) in str(caught.value)


@pytest.mark.parametrize(("row", "case"), cases("bad"))
def test_what_is_refused_is_refused_by_the_schema_too(row: Key, case: Any) -> None:
    value, told = case
    not_finite = isinstance(value, float) and not math.isfinite(value)
    if not (not_finite or any(words in told for words in ("smaller than", "of bytes", "500kb"))):
        with pytest.raises(jsonschema.ValidationError):
            VALIDATOR.validate(document((row.key, value)))


SCHEMA = build_config_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
SECTIONS = sorted({row.key.rpartition(".")[0] for row in KEYS} - {"compaction"})


@pytest.mark.parametrize("section", SECTIONS)
def test_an_unknown_key_is_refused_and_the_nearest_known_one_named(section: str) -> None:
    known = next(row.key for row in KEYS if row.key.rpartition(".")[0] == section).rpartition(".")[2]
    config = document((f"{section}.{known}x", 1))

    with pytest.raises(ConfigError) as caught:
        load_config(config, environ={})

    (problem,) = caught.value.problems
    assert problem.key == f"{spelt(section)}.{known}x"
    assert problem.message == f'unknown key; did you mean "{known}"?'
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(config)


@pytest.mark.parametrize("section", [*SECTIONS, "compaction"])
def test_a_section_that_is_no_object_is_refused(section: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"{spelt(section)}: expected an object, not a list")):
        load_config(document((section, [])), environ={})


def test_every_setting_of_the_classes_is_a_row_here_and_in_the_table_and_described() -> None:
    described = [row.key for row in describe(load_config({}, environ={}))]
    settings = [key for key in described if key.partition(".")[0] in {"memory", "memorySearch", "compaction"}]

    assert sorted(settings) == sorted(BY_KEY)
    table = generated.settings()
    for key in settings:
        assert f"| `{key}` |" in table
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 4 for line in table.splitlines() if line.startswith("|"))
    meaning = "Hits, at most. From 6 up, questions asking for a list get 1.5 times as many. 1 to 100."
    assert f"| `memorySearch.query.maxResults` | `6` | {meaning} |" in table
    assert "unset" in table
    assert '"auto" \\| "on" \\| "off"' in table


def test_a_key_in_another_section_or_spelling_is_told_where_it_belongs() -> None:
    with pytest.raises(ConfigError) as caught:
        load_config({"memorySearch": {"maxResults": 3, "chunk_tokens": 4, "on_search": True}}, environ={})

    assert [problem.message for problem in caught.value.problems] == [
        'unknown key; did you mean "query.maxResults"?',
        'unknown key; did you mean "chunking"?',
        'unknown key; did you mean "sync.onSearch"?',
    ]
    with pytest.raises(ConfigError, match='unknown key; expected one of "enabled", "maxEntries"'):
        load_config({"memorySearch": {"cache": {"zzz": 1}}}, environ={})


def test_all_problems_are_told_in_the_order_of_the_document() -> None:
    config = {
        "agents": {
            "list": [
                {"id": "a", "memorySearch": {"enabled": 1}},
                {"id": "b", "memorySearch": {"query": {"maxResults": 0}}},
            ],
            "defaults": {"memorySearch": {"zeal": 1, "provider": "opneai"}},
        },
        "memory": {"citations": "of"},
    }

    with pytest.raises(ConfigError) as caught:
        load_config(config, environ={})

    assert [problem.key for problem in caught.value.problems] == [
        "agents.list[0].memorySearch.enabled",
        "agents.list[1].memorySearch.query.maxResults",
        "agents.defaults.memorySearch.zeal",
        "agents.defaults.memorySearch.provider",
        "memory.citations",
    ]
    assert 'did you mean "openai"?' in str(caught.value)


@pytest.mark.parametrize(
    ("given", "meant"), [("gemni", "gemini"), ("Open_AI", "openai"), ("nonesuch", ""), ("cloud", "")]
)
def test_only_a_near_name_is_suggested_for_a_value(given: str, meant: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config({}, environ={"MEMORY_CORE_PROVIDER": given})

    assert ("did you mean" in str(caught.value)) is bool(meant)
    assert meant in str(caught.value)


@settings(deadline=None)  # the first one builds the validators
@given(st.data())
def test_any_set_of_valid_settings_loads_and_round_trips(data: st.DataObject) -> None:
    rows = data.draw(
        st.lists(st.sampled_from([row for row in KEYS if row.key not in RELATED]), unique_by=lambda row: row.key)
    )
    given_values = {row.key: data.draw(st.sampled_from(row.good)) for row in rows}
    config = document(*given_values.items())

    loaded = load_config(config, environ={}).agent()

    VALIDATOR.validate(config)
    for row in KEYS:
        assert read(loaded, row.key) == written(row.key, given_values.get(row.key, row.default))
    again = load_config(json.loads(json.dumps(config)), environ={}).agent()
    assert again == loaded


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
JUNK = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5)
BEYOND_SCHEMA = {
    *RELATED,
    "memory.layers",
    "memorySearch.history.maxBytes",
    "compaction.memoryFlush.forceFlushTranscriptBytes",
}


@settings(deadline=None)  # every key at once
@given(JUNK.filter(lambda junk: "${" not in str(junk)))
def test_whatever_stands_at_a_key_loads_exactly_when_the_schema_allows_it(junk: Any) -> None:
    for row in KEYS:
        if row.key not in BEYOND_SCHEMA:
            config = document((row.key, junk))
            assert loads(config) == VALIDATOR.is_valid(config), row.key


OBJECTS = [
    *["plugins", "plugins.slots", "plugins.slots.memory", "memory", "memory.qmd", "memory.search", "memorySearch"],
    *[
        "agents",
        "agents.defaults",
        "agents.defaults.workspace",
        "agents.defaults.memory",
        "agents.defaults.memorySearch",
    ],
    *["agents.defaults.compaction", "agents.defaults.compaction.memoryFlush", "agents.list", "agents.entries"],
    *["agents.entries.main", "models", "models.providers", "models.providers.openai", "models.providers.openai.apiKey"],
]


@pytest.mark.parametrize("key", OBJECTS)
@settings(max_examples=30, deadline=None)
@given(junk=JUNK)
def test_whatever_stands_for_an_object_loads_exactly_when_the_schema_allows_it(key: str, junk: Any) -> None:
    config: Any = junk
    for name in reversed(key.split(".")):
        config = {name: config}

    assert loads(config) == VALIDATOR.is_valid(config)


def loads(config: dict[str, Any]) -> bool:
    try:
        load_config(config, environ={})
    except ConfigError:
        return False
    return True


def test_the_schema_is_closed_exactly_where_unknown_keys_are_errors() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    foreign = {
        "gateway": {"port": 1},
        "plugins": {"x": 1, "slots": {"x": "y", "memory": "NONE"}},
        "models": {"x": 1, "providers": {"anthropic": {"x": 1, "apiKey": {"source": "env"}}}},
        "agents": {
            "x": 1,
            "defaults": {"x": 1, "compaction": {"mode": "safeguard"}},
            "list": [{"id": "a", "x": 1}],
            "entries": {"b": {"x": 1}},
        },
    }
    VALIDATOR.validate(foreign)
    assert load_config(foreign, environ={}).agents == ("a", "b")
    for strict in ("memory", "memorySearch"):
        with pytest.raises(jsonschema.ValidationError):
            VALIDATOR.validate({strict: {"x": 1}})
        with pytest.raises(ConfigError):
            load_config({strict: {"x": 1}}, environ={})


def test_the_schema_says_what_a_key_means_and_its_default() -> None:
    query = SCHEMA["$defs"]["QuerySettings"]["properties"]

    assert query["maxResults"]["default"] == 6
    assert (query["maxResults"]["minimum"], query["maxResults"]["maximum"]) == (1, 100)
    assert query["minScore"]["description"]
