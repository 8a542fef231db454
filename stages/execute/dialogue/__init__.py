"""What the harnesses over a model share: conversation, budgets, journal, prompts."""
