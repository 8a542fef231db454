"""The check library: one family of deterministic checks per file, all pure functions."""
