"""The execute stage: agents work on tasks in sandboxes, and the results are stored."""
