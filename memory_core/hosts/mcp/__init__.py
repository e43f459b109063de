"""An MCP server: the tools and notes of one agent's memory for any MCP client, over standard input and output or HTTP."""
