"""Score: deliverables against checkpoint trees, after the agent's sandbox is gone."""
