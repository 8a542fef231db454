"""The `nightshift` command: one module per group of commands, slow imports inside them."""
