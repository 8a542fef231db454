"""Prefect only: the nightly DAG, stage flows, deployments, Dask runners, the CLI."""
