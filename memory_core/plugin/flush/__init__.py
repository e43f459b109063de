"""Memory flush: shortly before a host compacts a session, the agent saves what it wants to keep in a silent turn.

A host calls, in this order:

1. `policy.should_flush`, with what it knows of the session: is a flush due? `policy.plan_flush` decides the same and returns
   the turn: prompts, tool schemas and the one note that may be written.
2. Hosts that can run a nested turn run it themselves. For the others `runner.run_flush` runs it with a function that calls
   the model (`memory_core.completions.Complete`).
3. `cycles.record` writes the outcome into the host's `sessions.json` or into our own record, so that a cycle is flushed only
   once. `cycles.count` finds the cycle of a session, and `cycles.end` counts a compaction, where the host counts none.

`cycles.preview` shows what steps 1 to 3 would do with one session, without running anything.
"""
