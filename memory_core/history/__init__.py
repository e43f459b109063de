"""History: old versions of notes in a file of their own, and the moments at which they stood."""
