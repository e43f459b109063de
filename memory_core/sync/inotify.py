"""Linux's queue of file events, read by whoever asks whether anything has changed: no thread, no delay.

The kernel queues an event before the call that changed a file returns, so that whoever reads the queue afterwards meets every
change that ended before. (An observer of watchdog cannot say that nothing has happened until now: its own thread reads the queue,
and hands the events on later.) See https://man7.org/linux/man-pages/man7/inotify.7.html.
"""

from __future__ import annotations

import ctypes
import functools
import os
import posixpath
import struct
import weakref
from collections.abc import Callable

from memory_core.concurrency import forks

_MODIFY, _ATTRIB, _CLOSE_WRITE, _MOVED_FROM, _MOVED_TO = 0x2, 0x4, 0x8, 0x40, 0x80
_CREATE, _DELETE, _DELETE_SELF, _MOVE_SELF = 0x100, 0x200, 0x400, 0x800
_UNMOUNT, _OVERFLOW, _IGNORED, _IS_FOLDER = 0x2000, 0x4000, 0x8000, 0x40000000
_ONLY_FOLDERS, _DONT_FOLLOW = 0x01000000, 0x02000000
_MASK = (
    _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF
    | _ONLY_FOLDERS | _DONT_FOLLOW
)  # fmt: skip
_STRUCTURAL = _UNMOUNT | _OVERFLOW | _IGNORED | _DELETE_SELF | _MOVE_SELF
_HEAD = struct.Struct("iIII")
_BUFFER_BYTES = 65536


class EventQueue:
    """Events of some folders. Used by one thread at a time, and in the process that made it: in a child all events are lost.

    Args:
        concerns: Returns True for the names of files that matter.

    Raises:
        OSError: The system gives no queue.
    """

    def __init__(self, concerns: Callable[[bytes], bool]) -> None:
        self._concerns = concerns
        self._add = _load_call("inotify_add_watch", ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32)
        self._fd = _load_call("inotify_init1", ctypes.c_int)(os.O_NONBLOCK | os.O_CLOEXEC)
        self._folders: dict[int, set[str]] = {}  # by the number of their watch
        self.close = weakref.finalize(self, os.close, self._fd)  # also when it is forgotten; at most once
        self.close.atexit = False
        forks.renew_in_children(self, EventQueue._renew)

    def watch(self, folder: str) -> None:
        """Queue the events of one folder from now on, not of folders in it; twice is as good as once.

        Raises:
            OSError: It is no folder, or the system grants no further watch.
        """
        number = self._add(self._fd, os.fsencode(folder), _MASK)
        self._folders.setdefault(number, set()).add(folder)

    def _renew(self) -> None:
        """Let go of the queue in a forked child: what it read there would be missing in the parent."""
        self.close()
        self._fd = -1

    def drain(self) -> tuple[set[str], bool]:
        """Forget all events that were queued.

        Returns:
            The paths of files that matter and may have changed, below the folders as they were given; and True if more may have
            changed than these, since folders came, went or got other permissions, or events were lost.
        """
        changed: set[str] = set()
        structural = False
        while True:
            try:
                data = os.read(self._fd, _BUFFER_BYTES)
            except BlockingIOError:
                return changed, structural
            except OSError:  # it was closed
                return set(), True
            at = 0
            while at < len(data):
                number, mask, _, length = _HEAD.unpack_from(data, at)
                at += _HEAD.size
                name = data[at : at + length].rstrip(b"\0")
                at += length
                if mask & (_STRUCTURAL | _IS_FOLDER):
                    structural = True
                elif self._concerns(name):
                    changed.update(posixpath.join(folder, os.fsdecode(name)) for folder in self._folders[number])


@functools.cache
def _load_call(name: str, *types: type) -> Callable[..., int]:
    """Load a function of the C library that raises what it sets `errno` to.

    Raises:
        OSError: This system has no such function.
    """
    try:
        call = getattr(ctypes.CDLL(None, use_errno=True), name)
    except (AttributeError, TypeError) as error:
        raise OSError(f"this system has no {name}") from error
    call.argtypes, call.restype = types, ctypes.c_int

    def run(*arguments: int | bytes) -> int:
        found = int(call(*arguments))
        if found < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return found

    return run
