"""One memory on several machines: notes and items travel over a git remote, and are merged here without a conflict mark."""
