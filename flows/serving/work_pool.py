"""The deployments of `nightshift serve` as `prefect.yaml`, for a work pool of Prefect's.

`python -m flows.serving.work_pool` writes that file, and the automation that `serve` installs.
"""

import json
from pathlib import Path
from typing import Any

import yaml
from prefect.deployments.runner import RunnerDeployment

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
    automation = heartbeat_automation(_HEARTBEAT_SECONDS).model_dump_json(exclude_none=True)
    whole = json.loads(automation)
    # A set, whose order differs from one process to the next.
    whole["trigger"]["expect"].sort()
    return _WRITTEN_BY + yaml.safe_dump({"automations": [whole]}, sort_keys=False)


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
    ]
    return told | ({"schedules": schedules} if schedules else {})


if __name__ == "__main__":
    (_ROOT / "prefect.yaml").write_text(project_file(Settings()), encoding="utf-8")
    (_ROOT / "deploy" / "automations.yaml").write_text(automation_file(), encoding="utf-8")
