"""Tools that run on the host: how they are declared, what they use, when they are ready."""
