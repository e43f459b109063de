"""Thin hosts, one a module: each connects the slot to other programs and uses only its public methods."""
