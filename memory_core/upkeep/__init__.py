"""Looks after the notes: finds what is outdated, repeated or broken in them, and changes what a person has accepted."""
