"""The rows of the commands for the past."""

from __future__ import annotations

from memory_core.cli.parser import Argument, Command, Later

HISTORY_COMMANDS = (
    Command(
        name="history",
        help="List the versions of a note, or what changed last.",
        run=Later("history", "run_history"),
        arguments=(Argument.of("path", metavar="PATH", nargs="?", help="path of the note; it may be gone by now"),),
    ),
    Command(
        name="history purge",
        beside=True,
        help="Take a text out of all old versions for good, such as a secret that was pasted by mistake.",
        run=Later("history", "run_purge"),
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
    Command(
        name="diff",
        help="Show what differs in a note between two times.",
        run=Later("history", "run_diff"),
        arguments=(
            Argument.of("path", metavar="PATH", help="path of the note; it may be gone by now"),
            Argument.of(
                "--from", dest="start", metavar="TIME", required=True, help="the earlier time, as of get --as-of"
            ),
            Argument.of("--to", dest="end", metavar="TIME", help="the later time (the last sync)"),
        ),
    ),
    Command(
        name="restore",
        help="Write a copy of a note as it stood beside it; the note itself is left alone.",
        run=Later("history", "run_restore"),
        arguments=(
            Argument.of("path", metavar="PATH", help="path of the note; it may be gone by now"),
            Argument.of("--as-of", metavar="TIME", required=True, help="YYYY-MM-DD (its end), or a date and time"),
        ),
    ),
)
