"""`memory-core postgres`: what the operator of a shared index on PostgreSQL runs."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from memory_core.backends.loader import find_plugin, read_section
from memory_core.backends.postgres import check_driver
from memory_core.cli import output
from memory_core.cli.app import Group, Options, Run, argument, open_source
from memory_core.config.fields import Secret
from memory_core.stores.postgres import PostgresConfig

if TYPE_CHECKING:
    from memory_core.stores.postgres.operator import Operator, ServerSummary

postgres = Group("postgres", help="Operate a shared index on PostgreSQL.")


def _with_server(function: Run) -> Run:
    """Add the options that name the server, which `_open` takes."""
    schema = click.option("--schema", metavar="NAME", help="the schema (memory_core)")
    dsn = click.option("--dsn", metavar="DSN", help='the operator\'s connection string, "${NAME}" or "file:PATH"')
    return dsn(schema(function))


def _open(options: Options, *, dsn: str | None, schema: str | None) -> Operator:
    """Open the server that --dsn names, else the one of the configuration."""
    check_driver()
    from memory_core.stores.postgres.operator import Operator

    agent = open_source(options).current().agent(options.agent)
    settings: Any = read_section(agent, "postgres", find_plugin("postgres"))
    assert isinstance(settings, PostgresConfig)
    setting = "--dsn" if dsn else "memory.postgres.dsn"
    return Operator(Secret(dsn) if dsn else settings.find_dsn(agent.agent), schema or settings.schema, setting)


@postgres.command("init")
@_with_server
def init(options: Options, **server: str | None) -> None:
    """Make the schema and its roles on the server, or migrate them."""
    with closing(_open(options, **server)) as operator:
        applied = operator.init()
    sentence = f"The schema is in place: {output.count(applied, 'migration')} applied."
    output.tell({"migrations": applied}, sentence)


@postgres.command("grant")
@argument("role", help="a login role of the server")
@argument("tenant", help="the tenant, by default an agent's id")
@click.option("--write", is_flag=True, help="let it write, too")
@_with_server
def grant(options: Options, *, role: str, tenant: str, write: bool, **server: str | None) -> None:
    """Let a role read a tenant; the tenant is made when it is new."""
    with closing(_open(options, **server)) as operator:
        is_new = operator.grant(role, tenant, write=write)
    sentence = f"{role} may {'read and write' if write else 'read'} {tenant}{', a new tenant' if is_new else ''}"
    output.tell({"role": role, "tenant": tenant, "write": write, "new": is_new}, sentence)


@postgres.command("revoke")
@argument("role", help="a login role of the server")
@argument("tenant", help="the tenant, by default an agent's id")
@_with_server
def revoke(options: Options, *, role: str, tenant: str, **server: str | None) -> int:
    """End a role's right to a tenant; fails if it had none."""
    with closing(_open(options, **server)) as operator:
        ended = operator.revoke(role, tenant)
    told = {"role": role, "tenant": tenant, "revoked": ended}
    if ended:
        output.tell(told, f"{role} may no longer see {tenant}")
    elif not output.prints_json(told):
        output.complain(f"{role} was no member of {tenant}", "Members: memory-core postgres status")
    return 0 if ended else 1


@postgres.command("status")
@_with_server
def show_status(options: Options, **server: str | None) -> None:
    """Show the tenants on the server, their sizes and members."""
    with closing(_open(options, **server)) as operator:
        summary = operator.summarise()
    output.print_record(summary, _print_summary)


def _print_summary(summary: ServerSummary) -> None:
    size = f"{summary.size_bytes / 1e6:,.1f} MB"
    print(f"PostgreSQL {summary.server}, schema {summary.schema}, version {summary.version}, {size}")
    for tenant in summary.tenants:
        held = f"{output.count(tenant.notes, 'note')}, {output.count(tenant.chunks, 'chunk')}"
        print(f"{tenant.name}: {held}, {f'from {tenant.workspace}' if tenant.workspace else 'not used yet'}")
        print(f"  writers: {', '.join(tenant.writers) or 'none'}; readers: {', '.join(tenant.readers) or 'none'}")
