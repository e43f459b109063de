"""A local page that shows one agent's memory: searches and why they find what they find, notes, days, and the index's health."""
