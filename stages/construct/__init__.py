"""Build tasks from stored seed queries: generate, classify, rewrite, validate and prove."""
