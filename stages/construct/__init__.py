"""Build tasks from seed queries: generate, classify, rewrite, validate, prove, review, release."""
