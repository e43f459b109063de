"""The postgres backend: one index of many agents and machines, on a PostgreSQL server, isolated by its roles."""
