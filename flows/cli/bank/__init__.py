"""Commands about task banks: seeds in, refreshes, reviews, releases, banks to and fro."""
