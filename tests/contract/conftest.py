"""Fixtures of the backends under contract."""

import pytest

from tests.qmd.conftest import fake

pytest.register_assert_rewrite("memory_core.testing")

__all__ = ["fake"]
