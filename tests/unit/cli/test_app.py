"""How a command line is read: names of commands, options before and after them, text like options, and wrong usage."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable

import click
import pytest
from click.shell_completion import ShellComplete

from memory_core.cli import app
from memory_core.cli.main import main
from tests.generated import list_commands

Parse = Callable[[str], click.Context]


@pytest.fixture
def parse(monkeypatch: pytest.MonkeyPatch) -> Parse:
    """Reads a line and returns the context of its command, which is not run."""

    def read(line: str) -> click.Context:
        contexts: list[click.Context] = []
        monkeypatch.setattr(app.Command, "invoke", lambda _, context: contexts.append(context))
        app.run(shlex.split(line))
        return contexts[0]

    return read


@pytest.mark.parametrize(
    "line",
    [
        "--workspace /w --json --agent Ada {}",
        "{} --workspace /w --json --agent Ada",
        "--workspace /v --agent Ada {} --json --workspace /w",
        "--json {} --agent=Ada --workspace=/w",
    ],
)
@pytest.mark.parametrize("command", ["search boiler", "items list", "history purge --match x", "config check"])
def test_the_options_of_every_command_stand_before_or_after_it(parse: Parse, line: str, command: str) -> None:
    assert parse(line.format(command)).obj == app.Options(agent="Ada", workspace="/w", json=True)


def test_the_options_of_every_command_stand_between_the_words_of_a_group(parse: Parse) -> None:
    assert parse("items --json list --agent Ada").obj == app.Options(agent="Ada", json=True)


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("reindex --force", "reindex"),
        ("history", "history"),
        ("history MEMORY.md", "history"),
        ("history purge --match x", "history purge"),
        ("--json history import-git", "history import-git"),
        ("items list", "items list"),
    ],
)
def test_a_command_is_found_by_its_name_of_one_word_or_two(parse: Parse, line: str, path: str) -> None:
    assert parse(line).command_path == f"{app.PROGRAM} {path}"


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("search index items --json status", "query", ("index", "items", "status")),
        ("search -5 degrees", "query", ("-5", "degrees")),
        ("add '- buy milk' --longterm", "text", ("- buy milk",)),
        ("add '-not an option: a=b\nc'", "text", ("-not an option: a=b\nc",)),
        ("add -- --longterm", "text", ("--longterm",)),
        ("get '- odd.md'", "path", "- odd.md"),
        ("get MEMORY.md --from -3", "start", -3),
        ("mcp --http", "http", "127.0.0.1"),
        ("mcp --http 0.0.0.0:80", "http", "0.0.0.0:80"),
        ("mcp", "http", None),
        ("hook", "host", "claude-code"),
        ("items add x --tag a --tag b", "tags", ("a", "b")),
    ],
)
def test_arguments_keep_what_was_typed(parse: Parse, line: str, name: str, value: object) -> None:
    assert parse(line).params[name] == value


def test_a_folder_with_a_space_is_an_options_value(parse: Parse) -> None:
    options = parse("--workspace='/my notes' search x --config='/a b.json5'").obj
    assert (options.workspace, options.config) == ("/my notes", "/a b.json5")


@pytest.mark.parametrize(
    ("line", "message", "action"),
    [
        ("search x --limit 3", "no such option", "Try: memory-core search --help"),
        ("items list --all", "no such option", "Try: memory-core items list --help"),
        ("append x", "there is no command 'append'; did you mean 'add'?", "Try: memory-core --help"),
        ("serch x", "there is no command 'serch'; did you mean 'search'?", "Try: memory-core --help"),
        ("items lst", "there is no command 'lst'; did you mean 'list'?", "Try: memory-core items --help"),
        ("search", "missing argument 'QUERY...'", "Try: memory-core search --help"),
        ("search x --max-results y", "invalid value for '--max-results': 'y'", "Try: memory-core search --help"),
        ("items add x --kind y", "invalid value for '--kind': 'y'", "Try: memory-core items add --help"),
        ("items --agent main", "missing command", "Try: memory-core items --help"),
        ("get a b", "got unexpected extra argument", "Try: memory-core get --help"),
        ("history purge", "missing option '--match'", "Try: memory-core history purge --help"),
    ],
)
def test_wrong_usage_is_one_line_that_names_the_help_of_its_command_also_as_json(
    line: str, message: str, action: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--json", *shlex.split(line), "--debug"]) == 2
    shown = capsys.readouterr()
    said = json.loads(shown.out)
    assert (said["error"].startswith(message), said["action"]) == (True, action)
    assert shown.err.count("\n") == 1
    assert shown.err.startswith(f"memory-core: {message}")


@pytest.mark.parametrize(("path", "command"), list_commands())
def test_every_command_has_a_help_that_shows_what_it_takes(
    path: str, command: click.Command, capsys: pytest.CaptureFixture[str]
) -> None:
    for asked in ("--help", "-h"):
        assert main([*path.split(), asked]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert (command.help or "") in shown
        for parameter in command.params:
            assert str(getattr(parameter, "help", "")) in shown
            assert parameter.opts[0].lower() in shown.lower() or (parameter.metavar or "-") in shown
    assert (command.help or "").endswith(".")


def test_the_help_lists_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"  {name}  " in shown for name in app.COMMANDS)
    assert "..." not in shown.partition("Commands:")[2]  # no sentence is cut


@pytest.mark.parametrize(
    ("words", "incomplete", "expected"),
    [
        ([], "", {"status", "search", "items", "history"}),
        ([], "sea", {"search"}),
        (["search"], "--max", {"--max-results"}),
        (["--json", "items"], "pro", {"promote"}),
        (["history"], "p", {"purge"}),
        (["history", "purge"], "--ma", {"--match"}),
        (["items", "add", "x", "--kind"], "d", {"decision"}),
    ],
)
def test_a_shell_is_told_what_may_follow(words: list[str], incomplete: str, expected: set[str]) -> None:
    found = {each.value for each in ShellComplete(app.APP, {}, app.PROGRAM, "X").get_completions(words, incomplete)}
    assert expected <= found
    assert not any(" " in each for each in found)
