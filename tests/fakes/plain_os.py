"""A pytest plugin that takes from `os` what only Unix has, before anything of ours is imported: `-p tests.fakes.plain_os`.

It shows that what needs those names has another way. It is no Windows: paths, locks and processes are still those of this system.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType

import filelock  # on Windows it has another module for locks; the one for this system needs all of its names

UNIX_ONLY = (
    "O_NOFOLLOW",
    "O_DIRECTORY",
    "O_NONBLOCK",
    "O_CLOEXEC",
    "O_PATH",
    "fchmod",
    "killpg",
    "memfd_create",
    "pread",
    "pwrite",
)

_whole = ModuleType("os")
_whole.__dict__.update(vars(os))
for each in [each for name, each in sys.modules.items() if name.partition(".")[0] == filelock.__name__]:
    if vars(each).get("os") is os:
        each.__dict__["os"] = _whole

for name in UNIX_ONLY:
    if hasattr(os, name):
        delattr(os, name)
os.supports_dir_fd.clear()
