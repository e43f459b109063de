"""Lets `python -m memory_core` run the command line."""

from __future__ import annotations

import sys

from memory_core.cli.main import main

sys.exit(main())
