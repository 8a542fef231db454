"""What refinement changed, from the stored results of a run's trials."""
