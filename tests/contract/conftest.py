"""Fixtures of the backends under contract."""

from tests.qmd.conftest import fake

__all__ = ["fake"]
