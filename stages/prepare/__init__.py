"""Select a bank release and plan the trials of a run."""
