"""An agent's tenant on a PostgreSQL server: its settings are here, the tables and all SQL for them in the modules.

Nothing here imports psycopg, which is an extra of the distribution.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from memory_core.config.fields import InvalidField, Secret, Section, setting
from memory_core.errors import BackendUnavailable, InvalidArgument

NAME = "postgres"
DSN_VARIABLE = "MEMORY_CORE_POSTGRES_DSN"
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,39}")
_TENANT = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
_NAMES = "expected names of lower-case letters, digits, _, . and -, at most 64"
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_FILE = "file:"
_WRITE_IT = "write the connection string into it: postgresql://ROLE:PASSWORD@HOST/DATABASE"


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresConfig(Section):
    """The section `memory.postgres`."""

    dsn: Secret | None = setting(
        None,
        'Where the server is: a connection string, "${NAME}" for an environment variable, or "file:PATH" for a file'
        " that holds it, {agentId} in either being the agent's id; without it, the variable MEMORY_CORE_POSTGRES_DSN is read.",
    )
    schema: str = setting("memory_core", "The schema that `memory-core postgres init` made.")
    tenant: str = setting("{agentId}", "The tenant to which this agent's notes go; {agentId} is the agent's id.")
    tenants: tuple[str, ...] = setting(
        (), "More tenants whose notes are searched, as far as this agent's role may read them."
    )
    pool: int = setting(4, "The most connections of one agent's process.", ge=2, le=100)
    statement_timeout_ms: int = setting(1500, "How long one statement may take, in milliseconds.", ge=100, le=600_000)
    vectors: Literal["float32", "halfvec"] = setting(
        "float32", 'How vectors are stored; "halfvec" halves them. Those of the built-in model always are halfvec.'
    )

    def __post_init__(self) -> None:
        if not _SCHEMA.fullmatch(self.schema):
            raise InvalidField("schema", "expected a name of lower-case letters, digits and _, at most 40")
        for name, value in (("tenant", self.tenant), *(("tenants", each) for each in self.tenants)):
            if not _TENANT.fullmatch(value.replace("{agentId}", "main")):
                raise InvalidField(name, _NAMES)

    @property
    def statement_seconds(self) -> float:
        """The time that one statement may take."""
        return self.statement_timeout_ms / 1000

    def find_dsn(self, agent: str) -> Secret | None:
        """Return the setting `dsn` for one agent; None if there is none."""
        return self.dsn and Secret(self.dsn.reveal().replace("{agentId}", agent))

    def list_tenants(self, agent: str, layer: str = "") -> tuple[str, ...]:
        """Return the names of the tenants to search: the agent's own, then the others; a layer has one alone, `TENANT.LAYER`."""
        if layer:
            return (f"{self.tenant.replace('{agentId}', agent)}.{layer}",)
        named = [each.replace("{agentId}", agent) for each in (self.tenant, *self.tenants)]
        return tuple(dict.fromkeys(named))


def check_tenant(name: str) -> None:
    """Raise unless a tenant may have this name.

    Raises:
        InvalidArgument: It may not.
    """
    if not _TENANT.fullmatch(name):
        raise InvalidArgument("tenant", f"{_NAMES}, not {name!r:.80}")


def name_source(dsn: Secret | None, setting: str) -> str:
    """Return where a connection string comes from: a setting or an option, with the file or variable to which it leads."""
    if dsn is None:
        return DSN_VARIABLE
    text = dsn.reveal().strip()
    return f"{setting} ({text})" if text.startswith(_FILE) or _VARIABLE.fullmatch(text) else setting


def read_dsn(dsn: Secret | None, environ: Mapping[str, str] = os.environ) -> Secret:
    """Return the connection string to which the setting leads.

    Raises:
        BackendUnavailable: It leads nowhere; quotes nothing of it but names.
    """
    text = dsn.reveal().strip() if dsn is not None else f"${{{DSN_VARIABLE}}}"
    if text.startswith(_FILE):
        path = Path(text.removeprefix(_FILE)).expanduser()
        try:
            text = path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no text"
            problem = f"the file of the DSN, {path}, cannot be read: {reason}"
            raise BackendUnavailable(NAME, problem, action=_WRITE_IT) from error
        if not text:
            raise BackendUnavailable(NAME, f"the file of the DSN, {path}, is empty", action=_WRITE_IT)
        return Secret(text)
    missing = [name for name in _VARIABLE.findall(text) if not environ.get(name)]
    if missing:
        raise BackendUnavailable(
            NAME,
            f"the environment variable {missing[0]} is not set",
            action=f"set {missing[0]} to the DSN of the server, or memory.postgres.dsn to file:PATH",
        )
    return Secret(_VARIABLE.sub(lambda found: environ[found[1]], text))


def explain_grant(role: str, *tenants: str, options: str = " --write") -> str:
    """Return what an operator does so that a role may write tenants, or with other options do something else."""
    commands = "; ".join(f"memory-core postgres grant {role} {each}{options}" for each in tenants)
    return f"ask the operator of the server to run: {commands}"
