"""The load that benchmarks put on the execute stage: a model server, a planned run, a peer."""
