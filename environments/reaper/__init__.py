"""Nothing we start outlives us: whose it is, whether they still live, and its removal."""
