"""`python -m memory_core` is `memory-core`."""

from __future__ import annotations

import sys

from memory_core.cli import main

sys.exit(main())
