"""Refuse every connection and name look-up beyond this machine.

The test process imports this module; its Python children do so at their start, because its folder is on PYTHONPATH. An
audit hook sees what libraries do below `socket.socket` too, and cannot be taken away. The error is no OSError on
purpose: that would look like an outage, which the product is made to bear in silence.
"""

from __future__ import annotations

import ipaddress
import socket
import sys

_CONNECTING = {"socket.connect": 1, "socket.sendto": 1, "socket.sendmsg": 1}
_RESOLVING = {"socket.getaddrinfo": 0, "socket.gethostbyname": 0}


def _is_local(host: object) -> bool:
    """Return True if a host, as `getaddrinfo` takes it, is this machine; "" and None are."""
    name = host.decode() if isinstance(host, bytes) else str(host or "localhost")
    if name == "localhost":
        return True
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _refuse_network(event: str, args: tuple[object, ...]) -> None:
    if not event.startswith("socket."):
        return
    host: object = None
    if event in _RESOLVING:
        host = args[_RESOLVING[event]]
    elif event in _CONNECTING:
        sock, address = args[0], args[_CONNECTING[event]]
        internet = isinstance(sock, socket.socket) and sock.family in {socket.AF_INET, socket.AF_INET6}
        host = address[0] if internet and isinstance(address, tuple) else None
    if not _is_local(host):
        raise RuntimeError(f"a test tried to reach {host!r}: {event}")


sys.addaudithook(_refuse_network)
