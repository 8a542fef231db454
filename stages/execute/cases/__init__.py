"""Planning cases: what a planner is asked, how its answer is read, and who else may answer."""
