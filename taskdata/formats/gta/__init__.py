"""The published files of GTA-Atomic and GTA-Workflow."""
