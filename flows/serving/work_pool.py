"""The deployments of `nightshift serve` as `prefect.yaml`, for a work pool of Prefect's.

`python -m flows.serving.work_pool` writes that file, and the automation that `serve` installs.
"""

from pathlib import Path
from typing import Any

import yaml
from prefect.client.schemas.schedules import CronSchedule
from prefect.deployments.runner import RunnerDeployment
from pydantic import BaseModel

from flows.config import Settings
from flows.serving.deployments import deployments, heartbeat_automation

_ROOT = Path(__file__).resolve().parents[2]
_POOL = "nightshift"
_HEARTBEAT_SECONDS = 30
_WRITTEN_BY = "# Written by `make prefect-yaml` from flows/serving/deployments.py.\n"


def project_file(settings: Settings) -> str:
    """Return the contents of `prefect.yaml`: what `serve` serves, for the work pool `nightshift`.

    Workers find the code in their own environment, so nothing is built, pushed or pulled.
    """
    served = [_deployment(deployment) for deployment in deployments(settings)]
    whole = {"name": "nightshift", "build": None, "push": None, "pull": None}
    return _WRITTEN_BY + yaml.safe_dump(whole | {"deployments": served}, sort_keys=False)


def automation_file() -> str:
    """Return the automation that crashes silent flow runs, for `prefect automation create`."""
    automation = _plain(heartbeat_automation(_HEARTBEAT_SECONDS))
    return _WRITTEN_BY + yaml.safe_dump({"automations": [automation]}, sort_keys=False)


def _deployment(deployment: RunnerDeployment) -> dict[str, Any]:
    told: dict[str, Any] = {
        "name": deployment.name,
        "entrypoint": deployment.entrypoint,
        "description": deployment.description,
        "tags": deployment.tags,
        "parameters": deployment.parameters,
        "work_pool": {"name": _POOL},
    }
    if deployment.concurrency_limit is not None and deployment.concurrency_options is not None:
        strategy = deployment.concurrency_options.collision_strategy.value
        told["concurrency_limit"] = {
            "limit": deployment.concurrency_limit,
            "collision_strategy": strategy,
        }
    schedules = [
        {"cron": one.schedule.cron, "timezone": one.schedule.timezone}
        for one in deployment.schedules or ()
        if isinstance(one.schedule, CronSchedule)
    ]
    triggers = [_plain(trigger) for trigger in deployment.triggers]
    more = {"schedules": schedules, "triggers": triggers}
    return told | {name: given for name, given in more.items() if given}


def _plain(described: BaseModel) -> dict[str, Any]:
    """Return a trigger or an automation as the file has it, the same in every process."""
    plain: dict[str, Any] = described.model_dump(mode="json", exclude_none=True)
    trigger = plain.get("trigger", plain)
    trigger["expect"] = sorted(trigger["expect"])  # a set
    return plain


if __name__ == "__main__":
    (_ROOT / "prefect.yaml").write_text(project_file(Settings()), encoding="utf-8")
    (_ROOT / "deploy" / "automations.yaml").write_text(automation_file(), encoding="utf-8")
