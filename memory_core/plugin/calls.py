"""The work of each tool, for one call that has been allowed and whose arguments are checked."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from memory_core.backends.selector import Selector
from memory_core.config.agent import PERSON, AgentConfig
from memory_core.errors import InvalidArgument
from memory_core.records import NOTHING_INDEXED, CallContext, Origin, Query, SearchResult
from memory_core.sources.origins import find_origins
from memory_core.sources.roots import (
    CORRECT_LAYERS,
    advise_workspace,
    explain_no_layers,
    explain_no_workspace,
    is_there,
)
from memory_core.sources.session_logs import SOURCE
from memory_core.tools import items, results, schemas, scope
from memory_core.tools.arguments import find_cited
from memory_core.tools.shown import Shown

if TYPE_CHECKING:
    from memory_core.plugin.open_items import OpenItems


class ToolCall(NamedTuple):
    """One call of a tool.

    Attributes:
        name: Our own name of the tool.
        selector: The backends, for the session's access.
        items: Opens the agent's items.
        config: The agent's.
        arguments: As the tool's schema allows them.
        context: The session.
        shown: What sessions have been shown.
        today: Returns the date of the person who asks.
    """

    name: str
    selector: Selector
    items: OpenItems
    config: AgentConfig
    arguments: Mapping[str, Any]
    context: CallContext
    shown: Shown
    today: Callable[[], date]


def _search(call: ToolCall) -> dict[str, Any]:
    search = call.config.search
    query = schemas.read_query(call.arguments, search.query, today=call.today(), timezone=search.time_zone)
    result = call.selector.search(widen_query(query, call.config, call.context))
    result = shape_found(result, query, call.config, call.context)
    if call.config.tidy_path.exists() and query.as_of is None:
        from memory_core.plugin.reviewing import mark_proposed

        result = replace(result, hits=mark_proposed(result.hits, query.text, call.config))
    if problem := explain_no_workspace(call.config):
        known, workspace, action = ("", problem, NOTHING_INDEXED), call.config.workspace, result.action
        told = [each for each in (result.warning or "").split("; ") if each not in known]
        if not search.extra_paths or is_there(workspace):  # else they are searched without one
            told, action = [problem, *told], advise_workspace(workspace)
        result = replace(result, warning="; ".join(told) or None, action=action)
    if lost := explain_no_layers(call.config):
        warning = "; ".join(filter(None, (*lost, result.warning)))
        result = replace(result, warning=warning, action=result.action or CORRECT_LAYERS)
    if result.hint is not None and search.query.explain:
        result = replace(result, hint=f"{result.hint}, or call memory_explain")
    if result.hint is not None and scope.is_main(call.context, call.config.agent):
        from memory_core.sources.unsearched import describe_unsearched

        unsearched = describe_unsearched(call.config, os.environ)
        result = replace(result, hint="; ".join(filter(None, (result.hint, unsearched))))
    call.shown.add(call.context.session_key, [hit.snippet for hit in result.hits])
    citations = call.config.memory.citations
    return results.shape_search(result, cite_hits=scope.cites(citations, call.context), citations=citations)


def widen_query(query: Query, config: AgentConfig, context: CallContext) -> Query:
    """Ask for more hits where `shape_found` may take some away."""
    if sees_journal(config, context):
        return query
    return replace(query, max_results=min(2 * query.max_results, schemas.MOST_RESULTS))


def shape_found(result: SearchResult, query: Query, config: AgentConfig, context: CallContext) -> SearchResult:
    """Return what a session may see, each hit with its origin.

    What the journal keeps, which words it holds, and which session has said something, is for main private sessions only.
    """
    if not sees_journal(config, context):
        hits = [hit for hit in result.hits if hit.source != SOURCE]
        result = replace(result, hint=None, hits=tuple(hits[: query.max_results]))
    found = find_origins(config, result.hits)
    if not scope.is_main(context, config.agent):
        found = [replace(hit, origin=hit.origin and Origin(by=hit.origin.by)) for hit in found]
    return replace(result, hits=tuple(found))


def sees_journal(config: AgentConfig, context: CallContext) -> bool:
    """Return True unless a journal is kept that a session must not see."""
    return not config.search.items.capture.journal or scope.is_main(context, config.agent)


def _refuse(call: ToolCall, switch: Literal["explain", "related"]) -> dict[str, Any] | None:
    """Return the answer of a tool that would show what main private sessions say, elsewhere; None where it may.

    Raises:
        InvalidArgument: The setting of this name is off.
    """
    if not getattr(call.config.search.query, switch):
        raise InvalidArgument("name", f"{call.name} is off; memorySearch.query.{switch} turns it on")
    if sees_journal(call.config, call.context):
        return None
    return results.shape_refusal(
        "denied", f"{call.name} may not be used in this chat while a journal is kept", items.TALK_ELSEWHERE
    )


def _explain(call: ToolCall) -> dict[str, Any]:
    if denied := _refuse(call, "explain"):
        return denied
    from memory_core.plugin import explaining

    path = call.arguments.get("path")
    place = None if path is None else explaining.read_place(call.config, path, call.arguments.get("line"))
    search = call.config.search
    query = schemas.read_query(call.arguments, search.query, today=call.today(), timezone=search.time_zone)
    return results.shape_explanation(explaining.explain(call.selector, call.config, (), query, place))


def _relate(call: ToolCall) -> dict[str, Any]:
    if denied := _refuse(call, "related"):
        return denied
    found = call.selector.relate(schemas.read_related(call.arguments))
    return results.shape_related(found, cite_places=scope.cites(call.config.memory.citations, call.context))


def _get(call: ToolCall) -> dict[str, Any]:
    cited = find_cited(call.config, call.arguments["path"])
    first = int(call.arguments.get("from", cited.first or 1))
    lines = int(call.arguments.get("lines", cited.lines or call.config.get_lines))
    as_of = call.arguments.get("asOf", cited.as_of)
    if not as_of:
        return results.shape_document(call.selector.get(cited.path, first, lines))
    from memory_core.history.history import History
    from memory_core.history.notes import get_document
    from memory_core.text.dates import parse_instant

    layer, path = call.config.find_layer(cited.path)
    with closing(History(layer, writable=False)) as history:
        instant = parse_instant(as_of, timezone=layer.search.time_zone, today=call.today())
        found = get_document(layer, history, path, instant, from_line=first, lines=lines)
    return results.shape_document(replace(found, path=layer.show(found.path)))


def _append(call: ToolCall) -> dict[str, Any]:
    from memory_core.items.destination import find_destination
    from memory_core.tools.append import memory_append

    config, context, target = call.config, call.context, call.arguments.get("target")
    is_private = config.project is not None and config.project.private
    if target == PERSON and is_private and config.find_named(PERSON) is not None:
        return _propose_for_person(call)
    layer = config if context.access != "rw" else find_destination(config, target, call.today())
    # What was found in a daily note may well be promoted to long-term memory, when the model says so.
    recalled = call.shown.of(context.session_key) if target in (None, "daily") else frozenset()
    done = memory_append(call.arguments, layer, context, today=call.today(), recalled=recalled)
    return {**done, "path": layer.show(done["path"])}


def _propose_for_person(call: ToolCall) -> dict[str, Any]:
    """Keep in a private project what is meant for the person's layer: `memory-core review` proposes it for there."""
    by, context = call.arguments.get("by", call.context.by), call.context
    origin = Origin(by=by, session=context.session_key, host=context.channel)
    items = call.items.get(call.config, call.context.access)
    kept = items.write(call.arguments["text"], kind="preference", origin=origin).item
    is_proposed = any(item.id == kept.id for item in items.list_personal())
    return {"path": "items", "status": "proposed" if is_proposed else "nothing new", "appended": 0}


def _use_items(call: ToolCall) -> dict[str, Any]:
    config, context = call.config, call.context
    if not config.search.items.enabled:
        return results.shape_refusal("disabled", items.OFF, items.SWITCH_ON)
    if not scope.is_main(context, config.agent):
        return results.shape_refusal("denied", items.NOT_HERE, items.TALK_ELSEWHERE)
    known = call.shown.of(context.session_key)
    opened = call.items.get(config, context.access)
    result = items.run(call.name, opened, call.arguments, config, context, recalled=known, today=call.today())
    call.shown.add(context.session_key, [fact["text"] for fact in result.get("results", ())])
    return result


def _review(call: ToolCall) -> dict[str, Any]:
    from memory_core.plugin import reviewing

    config, context, arguments = call.config, call.context, call.arguments
    may_apply = config.search.tidy.agent_may_apply
    if may_apply is None or may_apply == (call.name == "memory_propose") or context.access != "rw":
        return results.shape_refusal("disabled", reviewing.NOT_OFFERED, reviewing.SWITCH_ON)
    if not scope.is_main(context, config.agent):
        return results.shape_refusal("denied", reviewing.NOT_HERE, items.TALK_ELSEWHERE)
    with closing(reviewing.Review(config, None, call.selector.sync)) as held:
        if call.name == "memory_propose":
            made = held.propose(arguments["path"], int(arguments["line"]), arguments["text"], arguments["why"])
            return {"status": "waits", "id": made.id}
        if call.name == "memory_review":
            found = held.find()
            listed = found[: int(arguments.get("maxResults", reviewing.LIMIT))]
            return {"results": [reviewing.shape(each) for each in listed], "total": len(found)}
        if arguments["action"] == "reject":
            held.reject([arguments["id"]])
            return {"status": "rejected"}
        (done,) = held.accept([arguments["id"]], arguments.get("text"))
        return {"status": "accepted", "path": done.path, "line": done.line}


RUN: Mapping[str, Callable[[ToolCall], dict[str, Any]]] = {
    "memory_search": _search,
    "memory_get": _get,
    "memory_append": _append,
    "memory_explain": _explain,
    "memory_related": _relate,
    **dict.fromkeys(("memory_store", "memory_recall", "memory_forget"), _use_items),
    **dict.fromkeys(("memory_review", "memory_resolve", "memory_propose"), _review),
}
