"""Tools that look at pictures and change them, with classical methods and small local models."""
