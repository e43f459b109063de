"""Helpers that several tests import: `tests.command`, `tests.guard`."""
