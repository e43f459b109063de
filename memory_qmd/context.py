"""One agent's QMD: what its configuration says, where its home is, and the client that runs it there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from memory_core.config.agent import AgentConfig
from memory_core.hookspecs import BackendContext
from memory_qmd.client import QmdClient
from memory_qmd.collections import Collections
from memory_qmd.config import QmdConfig
from memory_qmd.home import QmdHome


@dataclass(frozen=True, slots=True, kw_only=True)
class QmdContext:
    """The parts of one agent's QMD that the modules of this package share. Making one starts nothing.

    Attributes:
        config: The agent's configuration.
        settings: The section `memory.qmd`.
        home: The folder that QMD is confined to.
        client: Runs QMD there.
        collections: The folders to index.
    """

    config: AgentConfig
    settings: QmdConfig
    home: QmdHome
    client: QmdClient
    collections: Collections

    @classmethod
    def of(cls, context: BackendContext) -> Self:
        """Make the parts for the agent of a backend."""
        config = context.config
        settings = context.settings if isinstance(context.settings, QmdConfig) else QmdConfig()
        home = QmdHome.of(config)
        return cls(
            config=config,
            settings=settings,
            home=home,
            client=QmdClient(settings.command, home, probe_timeout_seconds=settings.update.command_timeout_ms / 1000),
            collections=Collections(config, settings, home),
        )

    @property
    def command_seconds(self) -> float:
        """The time of a command that only asks QMD about itself."""
        return self.settings.update.command_timeout_ms / 1000
