"""The reference of checks: docs/checks.md, and the examples in it."""
