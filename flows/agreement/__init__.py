"""Agreement of judges with people: scores gathered from runs, cards made, kept and consulted."""
