"""Tests with the real packages of the frameworks that memory-core has hosts for: `make test-hosts`."""
