"""memory-core: a memory slot for agents. Markdown notes are the truth; this finds them again."""

from __future__ import annotations

__version__ = "0.1.0"
