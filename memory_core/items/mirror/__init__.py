"""The mirror: captured items as a section of the daily note, which a person can read, correct and delete."""
