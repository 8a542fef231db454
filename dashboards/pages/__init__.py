"""The page: what is said in words and tables, and how it is put together."""
