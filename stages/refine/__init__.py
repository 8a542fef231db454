"""Another attempt at failed trials, with feedback on the previous attempt."""
