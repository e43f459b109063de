"""The rows of the commands that change the history."""

from __future__ import annotations

from memory_core.cli.parser import Argument, Command, Later

HISTORY_COMMANDS = (
    Command(
        name="history purge",
        beside=True,
        help="Take a text out of all old versions for good, such as a secret that was pasted by mistake.",
        run=Later("purging", "run_purge"),
        arguments=(
            Argument.of(
                "--match", metavar="TEXT", required=True, help="the text, in any case and with any white space"
            ),
            Argument.of("--dry-run", action="store_true", help="only show which versions hold it"),
            Argument.of("--yes", action="store_true", help="do not ask"),
        ),
    ),
    Command(
        name="history import-git",
        beside=True,
        help="Let the history of a workspace under git begin with its commits; may be repeated.",
        run=Later("history", "run_import_git"),
    ),
)
