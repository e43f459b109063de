"""Chat completions of any OpenAI-compatible endpoint, streamed, for the reference host."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memory_core.config.settings import Secret
from memory_core.errors import MemoryCoreError

if TYPE_CHECKING:
    import httpx

Message = dict[str, Any]


class EndpointFailed(MemoryCoreError):
    """The chat endpoint gave no answer; the message says why, without the key."""


class ChatEndpoint:
    """One model behind one endpoint.

    Args:
        base_url: The URL without `/chat/completions`.
        model: The model's id at the endpoint.
        api_key: None for endpoints that need none.
        timeout_seconds: The longest pause without data before an answer is given up.
    """

    def __init__(
        self, base_url: str, model: str, *, api_key: Secret | None = None, timeout_seconds: float = 120.0
    ) -> None:
        import httpx

        headers = {"Authorization": f"Bearer {api_key.reveal()}"} if api_key else {}
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._model = model
        self._client = httpx.Client(headers=headers, timeout=timeout_seconds)

    def complete(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], *, show: Callable[[str], None]
    ) -> Message:
        """Return the assistant's message: its text is shown as it arrives, its tool calls are put together.

        Raises:
            EndpointFailed: No answer, or one that is not a stream of completions.
        """
        import httpx

        body: dict[str, Any] = {"model": self._model, "messages": list(messages), "stream": True}
        if tools:
            body["tools"] = list(tools)
        try:
            with self._client.stream("POST", self._url, json=body) as response:
                if response.status_code != httpx.codes.OK:
                    raise EndpointFailed(
                        f"{self._url} answered {response.status_code}", action="check --base-url, --model and the key"
                    )
                return _assemble(_read_deltas(response), show)
        except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
            raise EndpointFailed(
                f"{self._url}: {type(error).__name__}: {error}", action="check --base-url and the network"
            ) from error

    def close(self) -> None:
        """Close its connections."""
        self._client.close()


def _read_deltas(response: httpx.Response) -> Iterable[Mapping[str, Any]]:
    """Yield the deltas of a stream of server-sent events (https://platform.openai.com/docs/api-reference/chat-streaming)."""
    for line in response.iter_lines():
        data = line.removeprefix("data:").strip()
        if line.startswith("data:") and data != "[DONE]":
            for choice in json.loads(data).get("choices", []):
                yield choice.get("delta") or {}


def _assemble(deltas: Iterable[Mapping[str, Any]], show: Callable[[str], None]) -> Message:
    text: list[str] = []
    calls: dict[int, dict[str, Any]] = {}
    for delta in deltas:
        if delta.get("content"):
            text.append(delta["content"])
            show(delta["content"])
        for piece in delta.get("tool_calls") or []:
            call = calls.setdefault(
                piece.get("index", 0), {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
            )
            call["id"] = piece.get("id") or call["id"]
            for part in ("name", "arguments"):
                call["function"][part] += (piece.get("function") or {}).get(part) or ""
    message: Message = {"role": "assistant", "content": "".join(text)}
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    return message
