"""Models on this machine, served by a child process."""
