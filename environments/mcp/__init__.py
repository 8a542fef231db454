"""The Model Context Protocol, both ways: servers for tasks, and our catalogue as a server."""
