"""The commands that look after the notes: find what is outdated in them, and go through what is proposed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing

import click

from memory_core.cli import output
from memory_core.cli.app import Group, Options, argument, command, open_notes
from memory_core.completions import Complete
from memory_core.errors import InvalidArgument, MemoryCoreError
from memory_core.plugin.memory import Memory
from memory_core.plugin.reviewing import Review
from memory_core.upkeep.proposals import Proposal
from memory_core.upkeep.tidy import Undone

ALL_KEYS = {"a": "accept", "e": "edit", "s": "skip", "n": "never again", "u": "undo", "q": "quit"}
BY_ID = "no terminal can be asked, so type: memory-core review accept ID, or reject ID; programs take review --json"
BY_HAND = "all lie outside of the workspace: change them by hand, or never see one again: memory-core review reject ID"
ELSEWHERE = "Its note lies outside the workspace, so only you can change it."


def _open_review(memory: Memory) -> closing[Review]:
    return closing(Review(memory.config(), memory.items, memory.sync))


@command("tidy")
@click.option(
    "--model",
    metavar="ID",
    help="send the suspected lines to a model: its id at an endpoint, or the name of a program, such as codex",
)
@click.option("--base-url", metavar="URL", help="the endpoint of --model, without /chat/completions")
def tidy(options: Options, *, model: str | None, base_url: str | None) -> None:
    """Find what is outdated, repeated or broken in the notes, and propose changes; nothing is written."""
    if base_url is not None and model is None:
        raise InvalidArgument("--base-url", "it is the endpoint of a model", action="name one: --model")
    with open_notes(options) as memory, _open_review(memory) as held:
        found = _find(held, options, _open_model(memory, model, base_url) if model else None)
        mine = any(map(held.can_change, found))
    _print(found, "go through them: memory-core review" if mine else BY_HAND)


def _find(held: Review, options: Options, complete: Complete | None = None) -> list[Proposal]:
    """Find proposals; on a terminal, show how far that is."""
    with output.show_progress() as progress:
        return held.find(complete, progress=progress if sys.stderr.isatty() and not options.json else None)


def _open_model(memory: Memory, model: str, base_url: str | None) -> Complete:
    """Return what asks a model: the program of a host, or an endpoint."""
    from memory_core.hosts.reference import open_endpoint
    from memory_core.plugin.programs import open_program

    if (program := open_program(model)) is not None:
        return program
    return open_endpoint(memory.config(), base_url, model).complete


def _print(found: Sequence[Proposal], advice: str) -> None:
    if output.prints_json({"proposals": found}):
        return
    for each in found:
        output.write(f"{describe(each)}\n")
    output.write(output.count(len(found), "proposal") + (f"; {advice}" if found else ""))


def describe(proposal: Proposal) -> str:
    """Return a proposal as it is printed: its place, the line as it is and as it is to be, and what speaks for it."""
    lines = [f"{proposal.id}  {proposal.kind}, {proposal.path}:{proposal.line}"]
    new = proposal.new or "" if proposal.path != "items" else ""
    old, after = ([line.strip() for line in text.split("\n")] for text in (proposal.text, new))
    lines += [f"  - {line}" for line in old if line and line not in after]
    lines += [f"  + {line}" for line in after if line and line not in old]
    lines += [f"  {proposal.why}"]
    lines += [f"  {each.path}:{each.line}: {each.text}" for each in proposal.evidence[:3]]
    return "\n".join(lines)


@click.group("review", cls=Group, aliases={"never": "reject"}, invoke_without_command=True)
@click.pass_context
def review(context: click.Context) -> None:
    """Go through what `tidy` proposes, one by one; or accept, reject or undo by id."""
    if context.invoked_subcommand is None:
        options = context.ensure_object(Options)
        with open_notes(options) as memory, _open_review(memory) as held:
            _go_through(held, options)


def _go_through(held: Review, options: Options) -> None:
    found = _find(held, options)
    if options.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        _print(found, BY_ID)
        return
    seen, settled, accepted = set[str](), 0, 0
    while (each := next((each for each in found if each.id not in seen), None)) or settled:
        keys = _list_keys(held, each) if each else "uq"
        key = _ask(each, keys, left=sum(each.id not in seen for each in found))
        if key == "q":
            break
        try:
            if key == "u":
                undone = held.undo()
                output.write(f"{_describe_undone(undone)}\n")
                accepted -= undone.id in seen and not undone.rejected
                settled -= undone.id in seen
                seen.discard(undone.id)
            elif each and key in keys:
                _settle(held, each, key)
                accepted += key in "ae"
                settled += key in "aen"
                seen.add(each.id)
            else:
                output.write("This key does nothing here.")
        except click.Abort:  # the line is not edited after all
            continue
        except MemoryCoreError as error:
            output.complain(str(error), error.action)
            if each is None:  # there is nothing to take back any more
                break
            seen.add(each.id)
        if key in "aeu":
            found = held.find()
    output.write(f"{output.count(accepted, 'change')} made; memory-core review undo takes back what was done last.")


def _ask(proposal: Proposal | None, keys: str, *, left: int) -> str:
    """Show a proposal, unless none is left, and the keys that do something; return the key that is pressed, of `ALL_KEYS`."""
    if proposal is not None:
        for line in describe(proposal).split("\n"):
            output.write(line, output.CHANGES.get(line.strip()[:1], "") if line[:1] == " " else output.BOLD)
        if proposal.path != "items" and "e" not in keys:
            output.write(f"  {ELSEWHERE}")
    output.write(f"{left} left; {', '.join(f'{key} {ALL_KEYS[key]}' for key in keys)}", output.DIM)
    try:
        pressed = click.getchar()[:1]  # what was typed behind it in one go is not meant for the next proposal
        return "a" if pressed in ("\r", "\n") else pressed.lower() or "q"  # "" where the terminal is gone
    except (KeyboardInterrupt, EOFError):  # Ctrl-C and Ctrl-D
        return "q"


def _settle(held: Review, proposal: Proposal, key: str) -> None:
    """Do what a key says about a proposal."""
    if key in "ae":
        text = click.prompt("New line", default=proposal.new or proposal.text) if key == "e" else None
        held.accept([proposal.id], text)
        output.write("Accepted; u takes it back.\n")
    elif key == "n":
        held.reject([proposal.id])
        output.write("Forgotten.\n" if proposal.kind == "pending" else "Never again; u takes it back.\n")


def _list_keys(held: Review, proposal: Proposal) -> str:
    """Return the keys that do something about a proposal."""
    accepts = "a" if proposal.new is not None else ""
    edits = "e" if proposal.path != "items" and held.can_change(proposal) else ""
    return f"{accepts}{edits}snuq"


def _report(verb: str, found: Sequence[Proposal]) -> None:
    is_json = output.prints_json({verb.lower(): [each.id for each in found]})
    for each in () if is_json else found:
        output.write(f"{verb} {each.id}: {each.path}:{each.line}")


@review.command("accept")
@argument("ids", nargs=-1, required=True, help="ids of proposals, as tidy prints them")
@click.option("--text", metavar="LINE", help="the line to write instead of the proposed one")
def accept(options: Options, *, ids: tuple[str, ...], text: str | None) -> None:
    """Make the changes that proposals name."""
    if text is not None and len(ids) > 1:
        raise InvalidArgument("--text", "one line is for one proposal")
    with open_notes(options) as memory, _open_review(memory) as held:
        _report("Accepted", held.accept(ids, text))


@review.command("reject")
@argument("ids", nargs=-1, required=True, help="ids of proposals, as tidy prints them")
def reject(options: Options, *, ids: tuple[str, ...]) -> None:
    """Never propose these again; `never` is another name for it."""
    with open_notes(options) as memory, _open_review(memory) as held:
        _report("Rejected", held.reject(ids))


@review.command("undo")
def undo(options: Options) -> None:
    """Take back what was done last: a change that was accepted, or that a proposal was rejected."""
    with open_notes(options) as memory, _open_review(memory) as held:
        undone = held.undo()
    facts = undone._asdict()
    output.tell({"undone": facts.pop("id"), **facts}, _describe_undone(undone))


def _describe_undone(undone: Undone) -> str:
    if not undone.path:
        return f"{undone.id} is rejected no more; its line has changed since."
    did = f"{undone.id} is proposed again" if undone.rejected else "Taken back"
    return f"{did}, {undone.path}:{undone.line}: {undone.text}"
