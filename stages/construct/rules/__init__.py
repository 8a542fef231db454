"""Rules that code can hold a draft to: pure functions from a draft to what breaks them."""
