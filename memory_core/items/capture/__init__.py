"""Capture: facts learned from a finished exchange, by the host's model or by rules."""
