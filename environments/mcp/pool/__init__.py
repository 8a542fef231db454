"""Servers that pools of tasks bring as source: built once in a sandbox, started in a trial's."""
