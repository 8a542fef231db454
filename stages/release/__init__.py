"""Makes an immutable release of a bank, from reviewed candidates or from an import."""
