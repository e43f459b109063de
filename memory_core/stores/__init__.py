"""Indexes on disk and on a server: one interface, implemented by SQLite and by PostgreSQL."""
