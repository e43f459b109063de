"""Real code that misbehaves, or answers, to order."""
