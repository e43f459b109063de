"""What the backends under contract need besides a workspace."""

from tests.qmd.conftest import fake

__all__ = ["fake"]
