"""How the programs of a format are run, and how they say their verdict: one module per format."""
