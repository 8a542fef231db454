"""What a sandbox's programs use, seen from outside, where no kernel limit holds all of them."""
