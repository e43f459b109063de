"""Claude Code: a plugin with the MCP server, a skill and hooks, and the answers to its hooks."""
