"""The tools that an agent is offered, and a search's arguments as a query."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Literal, get_args

from memory_core.errors import InvalidArgument
from memory_core.records import Access, Query, RelatedQuery
from memory_core.text.dates import get_today, parse_day, parse_instant
from memory_core.text.messages import replace_surrogates
from memory_core.tools.arguments import TOOLS, Schema, check_choice, get_plain
from memory_core.tools.results import describe_tool

if TYPE_CHECKING:
    from memory_core.config.agent import AgentConfig
    from memory_core.config.settings import QuerySettings

Form = Literal["bare", "openai", "anthropic", "mcp"]

MOST_RESULTS: int = get_plain(TOOLS["memory_search"]["parameters"]["properties"]["maxResults"])["maximum"]

ALIASES: Mapping[str, str] = {"search_memory": "memory_search", "get_memory": "memory_get"}
_ORBIT = {ours: theirs for theirs, ours in ALIASES.items()}
_NAMES = re.compile("|".join(_ORBIT))

NOTES = "MEMORY.md, memory/*.md"
_SOURCES = {"memory": NOTES, "workspace": "other Markdown of the workspace", "sessions": "earlier conversations"}


def get_name(config: AgentConfig, tool: str) -> str:
    """Return the name under which a tool is offered: Orbit's own in its dialect, else ours."""
    return _ORBIT.get(tool, tool) if config.dialect == "orbit" else tool


def list_tools(config: AgentConfig, access: Access, *, main: bool = True) -> list[dict[str, Any]]:
    """Return the tools of a session in the bare function form.

    Args:
        config: The agent's.
        access: What the session may do in the workspace.
        main: It is the agent's main private session, which alone reaches items.

    Raises:
        InvalidArgument: The access is none.
    """
    check_choice("access", access, get_args(Access))
    names = ["search", "get", "append"] if access == "rw" else ["search", "get"]
    names += [name for name in ("explain", "related") if getattr(config.search.query, name)]
    if config.search.items.enabled and main:
        names += ["store", "recall", "forget"] if access == "rw" else ["recall"]
    if config.search.tidy.agent_may_apply is not None and main and access == "rw":
        names += ["review", "resolve"] if config.search.tidy.agent_may_apply else ["propose"]
    offered = [TOOLS[f"memory_{name}"] for name in names]
    if not config.search.history.enabled:
        offered = [*map(_leave_out_past, offered)]
    return [adapt(schema, config) for schema in offered]


def _leave_out_past(schema: Schema) -> Schema:
    parameters = schema["parameters"]
    properties = {name: each for name, each in parameters["properties"].items() if name != "asOf"}
    return {**schema, "parameters": {**parameters, "properties": properties}}


def adapt(schema: Schema, config: AgentConfig) -> dict[str, Any]:
    """Return a tool for an agent: its name and its texts say what is searched, and how the tools are called there."""

    def adapt_part(part: Any) -> Any:
        if isinstance(part, str):
            return _NAMES.sub(lambda found: get_name(config, found[0]), part.replace(NOTES, where))
        if isinstance(part, Mapping):
            return {key: adapt_part(child) for key, child in part.items()}
        return [adapt_part(child) for child in part] if isinstance(part, list) else part

    where = _describe_sources(config)
    return {key: adapt_part(part) for key, part in schema.items()}


def _describe_sources(config: AgentConfig) -> str:
    sources = {*config.search.sources, *(["sessions"] if config.session_folders else [])}
    parts = [words for source, words in _SOURCES.items() if source in sources]
    if config.search.extra_paths:
        parts.append("further folders of the user")
    return ", ".join(parts) or NOTES


def to_form(schema: Schema, form: Form) -> dict[str, Any]:
    """Return a tool in the form of a host's protocol."""
    if form == "bare":
        return dict(schema)
    if form == "openai":
        return {"type": "function", "function": dict(schema)}
    described = {"name": schema["name"], "description": schema["description"]}
    if form == "anthropic":
        return described | {"input_schema": schema["parameters"]}
    name = ALIASES.get(schema["name"], schema["name"])
    return described | {"inputSchema": schema["parameters"]} | describe_tool(name)


def read_query(
    arguments: Mapping[str, Any], defaults: QuerySettings, *, today: date | None = None, timezone: str | None = None
) -> Query:
    """Return checked arguments as a query.

    Args:
        arguments: Of memory_search.
        defaults: Where they say nothing.
        today: See `Query`.
        timezone: Of `asOf`, and of today where nobody says it; see `parse_instant`.

    Raises:
        InvalidArgument: A date is not valid, or `after` is later than `before`.
    """
    today = today or get_today(timezone, datetime.now(UTC))
    after, before = (
        parse_day(arguments[name], name, today=today) if name in arguments else None for name in ("after", "before")
    )
    if after and before and after > before:
        raise InvalidArgument("after", f"{after} is later than before, {before}")
    min_score = float(arguments.get("minScore", defaults.min_score))
    if not 0 <= min_score <= 1:  # NaN passes a JSON Schema's bounds
        raise InvalidArgument("minScore", f"expected a number from 0 to 1, not {min_score}")
    text = replace_surrogates(arguments["query"])  # in JSON, one may stand as an escape
    return Query(
        text=text,
        max_results=int(arguments["maxResults"]) if "maxResults" in arguments else _choose_count(text, defaults, today),
        min_score=min_score,
        max_snippet_chars=defaults.max_snippet_chars,
        after=after,
        before=before,
        as_of=parse_instant(arguments["asOf"], timezone=timezone, today=today) if "asOf" in arguments else None,
        about=_read_name(arguments, "about"),
        today=today,
    )


def _choose_count(text: str, defaults: QuerySettings, today: date) -> int:
    """Return the most hits: twice as many as configured for a period alone, half as many again for several things or months.

    From `SHARED` hits on, more hits share the same characters; fewer would not, and stay as they are.
    """
    from memory_core.search.passages import SHARED
    from memory_core.search.scores import LONG_PERIOD
    from memory_core.text.periods import find_period
    from memory_core.text.terms import asks_for_several

    most = defaults.max_results
    if most < SHARED:
        return most
    named = find_period(text, today)
    if named is not None and named.alone:
        return min(most * 2, MOST_RESULTS)
    spans = named is not None and (named.period.last - named.period.first).days > LONG_PERIOD
    return min(most * 3 // 2, MOST_RESULTS) if spans or asks_for_several(text) else most


def read_related(arguments: Mapping[str, Any]) -> RelatedQuery:
    """Return checked arguments of memory_related as a query.

    Raises:
        InvalidArgument: The name holds no word.
    """
    most = arguments.get("maxResults")
    name = _read_name(arguments, "name")
    return RelatedQuery(name=name) if most is None else RelatedQuery(name=name, max_results=int(most))


def _read_name(arguments: Mapping[str, Any], argument: str) -> str | None:
    """Return a name that is asked for.

    Raises:
        InvalidArgument: It holds no word.
    """
    if argument not in arguments:
        return None
    from memory_core.text.names import make_key

    name = replace_surrogates(str(arguments[argument]))
    if not make_key(name):
        raise InvalidArgument(argument, f"{name!r} holds no word", action="name a person, a project or a thing")
    return name
