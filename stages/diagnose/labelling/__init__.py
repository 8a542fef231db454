"""Labels by a model: what rules leave open, what it is shown, and how its reply is checked."""
