"""The client side: servers written by third parties, whose every answer is untrusted."""
