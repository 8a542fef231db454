"""Services that a task brings: real servers, started for one trial and reachable by it alone.

A service runs in a sandbox of its own, over a workspace of its own, and has no network either: it
listens on Unix sockets in its output folder, which the trial's sandbox reaches as exposed ports.
The service's program (`inside/`) starts the server, fills it with the task's data, checks its
health and writes its final state to files.
"""
