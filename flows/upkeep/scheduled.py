"""The prune of a served installation, as a flow of its own on its own schedule."""

from prefect import flow
from prefect.artifacts import create_table_artifact
from prefect.runtime import flow_run

from flows.config import load_settings
from flows.publishing import plain
from flows.upkeep.pruning import prune


@flow(name="prune")
def prune_flow() -> None:
    """Remove the runs that the table `retention` of nightshift.toml does not keep."""
    settings = load_settings()
    report = prune(settings, settings.retention)
    if not flow_run.get_id():
        return
    rows = [{"run": run_id, "what": "removed"} for run_id in report.removed]
    rows += [{"run": run_id, "what": "its files are too young"} for run_id in report.waiting]
    kept = "; ".join(f"{count} runs stay: {why}" for why, count in report.plan.kept.items())
    create_table_artifact(
        rows or [{"run": "none", "what": ""}], key="prune", description=plain(kept)
    )
