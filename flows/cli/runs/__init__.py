"""Commands about runs: start and carry on, estimate, read, export."""
