"""Great Expectations gates, and the statistics behind every interval."""
