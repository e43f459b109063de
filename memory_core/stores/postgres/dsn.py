"""Connection strings: those whose password would be taken for a host or a port are refused, and none is ever quoted."""

from __future__ import annotations

import contextlib
import re

import psycopg

from memory_core.errors import BackendUnavailable
from memory_core.stores.postgres.settings import NAME

_URI = re.compile(r"(?<![a-z])[a-z]+://", re.IGNORECASE)
_ENCODE = "write @ as %40, / as %2F, # as %23 and % as %25 in a password, or use host=... user=... password='...'"


def check_dsn(text: str) -> None:
    """Make sure that the driver reads a connection string as it was meant.

    Raises:
        BackendUnavailable: It does not; quotes nothing of it.
    """
    if start := _URI.match(text):
        address = text[start.end() :].split("?", 1)[0]
        authority = address.split("/", 1)[0]
        if address.count("@") > 1:
            raise BackendUnavailable(NAME, "the DSN has more than one @ before its parameters", action=_ENCODE)
        if ("@" in address and "@" not in authority) or "#" in authority:
            raise BackendUnavailable(NAME, "the DSN has a / or a # in its password", action=_ENCODE)
    try:
        held = psycopg.conninfo.conninfo_to_dict(text)
    except psycopg.ProgrammingError:  # quotes the string
        raise BackendUnavailable(NAME, "the DSN cannot be read: it is no connection string", action=_ENCODE) from None
    ports = str(held.get("port") or "").split(",")
    if not all(port == "" or port.isdecimal() for port in ports):
        raise BackendUnavailable(
            NAME, "the port in the DSN is no number", action="write postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
        )


def redact(message: str, dsn: str) -> str:
    """Return a message without the password of a connection string, and without those of URIs in it."""
    with contextlib.suppress(psycopg.Error):
        password = psycopg.conninfo.conninfo_to_dict(dsn).get("password")
        if password:
            message = message.replace(str(password), "***")
    if start := _URI.match(dsn):
        before, at, _ = dsn[start.end() :].rpartition("@")
        _, colon, password = before.partition(":")
        if at and colon and password:
            message = message.replace(password, "***")
    return re.sub(r"(://[^\s:/@]*):\S*@", r"\1:***@", message)
