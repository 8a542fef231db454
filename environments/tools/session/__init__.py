"""Tools about the trial itself: its end, waiting, long results, what has happened."""
