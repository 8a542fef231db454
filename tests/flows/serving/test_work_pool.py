"""prefect.yaml says what `nightshift serve` serves."""

from pathlib import Path

import yaml
from prefect.utilities.importtools import import_object

from flows.config import Settings
from flows.serving.deployments import deployments
from flows.serving.work_pool import automation_file, project_file

ROOT = Path(__file__).resolve().parents[3]
WRITE = "write it again: make prefect-yaml"


def test_the_file_in_the_project_is_up_to_date(home):
    assert (ROOT / "prefect.yaml").read_text() == project_file(Settings()), WRITE
    assert (ROOT / "deploy" / "automations.yaml").read_text() == automation_file(), WRITE


def test_a_work_pool_has_every_deployment_with_its_limits(home):
    settings = Settings(nights_at_once=2, when_busy="skip", schedule_timezone="Asia/Tokyo")
    told = yaml.safe_load(project_file(settings))["deployments"]
    assert [one["name"] for one in told] == [one.name for one in deployments(settings)]
    night = told[0]
    assert night["concurrency_limit"] == {"limit": 2, "collision_strategy": "CANCEL_NEW"}
    assert night["schedules"] == [{"cron": "0 2 * * *", "timezone": "Asia/Tokyo"}]
    for one in told:
        assert import_object(one["entrypoint"]).name
        assert one["work_pool"] == {"name": "nightshift"}
