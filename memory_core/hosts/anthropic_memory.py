"""Anthropic's memory tool (`memory_20250818`) over a workspace: the files in /memories that Claude edits are its notes.

runner = client.beta.messages.tool_runner(model="...", max_tokens=1024, messages=[...], tools=memory_tools(slot))

`/memories/MEMORY.md` is the note MEMORY.md, any other file is a note in the folder `memory/`. What the tool says of an edit or an
error is what Anthropic's own tool of local files says. https://docs.claude.com/en/docs/agents-and-tools/tool-use/memory-tool
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable
from typing import Any

from memory_core.errors import MemoryCoreError
from memory_core.hosts import needing
from memory_core.plugin import MemorySlot
from memory_core.records import CallContext
from memory_core.sources.refusals import SYMLINK
from memory_core.sources.roots import LONGTERM_NAMES, NOTES_FOLDER
from memory_core.tools.schemas import ALIASES

with needing("anthropic_memory", "the package anthropic: pip install anthropic"):
    from anthropic.lib.tools import BetaAsyncFunctionTool, BetaFunctionTool, ToolError
    from anthropic.tools.memory import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool
    from anyio.to_thread import run_sync

ROOT = "/memories"
SEARCH = "memory_search"
DEPTH = 2  # of the folders that a view lists
NUMBER_WIDTH = 6  # of the line numbers in a view
AROUND = 2  # lines shown before and after an edit


def memory_tools(slot: MemorySlot, context: CallContext | None = None) -> list[Any]:
    """Return the memory tool and `memory_search` for a client's tool runner; the search is left out while memory is off.

    Args:
        slot: The memory; whoever made it closes it.
        context: The session; None is the main private session of this machine's user.
    """

    def search(**arguments: Any) -> str:
        return _search(slot, context, arguments)

    return [MemoryTool(slot, context), *(BetaFunctionTool(search, **each) for each in _describe_search(slot, context))]


def async_memory_tools(slot: MemorySlot, context: CallContext | None = None) -> list[Any]:
    """Return the memory tool and `memory_search` for an asynchronous client's tool runner; see `memory_tools`."""

    async def search(**arguments: Any) -> str:
        return await run_sync(_search, slot, context, arguments)

    described = _describe_search(slot, context)
    return [AsyncMemoryTool(slot, context), *(BetaAsyncFunctionTool(search, **each) for each in described)]


def _describe_search(slot: MemorySlot, context: CallContext | None) -> list[dict[str, Any]]:
    """Return the schema by which Claude calls `memory_search`; none while memory is off."""
    schemas = slot.tool_schemas(context, form="anthropic")
    return [schema for schema in schemas if ALIASES.get(schema["name"], schema["name"]) == SEARCH]


def _search(slot: MemorySlot, context: CallContext | None, arguments: dict[str, Any]) -> str:
    """Return what a search finds, with the paths by which the memory tool knows the notes."""
    found = slot.call_tool(SEARCH, arguments, context)
    for hit in found.get("results", ()):
        hit |= {key: _show(hit[key]) for key in ("path", "citation") if key in hit}
    return json.dumps(found, ensure_ascii=False)


class _Files:
    """The commands of the memory tool, on the notes of one session."""

    def __init__(self, slot: MemorySlot, context: CallContext | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._slot = slot
        self._context = context

    def _run(self, command: Any) -> str:
        """Run a command of the SDK and return what it says.

        Raises:
            ToolError: It cannot be done.
        """
        return str(getattr(self, f"_{command.command}")(command))

    def _view(self, command: Any) -> str:
        path = _show(_find_note(command.path))
        files = self._list(path)
        if path not in files:
            if not files and path != ROOT:
                raise ToolError(f"The path {command.path} does not exist. Please provide a valid path.")
            return _list_folder(path, files)
        found = self._slot.read_note(_find_note(path), self._context)
        if "error" in found:
            raise ToolError(found["error"])
        lines = found["text"].split("\n")
        first, last = command.view_range or (1, -1)
        shown = lines[max(first, 1) - 1 : len(lines) if last == -1 else last]
        return f"Here's the content of {command.path} with line numbers:\n{_number(shown, max(first, 1))}"

    def _create(self, command: Any) -> str:
        self._make(command.path, str(command.file_text), f"File {command.path} already exists")
        return f"File created successfully at: {command.path}"

    def _str_replace(self, command: Any) -> str:
        old, new, shown = command.old_str, command.new_str or "", ""

        def replace(text: str | None) -> str:
            nonlocal shown
            stands = _need(text, command.path)
            places = [found.start() for found in re.finditer(re.escape(old), stands)] if old else []
            numbers = [stands.count("\n", 0, at) for at in places]
            if not places:
                raise MemoryCoreError(
                    f"No replacement was performed, old_str `{old}` did not appear verbatim in {command.path}."
                )
            if len(places) > 1:
                lines = ", ".join(str(number + 1) for number in numbers)
                raise MemoryCoreError(
                    f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}."
                    " Please ensure it is unique"
                )
            changed = stands.replace(old, new)
            first = max(numbers[0] - AROUND, 0)
            shown = _number(changed.split("\n")[first : numbers[0] + AROUND + 1], first + 1)
            return changed

        self._change(command.path, replace)
        return f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{shown}"

    def _insert(self, command: Any) -> str:
        def insert(text: str | None) -> str:
            lines = _need(text, command.path).split("\n")
            count = len(lines) - (not lines[-1])  # what follows the last line end is no line
            if not 0 <= command.insert_line <= count:
                raise MemoryCoreError(
                    f"Invalid `insert_line` parameter: {command.insert_line}. It should be within the range [0, {count}]."
                )
            lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
            return "\n".join(lines).removesuffix("\n") + "\n"

        self._change(command.path, insert)
        return f"The file {command.path} has been edited."

    def _delete(self, command: Any) -> str:
        path = _show(_find_note(command.path))
        if path == ROOT:
            raise ToolError("Cannot delete the /memories directory itself")
        files = self._list(path)
        if not files:
            raise ToolError(f"The path {command.path} does not exist")
        for each in files:
            self._change(each, lambda _: None)
        return f"Successfully deleted {command.path}"

    def _rename(self, command: Any) -> str:
        old, new = (_show(_find_note(path)) for path in (command.old_path, command.new_path))
        if old == ROOT:
            raise ToolError("Cannot rename the /memories directory itself")
        if self._list(new):
            raise ToolError(f"The destination {command.new_path} already exists")
        files = self._list(old)
        if not files:
            raise ToolError(f"The path {command.old_path} does not exist")
        for each in files:
            self._move(each, new + each[len(old) :])
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    def _move(self, old: str, new: str) -> None:
        """Write a note to another path, then remove it; two are left where it was changed meanwhile."""
        moved = ""

        def read(text: str | None) -> str:
            nonlocal moved
            moved = _need(text, old)
            return moved

        def remove(text: str | None) -> None:
            if text != moved:
                raise MemoryCoreError(f"{old} was changed meanwhile; {new} has what it was before")

        self._change(old, read)
        self._make(new, moved, f"The destination {new} already exists")
        self._change(old, remove)

    def _make(self, path: str, text: str, taken: str) -> None:
        """Make a note of a text; where one stands already, the error says `taken`."""

        def make(there: str | None) -> str:
            if there is not None:
                raise MemoryCoreError(taken)
            return text

        self._change(path, make)

    def _change(self, path: str, change: Callable[[str | None], str | None]) -> None:
        """Change a note.

        Raises:
            ToolError: It cannot be changed.
        """
        name = _find_note(path)
        if any(each != _show(name) for each in self._list(_show(name))):
            raise ToolError(f"The path {path} is not a file.")
        found = self._slot.change_note(name, change, self._context)
        if SYMLINK in found.get("error", ""):
            raise ToolError("Path would escape /memories directory via symlink")
        if "error" in found:
            raise ToolError(f"{found['error']}; {found['action']}" if found.get("denied") else found["error"])

    def _list(self, path: str) -> dict[str, int]:
        """Return the files at or below a path in /memories, by name, with their sizes."""
        files = {_show(file.path): file.stamp.size_bytes for file in self._slot.list_notes(self._context)}
        return {each: size for each, size in files.items() if each == path or each.startswith(f"{path}/")}


class MemoryTool(_Files, BetaAbstractMemoryTool):  # type: ignore[misc]  # untyped where anthropic is not installed
    """The memory tool of one session.

    Args:
        slot: The memory; whoever made it closes it.
        context: The session; None is the main private session of this machine's user.
        options: Those of the SDK's own memory tools, such as `cache_control`.
    """

    view = create = str_replace = insert = delete = rename = _Files._run


class AsyncMemoryTool(_Files, BetaAsyncAbstractMemoryTool):  # type: ignore[misc]  # as above
    """The memory tool of one session for asynchronous clients; see `MemoryTool`."""

    async def _run_behind(self, command: Any) -> str:
        return await run_sync(self._run, command)

    view = create = str_replace = insert = delete = rename = _run_behind


def _find_note(path: str) -> str:
    """Return the path in the workspace of the note that a path in /memories stands for.

    Raises:
        ToolError: The path does not lie in /memories.
    """
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise ToolError(f"Path must start with /memories, got: {path}")
    relative = posixpath.normpath(path[len(ROOT) :].strip("/") or ".")
    if relative.split("/")[0] == "..":
        raise ToolError(f"Path {path} would escape /memories directory")
    return relative if relative in LONGTERM_NAMES else posixpath.normpath(f"{NOTES_FOLDER}/{relative}")


def _show(path: str) -> str:
    """Return the path in /memories of a note of the workspace; that of another note as it is."""
    if path.partition("#")[0] in LONGTERM_NAMES:
        return f"{ROOT}/{path}"
    return ROOT + path[len(NOTES_FOLDER) :] if f"{path}/".startswith(f"{NOTES_FOLDER}/") else path


def _need(text: str | None, path: str) -> str:
    """Return the text of a note that has to be there."""
    if text is None:
        raise MemoryCoreError(f"The path {path} does not exist. Please provide a valid path.")
    return text


def _list_folder(path: str, files: dict[str, int]) -> str:
    """Return what a view of a folder says."""
    sizes: dict[str, int] = {path: sum(files.values())}
    for file, size in files.items():
        names = file[len(path) + 1 :].split("/")
        for depth in range(1, min(len(names), DEPTH) + 1):
            entry = "/".join((path, *names[:depth])) + "/" * (depth < len(names))
            sizes[entry] = sizes.get(entry, 0) + size
    listed = "\n".join(f"{size / 1024:.1f}K\t{entry}" for entry, size in sorted(sizes.items()))
    return f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:\n{listed}"


def _number(lines: list[str], first: int) -> str:
    """Return lines with their numbers."""
    return "\n".join(f"{number:>{NUMBER_WIDTH}}\t{line}" for number, line in enumerate(lines, first))
