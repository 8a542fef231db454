"""Refined trials: what they have of the attempt before, and feedback that a model writes."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from stages.execute import work
from stages.execute.earlier import agents_files
from stages.prepare.work import first_trial
from taskdata.schema.agent import AgentSpec
from taskdata.schema.checkpoint import AskedAgain, Check, Checkpoint
from taskdata.schema.environment import TaskEnvironment
from taskdata.schema.run import (
    Deliverable,
    OutcomeStatus,
    Run,
    RunConfig,
    RunStatus,
    Trial,
    TrialOutcome,
)
from taskdata.schema.scores import LeafScore, NodeScore, TrialScore
from taskdata.schema.service import PostgresqlService
from taskdata.schema.task import InputFile, Task
from taskdata.schema.transcript import MessageEvent, ToolEvent
from taskdata.schema.views import JsonView, RenderedDeliverable
from tests.paid import paid

REVIEWS = "You review an attempt"
AGENT = "function_calling:openai/gpt-5.2"
LIST_ALL = "import os; print(sorted(os.path.join(d, f) for d, _, fs in os.walk('.') for f in fs))"


@pytest.fixture
def night(store, wire, monkeypatch, new_task) -> Callable[..., Run]:
    """Store a run of one task, planned but not executed; its models are the scripted provider."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-arms")

    def make(task: Task | None = None, **config: object) -> Run:
        agent = AgentSpec.parse(AGENT, base_url=wire.openai_url)
        task = task or new_task(tools=("python_execute", "write_file"))
        critic = {"critic": "openai/gpt-5-mini", "critic_base_url": wire.openai_url}
        fields = {"bank": "test", "agents": [agent], "refinement_rounds": 2, **critic, **config}
        run = Run(
            id=f"run-{len(store.runs())}",
            status=RunStatus.RUNNING,
            config=RunConfig.model_validate(fields),
            release_hash=store.add_release("test", (task,), {}).hash,
            code_version="test",
            created_at=datetime.now(UTC),
        )
        store.add_run(run)
        store.plan_trials([first_trial(run.id, agent.name, task.content_hash, task, 0)])
        return run

    return make


@pytest.fixture
def says(wire):
    """Script the models: what the agent does turn by turn, its last turn again where it is asked
    to go on, and what a critic writes."""

    def script(agent: list[object], critic: list[object] = ()) -> list[str]:
        turns, reviews, asked = list(agent), list(critic), []

        def respond(seen):
            texts = [str(m["content"]) for m in seen.body["messages"]]
            if texts[0].startswith(REVIEWS):
                asked.append("\n".join(texts))
                said = reviews.pop(0)
            else:
                said = turns.pop(0) if len(turns) > 1 else turns[0]
            return wire.says(said) if isinstance(said, str) else said

        wire.respond = respond
        return asked

    return script


@pytest.fixture
def refine(store, tmp_path: Path) -> Callable[..., Trial]:
    """Plan a trial that refines another, as the refine stage does, and execute its round."""

    def run(parent: Trial, arm: str, feedback: str | None = None) -> Trial:
        round_ = parent.round + 1
        own = Trial.make_id(
            parent.run_id, parent.agent, parent.task_id, parent.repetition, round_, arm
        )
        fields = {"id": own, "round": round_, "arm": arm, "feedback": feedback}
        trial = parent.model_copy(update={**fields, "parent_trial_id": parent.id})
        store.plan_trials([trial])
        work.do(store, parent.run_id, round_, tmp_path / "home")
        return store.trial(trial.id)

    return run


@pytest.fixture
def first(store, wire, says, tmp_path: Path) -> Callable[[Run], Trial]:
    """Execute the first attempt, which leaves a file and an answer; returns the trial."""

    def run(night: Run) -> Trial:
        content = {"path": "output/out.json", "content": '{"sum": 4}'}
        says([wire.says("", ("write_file", content)), "The sum is 4."])
        work.do(store, night.id, 0, tmp_path / "home")
        (trial,) = store.trials(night.id, 0)
        return trial

    return run


def scored(store, trial: Trial) -> None:
    """Store the view of the trial's file, and a score whose reason no critic may see."""
    (file,) = store.outcome(trial.id).deliverables
    leaf = LeafScore(leaf_id="sum", score=0, verifier="check:x@1", reason="expected canary 5")
    root = NodeScore(id="sum", requirement="canary", weight=1, score=0, coverage=1, leaf=leaf)
    view = RenderedDeliverable(name=file.name, sha256=file.sha256, view=JsonView(value={"sum": 4}))
    store.record_score(TrialScore(trial_id=trial.id, root=root, scorer_version="1"), [view])


def told(store, trial: Trial) -> str:
    """What the agent was told to do."""
    events = store.transcript(trial.id).events
    return next(e.text for e in events if isinstance(e, MessageEvent) and e.role == "user")


def looked_at(store, trial: Trial) -> str:
    return next(e.text for e in store.transcript(trial.id).events if isinstance(e, ToolEvent))


def test_an_agent_that_starts_afresh_has_its_earlier_files_to_read(
    store, wire, night, first, says, refine
):
    parent = first(night())
    says([wire.says("", ("python_execute", {"code": LIST_ALL})), "Done."])

    trial = refine(parent, "coarse", "The result is not right yet.")

    assert "input/previous_attempt/out.json" in told(store, trial)
    assert "Your previous answer:\nThe sum is 4." in told(store, trial)
    assert "Feedback on your previous attempt:\nThe result is not right" in told(store, trial)
    assert "previous_attempt/out.json" in looked_at(store, trial)
    assert "output/out.json" not in looked_at(store, trial)
    assert store.outcome(trial.id).deliverables == ()


def test_an_agent_that_goes_on_has_its_earlier_files_in_its_output_folder(
    store, wire, night, first, says, refine
):
    parent = first(night(refine_in="workspace"))
    says([wire.says("", ("python_execute", {"code": LIST_ALL})), "Done."])

    trial = refine(parent, "none")

    assert "output/ has the files that your previous attempt left" in told(store, trial)
    assert "output/out.json" in looked_at(store, trial)
    assert "previous_attempt" not in looked_at(store, trial)
    assert store.outcome(trial.id).deliverables == store.outcome(parent.id).deliverables


def test_the_arm_without_feedback_differs_from_the_others_in_the_feedback_alone(
    store, night, first, says, refine
):
    parent = first(night())
    says(["Done.", "Done."])

    plain, coarse = refine(parent, "none"), refine(parent, "coarse", "Not right yet.")

    assert plain.feedback is None
    ending = "\n\nFeedback on your previous attempt:\nNot right yet."
    assert told(store, coarse) == told(store, plain) + ending


def test_what_nightshift_adds_to_a_trial_is_not_given_to_the_next_attempt(new_task):
    again = AskedAgain(tool="rates", check=Check(name="answer_contains", args={"all": [["5"]]}))
    around = TaskEnvironment(services=(PostgresqlService(name="shop"),))
    names = ("out.json", "asked_again/rate.json", "services/shop.json", "sub/services/a.txt")
    outcome = TrialOutcome(
        trial_id="t1",
        attempt=1,
        status=OutcomeStatus.FINISHED,
        deliverables=tuple(Deliverable(name=n, sha256="0" * 64, size_bytes=1) for n in names),
        sandbox="bubblewrap",
        code_version="test",
        started_at=datetime.now(UTC),
        finished_at=datetime.now(UTC),
    )
    task = new_task(
        environment=around,
        checkpoints=Checkpoint(id="rate", requirement="The rate is right.", verifier=again),
    )

    assert [f.name for f in agents_files(outcome, task)] == ["out.json", "sub/services/a.txt"]
    assert len(agents_files(outcome, new_task())) == 4


def test_who_goes_on_in_one_workspace_has_what_was_left_and_not_what_was_deleted(
    store, wire, says, refine, new_task, tmp_path: Path, night
):
    task = new_task(
        tools=("python_execute", "write_file"),
        environment=TaskEnvironment(one_workspace=True),
        files=(InputFile(path="old.txt", sha256=store.artifacts.put_bytes(b"old"), size_bytes=3),),
    )
    run = night(task, refine_in="workspace")
    tidy = "import os; os.remove('output/old.txt'); open('output/new.txt', 'w').write('new')"
    says([wire.says("", ("python_execute", {"code": tidy})), "Tidied."])
    work.do(store, run.id, 0, tmp_path / "home")
    (parent,) = store.trials(run.id, 0)
    says([wire.says("", ("python_execute", {"code": LIST_ALL})), "Done."])

    trial = refine(parent, "none")

    assert "output/new.txt" in looked_at(store, trial)
    assert "old.txt" not in looked_at(store, trial)


def test_a_later_round_that_asks_the_same_is_not_answered_from_the_round_before(
    store, wire, night, first, says, refine
):
    parent = first(night(replies="keep"))
    says(["Done."])
    second = refine(refine(parent, "none"), "none")
    before = len(wire.seen)

    third = refine(second, "none")

    assert told(store, third) == told(store, second)
    assert len(wire.seen) > before


def test_a_critic_writes_the_feedback_and_is_paid_apart(store, night, first, says, refine, task):
    run = night()
    parent = first(run)
    scored(store, parent)
    asked = says(["Done."], ["  The sum does not match the query. \n"])

    trial = refine(parent, "critic")

    assert trial.feedback == "The sum does not match the query."
    assert told(store, trial).endswith(f"previous attempt:\n{trial.feedback}")
    (shown,) = asked
    assert task.query in shown
    for of_the_work in ('"sum": 4\n', "The sum is 4.", "write_file"):
        assert of_the_work in shown
    assert "canary" not in shown
    (result,) = store.results(run.id, 1)
    assert result.critique.calls == 1
    assert result.critique.cost_usd > 0
    total = sum(r.outcome.cost_usd + r.critique.cost_usd for r in store.results(run.id))
    assert paid(store, run.id)[1] == pytest.approx(total)
    assert store.spent_usd(run.id) == pytest.approx(total)


def test_the_agents_own_model_writes_the_feedback_of_the_arm_self(
    store, wire, night, first, says, refine
):
    parent = first(night(critic=None))
    asked = says(["Done."], ["Check the sum."])

    trial = refine(parent, "self")

    assert trial.feedback == "Check the sum."
    assert "The attempt is your own" in asked[0]
    assert {seen.body["model"] for seen in wire.seen} == {"gpt-5.2"}


def test_a_killed_trial_asks_and_pays_its_critic_once(
    store, wire, night, first, says, refine, monkeypatch, tmp_path: Path
):
    run = night()
    parent = first(run)
    asked = says([wire.fails(401)], ["The sum is off."])
    lost = refine(parent, "critic")
    assert store.outcome(lost.id).status is OutcomeStatus.INFRASTRUCTURE
    assert lost.feedback == "The sum is off."

    says(["Done."])
    work.do(store, run.id, 1, tmp_path / "home")

    assert store.outcome(lost.id).status is OutcomeStatus.FINISHED
    assert len(asked) == 1
    assert told(store, lost).endswith("previous attempt:\nThe sum is off.")


def test_a_reply_that_was_paid_for_is_used_though_its_feedback_was_not_stored(
    store, night, first, says, refine, monkeypatch, tmp_path: Path
):
    run = night()
    parent = first(run)
    asked = says(["Done."], ["The sum is off."])

    def killed(*given: object) -> str:
        raise OSError("the worker is gone")

    with monkeypatch.context() as patch:
        patch.setattr(type(store), "record_feedback", killed)
        lost = refine(parent, "critic")
    assert store.outcome(lost.id).status is OutcomeStatus.INFRASTRUCTURE
    before = store.spent_usd(run.id)

    work.do(store, run.id, 1, tmp_path / "home")

    assert store.trial(lost.id).feedback == "The sum is off."
    assert len(asked) == 1
    (result,) = store.results(run.id, 1)
    assert store.spent_usd(run.id) == pytest.approx(before + result.outcome.cost_usd)


def test_the_critic_is_under_the_cap_of_the_run(store, night, first, says, refine):
    run = night(max_usd=10.0)
    parent = first(run)
    store.set_max_usd(run.id, store.spent_usd(run.id) + 1e-6)
    asked = says([], [])

    trial = refine(parent, "critic")

    outcome = store.outcome(trial.id)
    assert outcome.status is OutcomeStatus.INFRASTRUCTURE
    assert outcome.error.startswith("the run's money is used up")
    assert asked == []


def test_a_critic_that_cannot_be_reached_is_no_failure_of_the_agent(
    store, wire, night, first, says, refine
):
    parent = first(night())
    says([], [wire.fails(401)])

    trial = refine(parent, "critic")

    outcome = store.outcome(trial.id)
    assert outcome.status is OutcomeStatus.INFRASTRUCTURE
    assert outcome.error.startswith("feedback by openai/gpt-5-mini: ")
