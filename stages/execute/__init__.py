"""The execute stage: agents work on tasks in sandboxes, and what they did is stored."""
