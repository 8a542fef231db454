"""Another attempt at what failed, fed with feedback on the attempt before."""
