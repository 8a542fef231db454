"""The facts: schema, store, artifacts and the bundled task banks. Imports nothing else of ours."""
