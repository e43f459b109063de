"""SQLite: databases, their connections and files, and the index. The only room that knows the driver."""
