"""Memory that a process that stays gives back."""

from __future__ import annotations

import subprocess
import sys

import pytest

from memory_core.hosts.allocation import find_code
from tests.command import REPOSITORY

MAPPINGS = """\
00400000-00410000 r--p 00000000 fe:00 11                         /usr/lib/one.so
Rss:                  64 kB
Anonymous:             0 kB
VmFlags: rd mr mw me
00410000-00450000 r-xp 00010000 fe:00 11                         /usr/lib/one.so
Size:                256 kB
Rss:                 200 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
00450000-00460000 r-xp 00000000 fe:00 12                         /usr/lib/changed.so
Rss:                  64 kB
Anonymous:             4 kB
7f0000000000-7f0000002000 r-xp 00000000 00:00 0
Rss:                   8 kB
Anonymous:             0 kB
7f0000100000-7f0000180000 r-xp 00000000 fe:00 13                 /a folder/two words.so (deleted)
Rss:                  64 kB
Anonymous:             0 kB
7fff00000000-7fff00002000 r-xp 00000000 00:00 0                  [vdso]
Rss:                   8 kB
Anonymous:             0 kB
"""
# Numpy's code is used, unmapped, and used again.
SCRIPT = """
import numpy as np
from pathlib import Path
from memory_core.hosts.allocation import unmap_code

def held():
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    figures = {line.split()[0]: int(line.split()[1]) for line in lines[1:]}
    return figures["Rss:"] - figures["Anonymous:"]

matrix = np.arange(90_000, dtype=np.float32).reshape(300, 300) / 1e5
before, held_before = np.linalg.svd(matrix @ matrix, compute_uv=False), held()
unmap_code()
held_after = held()
assert held_after < held_before, (held_before, held_after)
assert np.array_equal(np.linalg.svd(matrix @ matrix, compute_uv=False), before)
"""


def test_code_of_files_that_nothing_has_changed_is_found() -> None:
    assert list(find_code(MAPPINGS)) == [(0x410000, 0x40000), (0x7F0000100000, 0x80000)]


def test_nothing_is_found_in_what_is_no_list() -> None:
    assert not list(find_code(""))
    assert not list(find_code("what is this\nAnonymous:             0 kB\n"))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not list what a process has mapped")
def test_code_is_unmapped_and_comes_back() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
