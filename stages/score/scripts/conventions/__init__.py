"""How the programs of a format are run, and how their verdict is read: one module per format."""
