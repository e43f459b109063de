"""Time and threads: pauses between attempts, and calls that are waited for no longer than a deadline."""
