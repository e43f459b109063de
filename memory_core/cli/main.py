"""The entry point of the command line: runs one command and reports any error as one line on standard error.

Exit codes: 0: success, also with no hits. 1: failure. 2: wrong usage or configuration. 130: interrupted.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Sequence
from typing import TextIO, cast

from memory_core.__about__ import __version__

OUTPUT_BYTES = 1 << 20  # that are held back where standard output is no terminal, until the command flushes them


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command to its end.

    Args:
        arguments: Those after the program's name; None takes the process's own.

    Returns:
        The exit code.
    """
    # The threads that OpenBLAS starts with numpy and lets spin cost a command .1 s; nothing here multiplies matrices.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if not _open_streams():
        return _complain_of_output("is closed")
    try:
        code = _run(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:  # while modules are imported: nothing has begun
        return 130
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # else Python complains at exit of what is still buffered
        has_gone = isinstance(error, BrokenPipeError)  # the reader, as `| head` does
        return 0 if has_gone else _complain_of_output(f"cannot be written: {error.strerror}")
    return code


def _open_streams() -> bool:
    """Put the null device in place of closed standard streams, whose numbers the next files would get.

    Returns:
        False if standard output was closed.
    """
    given = sys.stdout is not None
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nothing = os.open(os.devnull, os.O_RDWR)
            if nothing != number:
                os.dup2(nothing, number)
                os.close(nothing)
            setattr(sys, name, _open_text(number))
    buffer = getattr(sys.stdout, "buffer", None)
    if isinstance(buffer, io.RawIOBase) or (not sys.stdout.isatty() and sys.stdout is sys.__stdout__):
        # A write past a small buffer, or PYTHONUNBUFFERED, leaves nothing behind by which `main` could find out later.
        sys.stdout = _open_text(sys.stdout.fileno(), sys.stdout.encoding)
    return given


def _open_text(descriptor: int, encoding: str = "utf-8") -> TextIO:
    mode = "r" if descriptor == 0 else "w"
    return cast("TextIO", open(descriptor, mode, OUTPUT_BYTES, encoding, closefd=False))  # kept


def _complain_of_output(problem: str) -> int:
    """Print one line; return the exit code."""
    from memory_core.cli import output

    output.complain(f"standard output {problem}", "Redirect it to a file with space, or to /dev/null.")
    return 1


def _run(arguments: list[str]) -> int:
    if arguments == ["--version"]:  # without the parser, in a third of the time
        sys.stdout.write(f"memory-core {__version__}\n")
        return 0
    from memory_core.cli import output

    output.prepare_streams(debug="--debug" in arguments)
    try:
        from memory_core.cli import app

        return app.run(arguments)
    except (KeyboardInterrupt, Exception) as error:
        import click

        if isinstance(error, (KeyboardInterrupt, click.Abort)):  # which click makes of it where it asks something
            output.complain("interrupted", "What it had finished is kept.")
            return 130
        if isinstance(error, OSError):
            try:
                sys.stdout.flush()
            except OSError:
                return 1  # `main` says so
        if "--debug" in arguments and not isinstance(error, click.UsageError):
            raise
        return _explain(error, as_json="--json" in arguments)


def _explain(error: Exception, *, as_json: bool) -> int:
    """Print an error as one line, and as JSON if that is asked for; return its exit code."""
    import click

    from memory_core.cli import app, output
    from memory_core.errors import ConfigError, InvalidArgument, MemoryCoreError, MemoryOff

    told = whole = str(error)  # the whole has every problem of a configuration
    action = getattr(error, "action", None)
    if isinstance(error, click.UsageError):
        told = " ".join(error.format_message().split()).rstrip(".")
        if isinstance(error, click.NoSuchOption):
            told = error.message.rstrip(".") + output.suggest(error.option_name, error.possibilities or ())
        told = whole = told[:1].lower() + told[1:]
        action = f"Try: {error.ctx.command_path if error.ctx else app.PROGRAM} --help"
    elif isinstance(error, ConfigError):
        more = f" (and {len(error.problems) - 1} more)" if len(error.problems) > 1 else ""
        told = f"{error.origin}: {error.problems[0]}{more}"
    elif isinstance(error, OSError):
        told, action = _describe_refusal(error)
    elif not isinstance(error, MemoryCoreError):
        told = whole = f"unexpected {type(error).__name__}: {error}"
        action = "Run it again with --debug for the traceback."
    if as_json:
        output.print_json({"error": whole, "action": action})
    output.complain(told, action)
    for note in getattr(error, "__notes__", ()):  # the lines to be written by hand
        output.print_aside(note)
    return 2 if isinstance(error, (click.UsageError, ConfigError, InvalidArgument, MemoryOff)) else 1


def _describe_refusal(error: OSError) -> tuple[str, str | None]:
    """Return what the system refuses, and what to do about it in the state folder."""
    from pathlib import Path

    from memory_core.config.environment import STATE_DIR, expand_home
    from memory_core.config.load import DEFAULT_STATE_DIR
    from memory_core.sources.writer import MAKE_WRITABLE

    told = error.strerror.lower() if error.strerror else str(error)
    if not isinstance(error.filename, str):
        return told, None
    state = expand_home(os.environ.get(STATE_DIR) or DEFAULT_STATE_DIR)
    refused = error.errno in (errno.EACCES, errno.EPERM, errno.EROFS) and Path(error.filename).is_relative_to(state)
    return f"{error.filename}: {told}", MAKE_WRITABLE if refused else None
