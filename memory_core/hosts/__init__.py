"""Thin hosts: each brings the slot to other people's programs, through the public surface only."""
