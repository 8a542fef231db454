"""The cases themselves, one setting after the other, and what must hold of each."""
