"""Checks of what is published, outside the test suite: `make package` and `make joint`."""
