"""Tests on a real PostgreSQL server."""
