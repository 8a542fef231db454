"""A Python in a trial's sandbox that keeps libraries loaded and forks for each tool call."""
