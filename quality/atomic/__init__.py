"""The metrics of GTA's atomic tier, as its published scorer counts them."""
