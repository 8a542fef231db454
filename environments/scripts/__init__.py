"""Programs of tasks that score a trial, as they run inside their sandbox."""
