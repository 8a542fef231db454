"""The refresh of a task bank under Prefect: its DAG, one flow per stage, gates, the review form."""
