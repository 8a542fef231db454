"""Dask under a stage: workers, the trials they take, and the limits they share."""
