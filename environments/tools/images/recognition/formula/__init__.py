"""Reading a printed formula: its signs by their shapes, its structure by their places."""
