"""The file of old versions of notes: all of its SQL."""
