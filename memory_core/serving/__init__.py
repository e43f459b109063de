"""Backends with an index of their own: sync before a search, answer, warn, report; over any store."""
