"""Commands that a person uses beside a search: write a note, open one in an editor, keep the index up to date."""

from __future__ import annotations

import sys
import threading

from memory_core.cli import opening, output
from memory_core.cli.parser import Options, build_parser
from memory_core.errors import InvalidArgument

WATCH_SECONDS = 1.0  # between two looks at what the background has done


def run_add(options: Options) -> int:
    """Append a text, or what standard input holds, to the note of the day or to MEMORY.md."""
    text = _read_input() if options.text == ["-"] else " ".join(options.text)
    with opening.open_notes(options) as memory:
        target = "longterm" if options.longterm else "daily"
        result = memory.call_tool("memory_append", {"text": text, "target": target})
    if options.json:
        output.print_json(result)
    if "error" in result:
        output.complain(result["error"], result.get("action"))
    elif not options.json:
        print(f"{'Added to' if result['appended'] else 'Already in'} {result['path']}")
    return output.find_code(result)


def _read_input() -> str:
    """Return the text on standard input."""
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidArgument("TEXT", "standard input is not UTF-8 text") from error


def run_open(options: Options) -> int:
    """Print the file and line of a place as editors take them."""
    from memory_core.sources import pages

    with opening.open_notes(options) as memory:
        result = memory.call_tool("memory_get", {"path": options.place, "lines": 1})
        config = memory.config()
    if code := output.find_code(result):
        if options.json:
            output.print_json(result)
        output.complain(result.get("error") or f"{options.place}: there is no such note", result.get("action"))
        return code
    file = pages.resolve(config, result["path"])
    path = str(file.real_path) if file else result["path"]
    if options.json:
        output.print_json({"path": path, "line": result["from"]})
    else:
        print(f"{path}:{result['from']}")
    return 0


def run_watch(options: Options) -> int:
    """Index what changes in the notes, until somebody interrupts."""
    with opening.open_notes(options) as memory, output.SyncProgress() as progress:
        output.print_report(memory.sync(progress=progress))
        sys.stdout.flush()  # a pipe would keep it back
        memory.start()
        seen = memory.status()
        output.print_aside(f"Watching {seen.workspace}. Press Ctrl-C to end.")
        pause = threading.Event()
        try:
            while not pause.wait(WATCH_SECONDS):
                status = memory.status()
                if status.last_sync != seen.last_sync and (status.files, status.chunks) != (seen.files, seen.chunks):
                    print(
                        f"Indexed {output.count(status.files, 'note')} in {output.count(status.chunks, 'chunk')}.",
                        flush=True,
                    )
                seen = status
        except KeyboardInterrupt:
            output.print_aside("")
    return 0


def run_completion(options: Options) -> int:
    """Print a script that completes commands and options in a shell."""
    import shtab

    from memory_core.cli.commands import COMMANDS

    print(shtab.complete(build_parser(COMMANDS), shell=options.shell))
    return 0
