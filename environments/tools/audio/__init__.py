"""Tools that measure sounds, change them, and write down speech, all without a network."""
