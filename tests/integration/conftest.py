"""Servers of embeddings for the tests of providers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.gemini import GeminiServer
from tests.servers.openai import OpenAIServer


@pytest.fixture
def gemini() -> Iterator[GeminiServer]:
    with GeminiServer() as server:
        yield server


@pytest.fixture
def openai() -> Iterator[OpenAIServer]:
    with OpenAIServer(dimensions=1024) as server:
        yield server
