"""The tools for items, by which an agent keeps, finds and forgets short facts; offered where items are on."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

from memory_core.as_json import to_json
from memory_core.errors import InvalidArgument
from memory_core.records import OUTSIDERS, CallContext, Origin
from memory_core.text.messages import quote_safely, replace_surrogates

if TYPE_CHECKING:
    from memory_core.config.agent import AgentConfig
    from memory_core.items.items import Items
    from memory_core.items.records import Item

LIMIT = 6
OFF = "items are off"
SWITCH_ON = "set memorySearch.items.enabled to true"
NOT_HERE = "items may be used in the main private session only"
TALK_ELSEWHERE = "use them there, or memory_search and memory_append in this chat"


def run(
    name: str,
    items: Items,
    arguments: Mapping[str, Any],
    config: AgentConfig,
    context: CallContext,
    *,
    recalled: frozenset[str],
    today: date,
) -> dict[str, Any]:
    """Run one of these tools.

    Args:
        name: Of the tool.
        items: The agent's.
        arguments: As the schema allows them.
        config: The agent's.
        context: The session.
        recalled: Fingerprints of what the session has been shown, which is not stored again.
        today: The day of the person who asks.

    Raises:
        MemoryCoreError: It cannot be done.
    """
    if name == "memory_store":
        return _store(items, arguments, context, recalled)
    if name == "memory_recall":
        return _recall(items, arguments, today)
    return _forget(items, arguments, config)


def _store(
    items: Items, arguments: Mapping[str, Any], context: CallContext, recalled: frozenset[str]
) -> dict[str, Any]:
    from memory_core.items.records import Draft
    from memory_core.text.paragraphs import is_recalled

    text, by, corrected = arguments["text"], arguments.get("by", "agent"), arguments.get("corrects")
    if corrected is None and is_recalled(text, recalled):
        return {"status": "nothing new"}
    if corrected is not None and by in OUTSIDERS:
        raise InvalidArgument("corrects", "what a tool or a page says corrects no fact", action="ask the user")
    if corrected is not None and items.get(corrected) is None:
        raise InvalidArgument("corrects", f"there is no fact {corrected!r:.80}", action="take an id of memory_recall")
    draft = Draft(
        content=text, scope=items.scope, tags=tuple(arguments.get("tags", ())),
        kind=arguments.get("kind", "fact" if corrected is None else "correction"),
        origin=Origin(by=by, session=context.session_key, host=context.channel),
        supersedes=() if corrected is None else (corrected,),
    )  # fmt: skip
    [done] = items.write_many([draft])
    shaped: dict[str, Any] = {"status": done.outcome, "id": done.item.id, "text": quote_safely(done.item.content)}
    if done.superseded:
        shaped["superseded"] = list(done.superseded)
    if done.similar:
        shaped["similar"] = [{"id": item.id, "text": quote_safely(item.content)} for item in done.similar]
        shaped["action"] = "if it takes the place of one of these, store it again with corrects"
    return _warn(shaped, done.warning, items)


def _recall(items: Items, arguments: Mapping[str, Any], today: date) -> dict[str, Any]:
    limit = int(arguments.get("limit", LIMIT))
    answer = items.query(
        replace_surrogates(arguments["query"]), tags=arguments.get("tags", ()), limit=limit, today=today
    )
    items.mark_recalled([hit.item.id for hit in answer.hits])
    shaped: dict[str, Any] = {
        "results": [{**_shape(hit.item, items), "score": hit.score} for hit in answer.hits],
        "strategy": answer.strategy,
    }
    return _warn(shaped, answer.warning, items)


def _forget(items: Items, arguments: Mapping[str, Any], config: AgentConfig) -> dict[str, Any]:
    ids, query = arguments.get("ids"), arguments.get("query")
    if (ids is None) == (query is None):
        raise InvalidArgument("ids", "expected either ids or a query")
    if ids is None:
        found = items.forget(query=replace_surrogates(str(query)), dry_run=True)
        shaped: dict[str, Any] = {"status": "not deleted yet", "results": [_shape(item, items) for item in found.items]}
        return shaped | ({"action": "call memory_forget with the ids of those to delete"} if found.items else {})
    from memory_core.sharing.sharing import list_remains

    done = items.forget(ids=ids)
    remains = [*done.remains, *list_remains(config, done.items, of_person=done.of_person)]
    shaped = {"status": "deleted" if done.items else "not_found", "deleted": [item.id for item in done.items]}
    return shaped | ({"remains": remains} if remains else {})


def _shape(item: Item, items: Items) -> dict[str, Any]:
    said = items.get_day(item.said).isoformat()
    origin = to_json(item.origin, brief=True)
    return {"id": item.id, "text": quote_safely(item.content), "tags": list(item.tags), "said": said, "origin": origin}


def _warn(shaped: dict[str, Any], warning: str | None, items: Items) -> dict[str, Any]:
    warnings = "; ".join(filter(None, (items.warning, warning)))
    return shaped | ({"warning": warnings} if warnings else {})
