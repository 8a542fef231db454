"""What a dry run of a refresh of planning cases shows."""

import json
from datetime import UTC, datetime

import pytest

from flows.cli.bank.plan_cases import show_plan_cases
from quality.bank_statistics import bank_statistics
from taskdata.schema.construct import RefreshConfig
from taskdata.schema.release import ReleaseNotes
from taskdata.schema.task import ReferenceSolution, ReferenceStep


@pytest.fixture
def config(store, new_task):
    """A refresh of one task whose reference has three steps, and of one without a reference."""
    step = ReferenceStep(tool="python_execute", arguments={"code": "print(5)"}, result="5")
    solved = ReferenceSolution(steps=(step, step, step), final_answer="5")
    tasks = [new_task(reference=solved), new_task("bare")]
    release = store.add_release("office", tasks, {})
    store.add_release_notes(
        ReleaseNotes(
            release_hash=release.hash,
            bank="office",
            version=1,
            snapshot_sha256=release.hash,
            statistics=bank_statistics(tasks),
            created_at=datetime.now(UTC),
        )
    )

    def make(**more: object) -> RefreshConfig:
        fields = {"bank": "planned", "base": None, "plan_cases": "office"}
        return RefreshConfig.model_validate(fields | more)

    return make


def test_people_read_cases_trajectories_and_that_no_model_is_asked(store, config, capsys) -> None:
    show_plan_cases(store, config(), as_json=False)
    told = " ".join(capsys.readouterr().out.split())
    assert "holistic 1" in told
    assert "sum-two 3" in told
    assert "reference, as recorded" in told
    assert "Without a trajectory: bare" in told
    assert "No model would be asked" in told


def test_with_a_model_the_most_calls_and_their_cost_are_told(store, config, capsys) -> None:
    asked = config(model={"provider": "openai", "model": "gpt-5.2"})
    show_plan_cases(store, asked, as_json=False)
    told = " ".join(capsys.readouterr().out.split())
    assert "At most, with openai/gpt-5.2" in told
    assert "case_opinion@1" in told
    show_plan_cases(store, asked, as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert f"Together at most {found['calls']:,} calls" in told
    assert f"${found['cost_usd']:.2f}" in told
