"""Tools that measure, change and transcribe sounds, all without a network."""
