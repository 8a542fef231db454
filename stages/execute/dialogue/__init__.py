"""What every harness over a model shares: conversation, budgets, record, prompts."""
