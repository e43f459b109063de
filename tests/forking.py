"""Run commands as forks of a process that has imported what they need: importing is most of what a short process costs.

A fork has arguments, environment, streams and an exit code of its own, runs `memory_core.__main__` from its beginning, and ends
as every Python does. Only `sys.modules` is fuller than in a program that is started.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import re
import runpy
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile

# What commands import when they need it; none of it starts a thread, or reads the environment for good.
_IMPORTED = (
    *("Stemmer", "filelock", "jsonschema", "numpy", "pyjson5", "rich.console", "tokenizers", "yaml"),
    "memory_core.backends.builtin", "memory_core.backends.engine", "memory_core.backends.past", "memory_core.cli.adopt",
    "memory_core.cli.config", "memory_core.cli.history", "memory_core.cli.hook", "memory_core.cli.hosts",
    "memory_core.cli.items", "memory_core.cli.notes", "memory_core.cli.review", "memory_core.cli.search",
    "memory_core.cli.sync", "memory_core.embeddings.static", "memory_core.hosts.hooks", "memory_core.items.items",
    "memory_core.plugin.explaining", "memory_core.plugin.memory", "memory_core.search.pipeline", "memory_core.sync.syncer",
)  # fmt: skip
_READ_AT_START = re.compile("PYTHON|LC_|LANG|LD_|OPENBLAS")  # variables that interpreter and libraries read once


def run_fork(
    arguments: Sequence[str], environment: Mapping[str, str], seconds: float, feed: str = ""
) -> tuple[int, str, str]:
    """Run `memory-core` to its end in the repository; return its exit code and what it printed on both streams.

    Args:
        arguments: Those after the program's name.
        environment: All of it.
        seconds: After which SIGALRM ends it.
        feed: Standard input, a file that ends behind it.
    """
    origin = _start_origin(frozenset(each for each in environment.items() if _READ_AT_START.match(each[0])))
    ours, theirs = socket.socketpair()
    (out_end, out), (err_end, err) = os.pipe(), os.pipe()
    with (
        ours,
        TemporaryFile() as given,
        os.fdopen(out_end, encoding="utf-8") as printed,
        os.fdopen(err_end, encoding="utf-8") as complained,
    ):
        given.write(feed.encode())
        given.seek(0)
        socket.send_fds(origin, [b"."], [theirs.fileno(), given.fileno(), out, err])
        for number in (theirs.detach(), out, err):
            os.close(number)
        ours.sendall(json.dumps([arguments, dict(environment), seconds]).encode())
        ours.shutdown(socket.SHUT_WR)
        with ThreadPoolExecutor(1) as reader:
            rest = reader.submit(complained.read)
            printed_text = printed.read()
        return int(ours.recv(16)), printed_text, rest.result()


@cache
def _start_origin(variables: frozenset[tuple[str, str]]) -> socket.socket:
    """Start the process that forks, with these variables; return the socket that takes its orders."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(theirs.fileno())],
            cwd=Path(__file__).parents[1],
            env=dict(variables),
            pass_fds=[theirs.fileno()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,  # as the streams of its forks are, which Python asks once if they can be rewound
            stderr=subprocess.PIPE,
        )

    def end() -> None:
        ours.close()
        process.communicate()

    atexit.register(end)
    return ours


def _await_order(orders: socket.socket) -> Sequence[str]:
    """Fork for each order; return its arguments in the process that is to be the command."""
    while True:
        _, descriptors, _, _ = socket.recv_fds(orders, 1, 4)
        if not descriptors:  # the tests have ended
            sys.exit()
        if not os.fork():
            break
        for number in descriptors:
            os.close(number)
        with suppress(ChildProcessError):  # none is left
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    orders.close()
    order = socket.socket(fileno=descriptors[0])
    with order.makefile(encoding="utf-8") as file:
        arguments, environment, seconds = json.load(file)
    if command := os.fork():
        for number in descriptors[1:]:
            os.close(number)
        order.sendall(str(os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])).encode())
        os._exit(0)
    order.close()
    for stream, number in enumerate(descriptors[1:]):
        os.dup2(number, stream)
        os.close(number)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    signal.setitimer(signal.ITIMER_REAL, seconds)
    return list(arguments)


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line does before it imports numpy
    for module in _IMPORTED:
        import_module(module)
    gc.collect()
    gc.freeze()  # a collection in a fork would copy every page
    sys.argv[1:] = _await_order(socket.socket(fileno=int(sys.argv[1])))
    runpy.run_module("memory_core", run_name="__main__", alter_sys=True)
