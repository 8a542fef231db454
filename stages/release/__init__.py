"""From reviewed candidates, or an import, to an immutable release of a bank."""
