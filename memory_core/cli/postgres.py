"""`memory-core postgres`: what the operator of a shared index on PostgreSQL runs."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from memory_core.cli import output
from memory_core.cli.parser import Argument, Command, Options

if TYPE_CHECKING:
    from memory_core.stores.postgres.operator import Operator, ServerSummary


def _open(options: Options) -> Operator:
    """Open the server that --dsn names, else the one of the configuration."""
    from memory_core.backends.loader import find_plugin, read_section
    from memory_core.backends.postgres_plugin import check_driver
    from memory_core.config import load_config
    from memory_core.config.fields import Secret
    from memory_core.stores.postgres.settings import PostgresConfig, read_dsn

    check_driver()
    from memory_core.stores.postgres.operator import Operator

    config = load_config(options.config, state_dir=options.state_dir, workspace=options.workspace)
    settings: Any = read_section(config.agent(options.agent), "postgres", find_plugin("postgres"))
    assert isinstance(settings, PostgresConfig)
    dsn = Secret(options.dsn) if options.dsn else settings.dsn
    return Operator(read_dsn(dsn), options.schema or settings.schema)


def _run_init(options: Options) -> int:
    with closing(_open(options)) as operator:
        applied = operator.init()
    if options.json:
        output.print_json({"migrations": applied})
    else:
        print(f"{output.count(applied, 'migration')} applied" if applied else "the schema is up to date")
    return 0


def _run_grant(options: Options) -> int:
    with closing(_open(options)) as operator:
        operator.grant(options.role, options.tenant, write=options.write)
    if options.json:
        output.print_json({"role": options.role, "tenant": options.tenant, "write": options.write})
    else:
        print(f"{options.role} may {'read and write' if options.write else 'read'} {options.tenant}")
    return 0


def _run_revoke(options: Options) -> int:
    with closing(_open(options)) as operator:
        ended = operator.revoke(options.role, options.tenant)
    if options.json:
        output.print_json({"role": options.role, "tenant": options.tenant, "revoked": ended})
    else:
        print(f"{options.role} {'may no longer see' if ended else 'was no member of'} {options.tenant}")
    return 0


def _run_status(options: Options) -> int:
    with closing(_open(options)) as operator:
        summary = operator.summarise()
    if options.json:
        output.print_json(summary)
    else:
        _print_summary(summary)
    return 0


def _print_summary(summary: ServerSummary) -> None:
    size = f"{summary.size_bytes / 1e6:,.1f} MB"
    print(f"PostgreSQL {summary.server}, schema {summary.schema}, version {summary.version}, {size}")
    for tenant in summary.tenants:
        held = f"{output.count(tenant.notes, 'note')}, {output.count(tenant.chunks, 'chunk')}"
        print(f"{tenant.name}: {held} of {tenant.workspace or 'nobody yet'}")
        print(f"  writers: {', '.join(tenant.writers) or 'none'}; readers: {', '.join(tenant.readers) or 'none'}")


_SERVER = (
    Argument.of("--dsn", metavar="DSN", help='the operator\'s connection string, "${NAME}" or "file:PATH"'),
    Argument.of("--schema", metavar="NAME", help="the schema (memory_core)"),
)
_MEMBER = (
    Argument.of("role", metavar="ROLE", help="a login role of the server"),
    Argument.of("tenant", metavar="TENANT", help="the tenant, by default an agent's id"),
)
COMMANDS = (
    Command(
        name="postgres init",
        group="Operate a shared index on PostgreSQL.",
        help="Make the schema and its roles on the server, or migrate them.",
        run=_run_init,
        arguments=_SERVER,
    ),
    Command(
        name="postgres grant",
        help="Let a role read a tenant; the tenant is made when it is new.",
        run=_run_grant,
        arguments=(*_MEMBER, Argument.of("--write", action="store_true", help="let it write, too"), *_SERVER),
    ),
    Command(
        name="postgres revoke",
        help="End a role's right to a tenant.",
        run=_run_revoke,
        arguments=(*_MEMBER, *_SERVER),
    ),
    Command(
        name="postgres status",
        help="Show the tenants on the server, their sizes and members.",
        run=_run_status,
        arguments=_SERVER,
    ),
)
