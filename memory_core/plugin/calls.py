"""The work of each tool, for one call that has been allowed and whose arguments are checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from memory_core.backends.selector import Selector
from memory_core.config.agent import AgentConfig
from memory_core.errors import InvalidArgument
from memory_core.plugin.recall import OpenItems
from memory_core.records import CallContext
from memory_core.sources.roots import MAKE_IT, find_workspace_problem
from memory_core.tools import items, results, schemas, scope
from memory_core.tools.append import APPEND, Writing, memory_append
from memory_core.tools.arguments import read_citation
from memory_core.tools.shown import Shown


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of a tool.

    Attributes:
        name: Our own name of the tool.
        selector: The backends, for the session's access.
        items: Opens the agent's items.
        config: The agent's.
        arguments: As the tool's schema allows them.
        context: The session.
        shown: What sessions have been shown.
        today: Returns the date for daily notes.
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
    result = call.selector.search(schemas.read_query(call.arguments, call.config.search.query))
    if problem := find_workspace_problem(call.config.workspace):
        warning = "; ".join(filter(None, (problem, result.warning)))
        result = replace(result, warning=warning, action=MAKE_IT)
    call.shown.add(call.context.session_key, [hit.snippet for hit in result.hits])
    citations = call.config.memory.citations
    return results.shape_search(result, cite_hits=scope.cites(citations, call.context), citations=citations)


def _explain(call: ToolCall) -> dict[str, Any]:
    if not call.config.search.query.explain:
        raise InvalidArgument("name", "memory_explain is off; memorySearch.query.explain turns it on")
    from memory_core.plugin import explaining

    path = call.arguments.get("path")
    place = None if path is None else explaining.read_place(path, call.arguments.get("line"))
    query = schemas.read_query(call.arguments, call.config.search.query)
    return results.shape_explanation(explaining.explain(call.selector, call.config, (), query, place))


def _relate(call: ToolCall) -> dict[str, Any]:
    if not call.config.search.query.related:
        raise InvalidArgument("name", "memory_related is off; memorySearch.query.related turns it on")
    found = call.selector.relate(schemas.read_related(call.arguments))
    return results.shape_related(found, cite_places=scope.cites(call.config.memory.citations, call.context))


def _get(call: ToolCall) -> dict[str, Any]:
    cited = read_citation(call.arguments["path"])
    first = int(call.arguments.get("from", cited.first or 1))
    lines = int(call.arguments.get("lines", cited.lines or call.config.get_lines))
    as_of = call.arguments.get("asOf", cited.as_of)
    if not as_of:
        return results.shape_document(call.selector.get(cited.path, first, lines))
    from memory_core.history.history import History
    from memory_core.history.notes import get_document
    from memory_core.text.dates import parse_instant

    with closing(History(call.config, writable=False)) as history:
        found = get_document(call.config, history, cited.path, parse_instant(as_of), from_line=first, lines=lines)
    return results.shape_document(found)


def _append(call: ToolCall) -> dict[str, Any]:
    config, context = call.config, call.context
    writing = Writing(
        workspace=config.workspace,
        state_dir=config.state_dir,
        today=call.today(),
        access=context.access,
        longterm=scope.is_main(context, config.agent),
        # What was found in a daily note may well be promoted to long-term memory, when the model says so.
        recalled=frozenset() if call.arguments.get("target") == "longterm" else call.shown.of(context.session_key),
    )
    return memory_append(call.arguments, writing)


def _use_items(call: ToolCall) -> dict[str, Any]:
    config, context = call.config, call.context
    if not config.search.items.enabled:
        return results.shape_disabled(items.OFF, items.SWITCH_ON)
    if not scope.is_main(context, config.agent):
        return results.shape_denied(items.NOT_HERE, items.TALK_ELSEWHERE)
    known = call.shown.of(context.session_key)
    opened = call.items.get(config, context.access)
    result = items.run(call.name, opened, call.arguments, context, recalled=known)
    call.shown.add(context.session_key, [fact["text"] for fact in result.get("results", ())])
    return result


RUN: Mapping[str, Callable[[ToolCall], dict[str, Any]]] = {
    schemas.SEARCH["name"]: _search,
    schemas.GET["name"]: _get,
    APPEND["name"]: _append,
    schemas.EXPLAIN["name"]: _explain,
    schemas.RELATED["name"]: _relate,
    **dict.fromkeys(items.NAMES, _use_items),
}
