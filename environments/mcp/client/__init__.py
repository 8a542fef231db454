"""The client side: servers that nobody here wrote, and whose every word is untrusted."""
