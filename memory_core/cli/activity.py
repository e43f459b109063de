"""The command `activity`: list what sessions have done with the memory."""

from __future__ import annotations

from memory_core.cli import output
from memory_core.cli.opening import open_notes
from memory_core.cli.parser import Argument, Command, Options
from memory_core.errors import InvalidArgument


def _run(options: Options) -> int:
    if options.limit < 1:
        raise InvalidArgument("--limit", f"expected 1 or more, not {options.limit}")
    with open_notes(options) as memory:
        found = memory.list_activity(limit=options.limit, session=options.session)
        enabled = memory.config().search.activity.enabled
    if options.json:
        output.print_json({"enabled": enabled, "activity": found})
        return 0
    for entry in found:
        facts = [entry.by, *([entry.outcome] if entry.outcome else []), *([entry.session] if entry.session else [])]
        places = ", ".join(entry.places) + (" ..." if entry.count > len(entry.places) else "")
        output.write(f"{output.format_time(entry.at)}  {entry.action:<8}  {places or 'nothing'}  ({', '.join(facts)})")
    if not enabled:
        output.print_aside("The log is off; memorySearch.activity.enabled turns it on.")
    elif not found:
        output.print_aside(
            "No activity yet." if options.session is None else f"No activity of session {options.session}."
        )
    return 0


ACTIVITY = Command(
    name="activity",
    help="List what sessions stored, recalled, flushed and forgot, the latest first.",
    run=_run,
    arguments=(
        Argument.of("--session", metavar="KEY", help="only what this session did"),
        Argument.of("--limit", type=int, default=20, metavar="N", help="at most N lines (20)"),
    ),
)
