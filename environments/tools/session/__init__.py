"""Tools around the trial itself: ending it, waiting, searching, long results, history."""
