"""What agents can call: one folder of tools per family."""
