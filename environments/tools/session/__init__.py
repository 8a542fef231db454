"""Tools about the trial itself: waiting, long results, what has happened."""
