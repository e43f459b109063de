"""Backends: find an installed one, ask it within a deadline, answer from builtin while it fails."""
