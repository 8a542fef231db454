"""The Model Context Protocol: a client for the servers of tasks, and a server for our tools."""
