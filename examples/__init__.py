"""Programs that show the pipeline at work without a key or a network."""
