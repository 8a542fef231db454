"""Estimates that respect clustering by task: intervals, paired comparisons, pass@k."""
