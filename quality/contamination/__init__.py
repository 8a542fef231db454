"""Whether text that a model was trained on, or wrote, holds tasks of a bank."""
