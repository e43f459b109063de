"""The builtin backend: the index of one agent in one SQLite file."""
