"""Where untrusted programs run: one policy, two providers, and what may leave a sandbox."""
