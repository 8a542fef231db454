"""Tools that analyse and change pictures, with classical methods and small local models."""
