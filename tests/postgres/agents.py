"""Agents of tests: each is a backend on a host of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from memory_core.backends.postgres import PostgresBackend
from memory_core.config.agent import AgentConfig
from memory_core.config.fields import Secret
from memory_core.config.settings import SearchSettings
from memory_core.hookspecs import BackendContext
from memory_core.stores.postgres import PostgresConfig


def open_agent(
    folder: Path,
    name: str,
    dsn: str,
    schema: str,
    *,
    tenant: str = "{agentId}",
    tenants: tuple[str, ...] = (),
    workspace: Path | None = None,
    search: SearchSettings | None = None,
    statement_timeout_ms: int = 20_000,
    vectors: Literal["float32", "halfvec"] = "float32",
) -> PostgresBackend:
    """Open the backend of an agent whose state, and unless another is given whose workspace, is in `folder/name`."""
    workspace = workspace or folder / name / "notes"
    workspace.mkdir(parents=True, exist_ok=True)
    config = AgentConfig(
        agent=name, workspace=workspace, state_dir=folder / name, store_path=folder / name / "index.sqlite",
        search=search or SearchSettings(),
    )  # fmt: skip
    section = PostgresConfig(
        dsn=Secret(dsn), schema=schema, tenant=tenant, tenants=tenants, statement_timeout_ms=statement_timeout_ms,
        vectors=vectors,
    )  # fmt: skip
    return PostgresBackend(BackendContext(config=config, settings=section))
