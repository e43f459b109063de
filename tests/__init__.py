"""What tests share is imported from here: `tests.command`, `tests.guard`."""
