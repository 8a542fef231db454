import json
from datetime import timedelta

import pytest

from flows.config import load_settings
from stages.prepare.work import first_trial
from taskdata.schema.agent import AgentSpec
from taskdata.schema.plan import Plan, PlanStep, PlanVersion
from taskdata.schema.run import Run, RunConfig, RunStatus
from taskdata.schema.scores import NodeScore, TrialScore
from taskdata.schema.task import Capability, ReferenceSolution, ReferenceStep
from taskdata.schema.tool import ToolSpec
from taskdata.schema.transcript import Ending, Transcript
from taskdata.store import Store
from tests.flows.cli.conftest import NOW, finished_outcome
from tests.planning_cases import make_case, make_case_task, make_mark

MODEL = "openai/gpt-5.2"
PLANNER, DOER = f"function_calling:{MODEL}", f"react:{MODEL}"


@pytest.fixture
def planned_run(home, stored_run):
    """A night of an agent on six tasks, and then whole plans of its model for the same tasks."""
    stored_run({DOER: (9.0, 8.0, 9.0, 2.0, 1.0, 3.0)})
    store = Store.open(load_settings().address)
    sources = list(store.tasks_of_run("run-1").values())
    cases = []
    for n, source in enumerate(sorted(sources, key=lambda task: task.id)):
        case = make_case(source=source.id)
        origin = case.origin.model_copy(update={"task_hash": source.content_hash})
        cases.append(make_case_task(f"c{n}", case.model_copy(update={"origin": origin})))
    run = Run(
        id="run-2",
        status=RunStatus.COMPLETED,
        config=RunConfig(bank="plans", agents=(AgentSpec.parse(PLANNER),)),
        release_hash=store.add_release("plans", tuple(cases), {}).hash,
        code_version="test",
        created_at=NOW + timedelta(hours=1),
    )
    store.add_run(run)
    transcript = Transcript(events=(), final_answer="", ending=Ending.FINISHED)
    for n, task in enumerate(cases):
        trial = first_trial(run.id, PLANNER, task.content_hash, task, 0)
        store.plan_trials([trial])
        store.record_outcome(finished_outcome(store, trial.id, None, transcript))
        mark = make_mark(1.0) if n < 3 else make_mark(0.4, ["E2"])
        root = NodeScore(
            id="root", requirement="x", weight=1, score=10 * mark.grade, coverage=1, planning=mark
        )
        store.record_score(TrialScore(trial_id=trial.id, root=root, scorer_version="1"), ())
    store.close()


def test_programs_get_the_planning_tables(command, planned_run):
    found = json.loads(command("results", "--planning", "--json").stdout)
    (agent,) = found["agents"]
    assert found["run"] == "run-2"
    assert agent["settings"]["holistic"]["correct"]["mean"] == 0.5
    assert agent["settings"]["holistic"]["errors"]["E2 task_incompleteness"]["mean"] == 0.5


def test_plans_are_held_against_what_the_model_achieved_on_the_tasks(command, planned_run):
    by_correctness, by_grade = json.loads(command("results", "--planning", "--json").stdout)[
        "outcomes"
    ]
    assert by_correctness["doing_agent"] == DOER
    assert by_correctness["tasks"] == 6
    assert by_correctness["correlation"] == pytest.approx(0.98, abs=0.02)
    assert by_grade["by"] == "grade"


def test_people_read_settings_errors_and_the_correlation(command, planned_run):
    shown = " ".join(command("results", "--planning").stdout.split())
    assert "plans by setting (APB, table 1)" in shown
    assert "holistic" in shown
    assert "50%" in shown
    assert "Do plans foretell root scores?" in shown


def test_a_run_without_planning_cases_says_what_has_them(command, planned_run):
    refused = command("results", "run-1", "--planning")
    assert refused.returncode == 2
    assert "has no planning cases" in refused.stderr
    assert command("results", "--planning", "--wide").returncode == 2


WAYS = tuple(f"react{way}:{MODEL}" for way in ("", "+plan_first", "+plan_refine"))
OFFERED = tuple(
    ToolSpec(name=name, description="", category=Capability.OPERATION, parameters={})
    for name in ("read_file", "write_file")
)


def _version(*tools: str) -> PlanVersion:
    return PlanVersion(steps=tuple(PlanStep(purpose="Do it.", tool=tool) for tool in tools))


@pytest.fixture
def run_with_plans(home, new_task):
    """Two tasks done in three ways: of the shared drafts one is faulty, and it is mended."""
    store = Store.open(load_settings().address)
    steps = (
        ReferenceStep(tool="read_file", arguments={"path": "input/a.csv"}),
        ReferenceStep(tool="write_file", arguments={"path": "output/out.json"}),
    )
    solved = ReferenceSolution(steps=steps, final_answer="")
    tools = ("read_file", "write_file", "finish")
    tasks = tuple(new_task(f"task-{n}", tools=tools, reference=solved) for n in range(2))
    run = Run(
        id="run-3",
        status=RunStatus.COMPLETED,
        config=RunConfig(bank="b", agents=tuple(AgentSpec.parse(name) for name in WAYS)),
        release_hash=store.add_release("b", tasks, {}).hash,
        code_version="test",
        created_at=NOW,
    )
    store.add_run(run)
    right, wrong = _version("read_file", "write_file"), _version("open_csv", "write_file")
    for n, task in enumerate(tasks):
        draft = wrong if n else right
        plans = (None, Plan(draft=draft), Plan(draft=draft, refined=right))
        for agent, plan in zip(WAYS, plans, strict=True):
            trial = first_trial(run.id, agent, task.content_hash, task, 0)
            store.plan_trials([trial])
            kept = Transcript(
                events=(), final_answer="", ending=Ending.FINISHED, tools=OFFERED, plan=plan
            )
            store.record_outcome(finished_outcome(store, trial.id, None, kept))
            root = NodeScore(id="root", requirement="x", weight=1, score=8.0, coverage=1)
            store.record_score(TrialScore(trial_id=trial.id, root=root, scorer_version="1"), ())
    store.close()


def test_plans_before_the_work_are_told_with_what_code_finds_in_them(command, run_with_plans):
    (ways,) = json.loads(command("results", "--planning", "--json").stdout)["ways"]
    first, refined = ways["drafts"]["plan_first"], ways["drafts"]["plan_refine"]
    assert (first["plans"], first["faulty"]["mean"]) == (2, 0.5)
    assert first["errors"] == {"E2": 1, "E6": 1}
    assert (refined["faulty"]["mean"], refined["as_reference"]) == (0, 2)

    shown = " ".join(command("results", "--planning").stdout.split())
    assert "50% of 2" in shown
    assert "0% of 2" in shown
    assert "Other plans are not proven right" in shown
