"""The edge of the command line: arguments in, an exit code out, every error one line on standard error.

Exit codes: 0 done (no hits is done), 1 failed, 2 bad usage or configuration, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from memory_core import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command to its end.

    Args:
        arguments: What stands behind the program's name; None takes the process's own.

    Returns:
        The exit code.

    Raises:
        SystemExit: After the help, and after bad usage.
    """
    try:
        code = _answer(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
    except BrokenPipeError:  # `| head` has seen enough; what is still buffered must not fail at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def _answer(arguments: list[str]) -> int:
    if arguments == ["--version"]:  # answered without the parser, in a third of the time
        sys.stdout.write(f"memory-core {__version__}\n")
        return 0
    from memory_core import console

    console.prepare(debug="--debug" in arguments)
    try:
        from memory_core import commands

        return commands.run(arguments)
    except KeyboardInterrupt:
        console.complain("interrupted", "What is indexed so far is kept.")
        return 130
    except BrokenPipeError:
        raise
    except Exception as error:
        if "--debug" in arguments:
            raise
        return _explain(error)


def _explain(error: Exception) -> int:
    """Say what went wrong in one line; the code says whose fault it is."""
    from memory_core import console
    from memory_core.errors import ConfigError, InvalidArgument, MemoryCoreError

    if isinstance(error, ConfigError):
        more = f" (and {len(error.problems) - 1} more)" if len(error.problems) > 1 else ""
        console.complain(f"{error.origin}: {error.problems[0]}{more}", error.action)
        return 2
    if isinstance(error, MemoryCoreError):
        console.complain(str(error), error.action)
        return 2 if isinstance(error, InvalidArgument) else 1
    if isinstance(error, OSError):
        console.complain(str(error))
        return 1
    console.complain(f"unexpected {type(error).__name__}: {error}", "Run it again with --debug for the traceback.")
    return 1
