"""A warm Python in a trial's sandbox: it keeps libraries loaded and forks for each tool call."""
