"""The work itself, one room per stage, plain Python; every stage hands over through the store."""
