"""The click application: its commands, the options that each of them takes, and the memory that these name."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click

from memory_core.__about__ import __version__
from memory_core.atomic import replace_file
from memory_core.cli import output
from memory_core.config.environment import CONFIG, STATE_DIR, WORKSPACE, shorten_home
from memory_core.config.load import Config, ConfigSource, find_adopted_config, load_config
from memory_core.config.projects import PROJECT_FILE, is_workspace
from memory_core.config.resolution import (
    OWN_FOLDER,
    find_current_folder,
    find_default_workspace,
    make_absolute,
    recall_default_workspace,
)
from memory_core.config.settings import DEFAULT_AGENT, Exclude, Source
from memory_core.errors import ConfigError, InvalidArgument, StoreError

if TYPE_CHECKING:
    import subprocess

    from memory_core.config.agent import AgentConfig
    from memory_core.plugin.memory import Memory

PROGRAM = "memory-core"
COMPLETION_VARIABLE = "_MEMORY_CORE_COMPLETE"  # set by the script that `completion` prints
MOST_ENTRIES = 20_000  # that are looked at to count Markdown files: a home folder may hold millions
HERE = "the current folder, which holds notes"
MARKED = f"the current folder, which holds {PROJECT_FILE}"
PROJECT = "the notes of the project in whose folder you are"
REMEMBERED = "as `init --default` remembered"
USUAL = "as none is named, and the current folder holds no notes"
OTHER_FILE = "other .md file"  # beside the notes
PROGRAMS_NOTES = "what other programs keep: memory-core adopt"
# The options that bind a host to a configuration and to folders, and the variables of a shell that stand for them.
BINDING = {"config": CONFIG, "workspace": WORKSPACE, "state-dir": STATE_DIR}

# Where each command is, below `memory_core.cli`; its module is imported when it is run or its help is shown.
COMMANDS = {
    "init": "start:init",
    "status": "notes:show_status",
    "index": "notes:index",
    "search": "search:search",
    "explain": "search:explain",
    "related": "search:related",
    "inspect": "search:inspect",
    "get": "notes:get",
    "activity": "notes:list_activity",
    "pause": "items:pause",
    "resume": "items:resume",
    "forget": "items:forget_session",
    "history": "history:list_versions",
    "history purge": "history:purge",
    "history import-git": "history:import_git",
    "diff": "history:diff",
    "restore": "history:restore",
    "add": "notes:add",
    "open": "notes:open_place",
    "watch": "notes:watch",
    "adopt": "adopt:adopt",
    "export": "sync:export",
    "import": "sync:import_from",
    "probe": "notes:probe",
    "doctor": "notes:doctor",
    "mcp": "mcp:mcp",
    "install": "hosts:install",
    "uninstall": "hosts:uninstall",
    "hook": "hook:hook",
    "chat": "hosts:chat",
    "flush": "hosts:flush",
    "tidy": "review:tidy",
    "review": "review:review",
    "sync": "sync:sync",
    "items": "items:items",
    "postgres": "postgres:postgres",
    "completion": "config:completion",
    "config": "config:config",
    "model": "config:model",
}
ALIASES = {"reindex": "index"}
# Names that people try, and the commands that do it.
_MEANT = {
    "append": "add", "write": "add", "remember": "add", "note": "add", "recall": "search",
    "find": "search", "query": "search", "ask": "search",
    "show": "get", "read": "get", "cat": "get", "why": "explain", "log": "activity", "sessions": "activity", "check": "doctor",
    "list": "status", "ls": "status", "notes": "status",
    "web": "inspect", "ui": "inspect", "facts": "items", "remove": "forget", "delete": "forget", "rm": "forget",
}  # fmt: skip
# A word that begins like an option and is text: a negative number, or a line such as "- buy milk".
_TEXT = re.compile(r"\A-(?:\d+(?:\.\d+)?\Z|[^=\s]*\s)")
_LONE = re.compile("[\ud800-\udfff]")  # what Python makes of bytes that the locale's encoding does not know
_MARK = "\0"  # before such a word while click reads the others; no argument of a process can hold it


@dataclass(slots=True)
class Options:
    """The options of every command, and `sources`, which those that read notes take."""

    agent: str = DEFAULT_AGENT
    workspace: str | None = None
    config: str | None = None
    state_dir: str | None = None
    json: bool = False
    debug: bool = False
    sources: str | None = None


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Put an option into `Options`; one that is not given here keeps its value from before the command."""
    options = context.ensure_object(Options)
    name = parameter.name or ""
    if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
        setattr(options, name, value)


def _make_common(name: str, **details: Any) -> click.Option:
    return click.Option([name], expose_value=False, callback=_keep, **details)


PATH = click.Path(readable=False)  # a shell completes it, and the command itself says what is wrong with it
COMMON: tuple[click.Parameter, ...] = (
    _make_common("--agent", metavar="ID", help=f"id of the agent ({DEFAULT_AGENT})"),
    _make_common("--workspace", metavar="FOLDER", type=PATH, help="folder of the notes"),
    _make_common("--config", metavar="FILE", type=PATH, help="configuration of the host, JSON5 or TOML"),
    _make_common("--state-dir", metavar="FOLDER", type=PATH, help="folder of the index"),
    _make_common("--json", is_flag=True, help="print the result as JSON"),
    _make_common("--debug", is_flag=True, help="show the traceback of an error"),
)
with_sources = click.option(
    "--sources",
    metavar="NAMES",
    expose_value=False,
    callback=_keep,
    help="what is searched, with commas: memory, workspace (all its .md files), sessions",
)


Run = TypeVar("Run", bound=Callable[..., int | None])


class Argument(click.Argument):
    """An argument with a help, which click itself knows since 8.5 only."""

    def __init__(self, names: Sequence[str], help: str = "", **details: Any) -> None:  # noqa: A002  # as in click
        super().__init__(names, **details)
        self.help = help


class Command(click.Command):
    """A command that takes the options of every command, too, and lines of text that begin with a hyphen.

    Its function gets those options first.
    """

    def __init__(self, *arguments: Any, **details: Any) -> None:
        super().__init__(*arguments, **details)
        if self.callback is not None:
            self.callback = click.pass_obj(self.callback)
        self.params += COMMON
        self.short_help = self.short_help or self.help  # click would cut the help in the list of commands

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words after the command's name into `ctx.params`."""
        options = [each for each in self.params if isinstance(each, click.Option) and not each.is_flag]
        ask_for_value = {name for each in options for name in each.opts}
        marked = [
            f"{_MARK}{word}" if _TEXT.match(word) and before not in ask_for_value else word
            for before, word in pairwise(["", *args])
        ]
        rest = super().parse_args(ctx, marked)
        ctx.params = {name: _remove_mark(value) for name, value in ctx.params.items()}
        return rest

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error spells an argument as the command does, and names the help if it does not say what to do."""
        try:
            return super().invoke(ctx)
        except InvalidArgument as error:
            (told,) = error.args
            error.args = (output.spell(told)[0],)
            error.action = error.action or f"Try: {ctx.command_path} --help"
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the arguments, the options, and the options of every command, each under its title."""
        rows: dict[str, list[tuple[str, str]]] = {}
        for each in self.get_params(ctx):
            if isinstance(each, Argument):
                usage = " ".join(each.get_usage_pieces(ctx))
                rows.setdefault("Arguments", []).append((usage, each.help or ""))
            elif record := each.get_help_record(ctx):
                rows.setdefault("Options of every command" if each in COMMON else "Options", []).append(record)
        for title, records in rows.items():
            with formatter.section(title):
                formatter.write_dl(records)

    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write nothing, since `format_options` writes the arguments; only click 8.5 and later call this."""


def _remove_mark(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_remove_mark, value))
    return value.removeprefix(_MARK) if isinstance(value, str) else value


Resolved = tuple[str | None, click.Command | None, list[str]]


class Group(click.Group):
    """Commands with a name in common, such as `items list`."""

    command_class = Command

    def __init__(self, *arguments: Any, aliases: Mapping[str, str] | None = None, **details: Any) -> None:
        super().__init__(*arguments, **details)
        self.aliases = aliases or {}  # other names of its commands
        self.params += COMMON
        self.short_help = self.short_help or self.help

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words after the group's name; where there are none, they are `--help`."""
        return super().parse_args(ctx, args if args or self.invoke_without_command else ["--help"])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name, or by another one of it."""
        return super().get_command(ctx, self.aliases.get(cmd_name, cmd_name))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Resolved:
        """Return the name of the command that `args` begin with, the command, and the words after it.

        Raises:
            click.UsageError: There is none; names one that may be meant.
        """
        name = args[0]
        if self.get_command(ctx, name) is None and not ctx.resilient_parsing:
            known = [
                *self.list_commands(ctx),
                *self.aliases,
                *(opt for each in self.get_params(ctx) for opt in each.opts),
            ]
            meant = _MEANT.get(name, "")
            hint = output.suggest(meant if meant in known else name, known)
            raise click.UsageError(f"there is no command {name!r}{hint}", ctx)
        return super().resolve_command(ctx, args)


class App(Group):
    """The program; imports the module of a command when that is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # as in click
        """Return the names of all commands, those of two words included."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command; None if there is none of this name."""
        place = COMMANDS.get(self.aliases.get(cmd_name, cmd_name))
        if place is None:
            return None
        module, _, attribute = place.partition(":")
        command: click.Command = getattr(import_module(f"memory_core.cli.{module}"), attribute)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Resolved:
        """Take two words for one name where they are, as `history purge` is: `history` alone takes a path."""
        both = " ".join(args[:2])
        return super().resolve_command(ctx, [both, *args[2:]] if both in COMMANDS else args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Return the commands and options that begin so, without names of two words, which a shell would cut."""
        return [each for each in super().shell_complete(ctx, incomplete) if " " not in each.value]


@click.pass_context
def _welcome(context: click.Context) -> None:
    if context.invoked_subcommand is None:
        from memory_core.cli.start import welcome

        welcome(context.ensure_object(Options))


APP = App(
    PROGRAM,
    callback=_welcome,
    aliases=ALIASES,
    invoke_without_command=True,
    help="Memory for AI agents: plain Markdown notes, searched by meaning and by keyword.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
click.version_option(__version__, prog_name=PROGRAM, message="%(prog)s %(version)s")(APP)


def command(name: str) -> Callable[[Run], Command]:
    """Make a function a command, whose help is the function's docstring and which returns the exit code, None for 0."""
    return click.command(name, cls=Command)


def argument(name: str, *, help: str, **details: Any) -> Callable[[Run], Run]:  # noqa: A002
    """Add an argument to a command; see `click.argument`."""
    return click.argument(name, cls=Argument, help=help, **details)


def run(arguments: Sequence[str]) -> int:
    """Run the command that a command line names.

    Returns:
        The exit code.

    Raises:
        click.UsageError: The command line is wrong.
        MemoryCoreError: The command failed.
    """
    if instruction := os.environ.get(COMPLETION_VARIABLE):
        from click.shell_completion import shell_complete

        return shell_complete(APP, {}, PROGRAM, COMPLETION_VARIABLE, instruction)
    try:
        with APP.make_context(PROGRAM, list(arguments)) as context:
            code: int | None = APP.invoke(context)
            return code or 0
    except click.exceptions.Exit as end:  # of --help and --version
        return end.exit_code


def find_state_dir(options: Options) -> Path:
    """Return the state folder without reading a configuration, which may be what is to be changed."""
    return load_config({}, state_dir=options.state_dir).agent(options.agent).state_dir


def list_options(options: Options) -> dict[str, str]:
    """Return the options that the host has to pass on, since it may not have this shell's variables; paths are absolute."""
    asked = {name: getattr(options, name.replace("-", "_")) or os.environ.get(at) for name, at in BINDING.items()}
    given = {name: str(Path(value).expanduser().absolute()) for name, value in asked.items() if value}
    return given if options.agent == DEFAULT_AGENT else {**given, "agent": options.agent}


def name_options(options: Options) -> list[str]:
    """Return the words that let another command work on the same notes, in whatever folder it is run."""
    return [word for name, value in list_options(options).items() for word in (f"--{name}", value)]


def start_behind(options: Options, *words: str, folder: Path | None = None) -> subprocess.Popen[bytes]:
    """Index or sync in a process of its own, which nobody waits for. `doctor` and `sync status` tell if it failed.

    Args:
        options: Of this command, which that one gets.
        words: The name of the command, and what it gets besides.
        folder: In which it works; None is the current one.
    """
    import subprocess

    # Without -P, Python would import a memory_core of the folder in which the host happens to run.
    command_line = [sys.executable, "-P", "-m", "memory_core", *name_options(options), *words, "--behind"]
    nothing = subprocess.DEVNULL
    return subprocess.Popen(  # noqa: S603  # memory-core itself
        command_line, stdin=nothing, stdout=nothing, stderr=nothing, cwd=folder, start_new_session=True
    )


def open_source(options: Options) -> ConfigSource:
    """Return the configuration that the options name."""
    workspace: str | Path | None = options.workspace
    overrides = {}
    if options.sources:
        names = overrides["memorySearch.sources"] = [name.strip() for name in options.sources.split(",")]
        if unknown := sorted({*names} - {*get_args(Source)}):
            raise InvalidArgument("--sources", f"expected {', '.join(get_args(Source))}, not {unknown[0]!r:.40}")
        if "workspace" in names and not _is_named(options):
            # "These files here": without notes of its own, no folder is taken for a workspace.
            workspace = make_absolute(".", find_current_folder(), os.environ)
    return ConfigSource(options.config, workspace=workspace, state_dir=options.state_dir, overrides=overrides)


def check_agent(settings: Config, agent: str) -> None:
    """Refuse an agent that a list of agents does not name: it would get the workspace of another one.

    Raises:
        InvalidArgument: It is none of them; names them.
    """
    named = settings.resolver.named
    if named and agent != DEFAULT_AGENT and settings.agent(agent).agent not in named:
        hint = output.suggest(agent, named)
        raise InvalidArgument("--agent", f"the configuration names {', '.join(named)}, not {agent!r}{hint}")


def open_memory(options: Options, today: str | None = None) -> Memory:
    """Open the memory that the options name; a command resolves its configuration once.

    Args:
        options: Of every command.
        today: The day of the user, YYYY-MM-DD; None is that of the configuration.
    """
    from memory_core.plugin.memory import Memory
    from memory_core.text.dates import parse_day

    day = None if today is None else parse_day(today, "--today")
    settings = open_source(options).current()
    check_agent(settings, options.agent)
    memory = Memory(ConfigSource(settings), agent=options.agent, today=None if day is None else lambda: day)
    memory.check()
    _warn_of_others(memory.config().state_dir / OWN_FOLDER)
    _name_guess(settings, options.agent)
    return memory


def _warn_of_others(folder: Path) -> None:
    """Say so if another user can replace what is kept in a folder of ours."""
    found = None
    with suppress(OSError):  # whoever opens it next says why it cannot be
        found = folder.stat() if hasattr(os, "geteuid") else None
    if found is not None and (found.st_uid not in {os.geteuid(), 0} or found.st_mode & 0o022):
        action = f"take it over (chown), and run: chmod 700 {shlex.quote(str(folder))}; or choose another: --state-dir"
        output.complain(f"other users may replace what is kept in {folder}", action)


def open_notes(options: Options, today: str | None = None, *, writes: bool = False) -> Memory:
    """Open the memory of an existing workspace, as `open_memory` does; to a backend, a missing one would only be empty.

    Args:
        options: Of every command.
        today: As for `open_memory`.
        writes: The workspace must exist also where notes elsewhere are searched, such as those that were adopted.

    Raises:
        ConfigError: There is no such workspace.
    """
    memory = open_memory(options, today)
    config = memory.config()
    workspace = config.workspace
    # Path.is_dir raises where a folder above may not be entered.
    others = any(os.path.isdir(each.workspace) for each in config.layers) or config.search.extra_paths  # noqa: PTH112
    if not os.path.isdir(workspace) and not (config.project is not None if writes else others):  # noqa: PTH112
        from memory_core.sources.roots import advise_workspace, may_not_enter

        if may_not_enter(workspace):
            raise ConfigError("may not be read", origin=str(workspace), action=advise_workspace(workspace))
        problem, action = "there is no such workspace", advise_workspace(workspace)
        if workspace.exists():
            problem, action = "this is a file, and a workspace is a folder", "name its folder with --workspace"
        settings = open_source(options).current()
        guessed = explain_guess(settings, options.agent)
        if settings.resolver.find_workspace_origin(config.agent) == "file":
            problem += f", though {settings.origin} names it"
        elif guessed == REMEMBERED:
            problem += ", though it is the default workspace"
        elif guessed:
            problem += ", nor are there notes in this folder"
            if unsearched := describe_unsearched(config):
                problem += f"; {unsearched}"
            folder = find_current_folder()
            here = count_markdown(folder) if folder else 0
            other = f"the {output.count(here, OTHER_FILE)} here: memory-core adopt . --yes" if here else PROGRAMS_NOTES
            action = f"make one: memory-core init ~/notes --default; or search {other}"
        raise ConfigError(problem, origin=str(workspace), action=action)
    _name_left_out(options, config)
    return memory


def find_nearest(path: Path) -> Path | None:
    """Return a path, or the nearest above it where something is; None on a drive that is not there."""
    return next((each for each in (path, *path.parents) if os.path.lexists(each)), None)


def describe_unsearched(config: AgentConfig) -> str:
    """Say which notes of this person a search has left out, and the option that names them; "" where it has left out none."""
    from memory_core.sources import unsearched

    told = unsearched.describe_unsearched(config, os.environ)
    return f"{told} (--workspace FOLDER)" if told else ""


def _name_left_out(options: Options, config: AgentConfig) -> None:
    """Say so if the folders that were adopted are left out since --workspace names the workspace that is used without it."""
    adopted = find_adopted_config(config.state_dir)
    is_there = os.path.isfile(adopted)  # noqa: PTH113  # Path.is_file raises where a folder above may not be entered
    if options.workspace is None or options.config is not None or os.environ.get(CONFIG) or not is_there:
        return
    if config.workspace == find_default_workspace(os.environ, config.state_dir):
        usual = ConfigSource(str(adopted), state_dir=options.state_dir).current().agent(options.agent)
        if paths := [extra.path for extra in usual.search.extra_paths]:
            output.complain(f"left out, as --workspace is given: {', '.join(paths)}", "Leave it away to search them")


def explain_guess(settings: Config, agent: str) -> str:
    """Return why a workspace is used that nobody named; "" if somebody did."""
    resolved = settings.agent(agent)
    if settings.resolver.find_workspace_origin(resolved.agent) != "default":
        return ""
    if resolved.workspace == find_current_folder():
        return HERE if is_workspace(resolved.workspace) else MARKED
    if resolved.workspace == recall_default_workspace(resolved.state_dir):
        return REMEMBERED
    return USUAL if resolved.workspace == find_default_workspace(os.environ, resolved.state_dir) else PROJECT


def _name_guess(settings: Config, agent: str) -> None:
    """Say which workspace is used if it was guessed, once a day for each change of it."""
    why, config = explain_guess(settings, agent), settings.agent(agent)
    if why not in (HERE, MARKED, PROJECT, USUAL) or not os.path.isdir(config.workspace):  # noqa: PTH112  # what is missing, is complained of
        return
    line = f"{datetime.now().astimezone().date()} {config.workspace}"
    path = config.state_dir / OWN_FOLDER / "guessed-workspace"
    with suppress(OSError, UnicodeError):  # then the next command names the workspace again
        if path.exists() and path.read_text(encoding="utf-8") == line:
            return
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(path, line.encode("utf-8", "surrogateescape"))
    output.complain(f"using the notes in {shorten_home(config.workspace)} ({why})", "Others: --workspace FOLDER")


def explain_empty(memory: Memory) -> bool:
    """Say where a note goes in a workspace without any, or how many other Markdown files it holds; False if it has notes."""
    from memory_core.sources.files import list_files

    config = memory.config()
    listing = list_files(config)
    if listing.files or listing.failures:
        return False
    what = f"0 notes in {config.workspace}"
    action = "Write MEMORY.md or memory/YYYY-MM-DD.md there, or run: memory-core add TEXT"
    if "workspace" not in config.search.sources and (found := count_markdown(config.workspace)):
        what, action = f"0 notes; {output.count(found, OTHER_FILE)} here: --sources workspace", ""
    output.complain(what, action)
    return True


def count_markdown(folder: Path) -> int:
    """Return the number of Markdown files in a folder that would be searched as a workspace, beside MEMORY.md and memory/."""
    from memory_core.sources.roots import make_workspace_root, slash

    root = make_workspace_root(os.path.realpath(folder), Exclude())
    found = seen = 0
    for path, folders, files in os.walk(root.real):
        below = slash(path)[len(slash(root.real)) :]
        folders[:] = [name for name in folders if root.refuse_folder(below + name, name) is None]
        found += sum(1 for name in files if root.refuse_file(below + name, name) is None)
        seen += len(folders) + len(files)
        if seen > MOST_ENTRIES:
            break
    return found


def read_text(argument: str, file: str) -> str:
    """Return the text of a file that an argument names; "-" is standard input.

    Raises:
        InvalidArgument: It cannot be read, or is not UTF-8.
    """
    from memory_core.sources.refusals import describe_os_error

    shown = "standard input" if file == "-" else file
    try:
        return (sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidArgument(argument, f"{shown} is not UTF-8 text") from error
    except OSError as error:
        raise InvalidArgument(argument, f"{shown} cannot be read: {describe_os_error(error)}") from error


@contextmanager
def changing(path: Path, problem: str, action: str) -> Iterator[None]:
    """Say what is wrong with a file or folder of ours, and what to do, where the system lets nobody change it.

    Raises:
        StoreError: It does not.
    """
    from memory_core.sources.refusals import describe_os_error

    try:
        yield
    except OSError as error:
        raise StoreError(path, f"{problem}: {describe_os_error(error)}", action=action) from error


def join_words(argument: str, words: Sequence[str]) -> str:
    """Return the words of a text, whatever the encoding of the locale says of their bytes.

    Raises:
        InvalidArgument: They are not UTF-8.
    """
    text = " ".join(words)
    try:
        return os.fsencode(text).decode() if _LONE.search(text) else text
    except UnicodeError as error:
        raise InvalidArgument(argument, "is not UTF-8 text") from error


def _is_named(options: Options) -> bool:
    return any(getattr(options, name) or os.environ.get(BINDING[name]) for name in ("config", "workspace"))
