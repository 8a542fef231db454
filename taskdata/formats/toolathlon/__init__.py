"""The Toolathlon format: a pool is a folder per task, beside the MCP servers that tasks use."""
