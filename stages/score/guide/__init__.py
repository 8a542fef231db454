"""The reference of checks in docs/checks.md, and its examples."""
