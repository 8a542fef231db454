"""What cannot be played is named when the run is planned."""

import pytest

from environments.services.postgresql import MISSING
from stages.prepare import work
from taskdata.errors import Misuse
from taskdata.schema.agent import AgentSpec, Budget
from taskdata.schema.service import PostgresqlService
from taskdata.schema.task import ReferenceSolution, ReferenceStep, TaskEnvironment


def test_the_plan_says_which_tool_is_not_ready(store, new_run, new_task):
    run = new_run(new_task("seen", tools=("TextToImage", "Plot")), new_task("plain"))

    report = work.do(store, run.id)

    assert (report.due, report.done) == (2, 2)
    assert report.note.startswith(
        "2 trials planned over 2 tasks; 1 of them need a tool or service that is not ready, and "
        "cannot run: tool TextToImage: needs a model that draws"
    )


def test_steps_that_are_only_predicted_need_no_tool_whose_results_are_recorded(
    store, new_run, new_task
):
    step = ReferenceStep(tool="TextToImage", arguments={"keywords": "a cat"}, result="cat.png")
    reference = ReferenceSolution(steps=(step,), final_answer="Here it is.")
    seen = new_task("seen", tools=("TextToImage", "Plot"), reference=reference)
    agents = ("react_steps:local/smollm2-135m",)
    assert "not ready" not in work.do(store, new_run(seen, agents=agents).id).note
    unrecorded = step.model_copy(update={"result": None})
    reference = reference.model_copy(update={"steps": (unrecorded,)})
    played = new_task("played", tools=("TextToImage", "Plot"), reference=reference)
    assert "tool TextToImage" in work.do(store, new_run(played, agents=agents).id).note


def test_a_plan_without_such_tools_says_nothing_of_them(store, new_run, new_task):
    report = work.do(store, new_run(new_task("plain")).id)
    assert report.note == "1 trials planned over 1 tasks"


def test_the_plan_says_which_server_is_not_installed(store, new_run, new_task, tmp_path):
    around = TaskEnvironment(servers=("time",))
    report = work.do(store, new_run(new_task("clock", environment=around)).id, tmp_path)
    assert "; 1 of them need a tool or service that is not ready" in report.note
    assert "run `nightshift mcp install time`" in report.note


def test_the_plan_says_which_service_is_missing(store, new_run, new_task, monkeypatch):
    monkeypatch.setattr("environments.services.postgresql.newest_binaries", lambda: None)
    shop = PostgresqlService(kind="postgresql", name="shop", database="shop")
    task = new_task("stock", environment=TaskEnvironment(services=(shop,)))

    report = work.do(store, new_run(task).id)

    assert f"not ready, and cannot run: service shop: {MISSING}" in report.note


@pytest.mark.parametrize("field", ["image_model", "video_model"])
def test_a_cap_is_refused_with_a_model_that_it_does_not_hold(store, new_run, new_task, field):
    run = new_run(new_task("seen"), max_usd=2.0, **{field: "openai/maker"})
    with pytest.raises(Misuse, match=f"max_usd = 2: what {field} = 'openai/maker' costs is not"):
        work.do(store, run.id)


def test_so_is_a_trials_cap(new_run):
    agent = AgentSpec.parse("react:local/smollm2-135m", budget=Budget(max_usd=1.0))
    run = new_run(agents=(agent,), image_model="openai/gpt-image-1")
    with pytest.raises(Misuse, match="max_usd = 1: what image_model"):
        work.require(run.config)


def test_a_task_without_a_reference_is_not_given_to_the_reference_agent(store, new_run, new_task):
    solved = new_task("solved", reference=ReferenceSolution(steps=(), final_answer="42"))
    run = new_run(new_task("open"), solved, agents=("reference", "nop"))
    report = work.do(store, run.id)
    assert report.due == 3
    assert "; 1 without a reference solution are not given to reference" in report.note
    assert {t.task_id for t in store.trials(run.id) if t.agent == "reference"} == {"solved"}


def test_a_run_in_which_nobody_has_anything_to_play_is_refused(store, new_run, new_task):
    run = new_run(new_task("open"), agents=("reference",))
    with pytest.raises(Misuse, match=r"no task of bank .* has a reference solution"):
        work.do(store, run.id)
