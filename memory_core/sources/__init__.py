"""Notes and session logs on disk: find, read, append, redact."""
