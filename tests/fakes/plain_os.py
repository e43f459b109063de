"""A pytest plugin that takes from `os` what only Unix has, before anything of ours is imported: `-p tests.fakes.plain_os`.

It shows that what needs those names has another way. It is no Windows: paths, locks and processes are still those of this system.
"""

from __future__ import annotations

import os

UNIX_ONLY = (
    "O_NOFOLLOW",
    "O_DIRECTORY",
    "O_NONBLOCK",
    "O_CLOEXEC",
    "fchmod",
    "killpg",
    "memfd_create",
    "pread",
    "pwrite",
)

for name in UNIX_ONLY:
    if hasattr(os, name):
        delattr(os, name)
os.supports_dir_fd.clear()
