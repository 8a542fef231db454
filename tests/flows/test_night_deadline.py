"""What a night still begins once its deadline has passed."""

from dataclasses import replace

import pytest

import stages.prepare.work as preparing
from flows.cli.watching import _sentence
from flows.gates import hold_gate
from flows.night_deadline import NightDeadline, left_out
from flows.nightly import stages_of
from flows.stage_flows import _require_done, _Shared
from flows.workers.runners import Spread
from taskdata.errors import StageFailed
from taskdata.schema.agent import AgentSpec, ModelSpec
from taskdata.schema.run import RunConfig, StageReport

NIGHT = 100.0


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def begun(late_from, judge=None, seconds=NIGHT):
    """The stages that begin in a night of two rounds whose deadline passes before one of them."""
    config = RunConfig(agents=(AgentSpec.parse("nop"),), refinement_rounds=1, judge=judge)
    clock = Clock()
    deadline = NightDeadline(seconds, clock)
    keys = []
    for call in stages_of(config):
        if call.key == late_from:
            clock.now = NIGHT
        if deadline.lets(call.stage, call.parameters, config):
            keys.append(call.key)
    return keys


ALL = [
    *("gate-tasks", "prepare", "execute-0", "score-0", "diagnose-0"),
    *("refine-1", "execute-1", "score-1", "diagnose-1", "gate-scores", "publish"),
]


@pytest.mark.parametrize(
    ("late_from", "left_out"),
    [
        (None, []),
        ("execute-0", ALL[2:9]),
        ("score-0", ["refine-1", "execute-1", "score-1", "diagnose-1"]),
        ("execute-1", ["execute-1", "score-1", "diagnose-1"]),
        ("score-1", []),
        ("publish", []),
    ],
)
def test_later_attempts_are_left_out_and_what_is_finished_is_published(late_from, left_out):
    assert begun(late_from) == [key for key in ALL if key not in left_out]


def test_a_judge_costs_money_and_checks_do_not():
    judge = ModelSpec.parse("openai/gpt-5.2")
    assert "score-1" not in begun("score-1", judge)
    assert begun("score-0", judge)[-3:] == ["diagnose-0", "gate-scores", "publish"]


def test_without_a_deadline_everything_begins():
    assert begun("gate-tasks", seconds=float("inf")) == ALL


def test_a_stage_that_costs_money_is_told_how_long_the_night_still_is():
    config = RunConfig(agents=(AgentSpec.parse("nop"),))
    clock = Clock()
    deadline = NightDeadline(NIGHT, clock)
    clock.now = 30.0
    assert deadline.bounds("execute", config) == {"night_seconds_left": 70.0}
    assert deadline.bounds("score", config) == {}
    assert deadline.bounds("publish", config) == {}
    assert NightDeadline(float("inf"), clock).bounds("execute", config) == {}


def test_rules_label_after_the_deadline_and_the_labeller_is_told_when_it_is():
    labeller = ModelSpec.parse("openai/gpt-5.2")
    config = RunConfig(agents=(AgentSpec.parse("nop"),), labeller=labeller)
    clock = Clock()
    deadline = NightDeadline(NIGHT, clock)
    clock.now = NIGHT + 1
    assert deadline.lets("diagnose", {"round": 0}, config)
    assert deadline.bounds("diagnose", config) == {"night_seconds_left": 0.0}
    rules = config.model_copy(update={"labeller": None})
    assert deadline.bounds("diagnose", rules) == {}


def test_a_night_of_which_its_deadline_leaves_out_most_holds_its_gate(store, new_run, new_task):
    run = new_run(*(new_task(f"task-{number}") for number in range(3)))
    preparing.do(store, run.id)
    left_out(store, run.id, "execute", 0, NightDeadline(NIGHT).passed)
    assert all(result.is_left_out for result in store.results(run.id))
    assert hold_gate(store, run.id, "scores").note


def test_a_judge_that_had_no_time_fails_no_stage():
    stopped = StageReport(stage="score 0", run_id="r", due=2, done=0, note=shared(60.0).too_late)
    _require_done(stopped)
    late = stopped.model_copy(update={"note": shared(None).too_late})
    with pytest.raises(StageFailed, match="none of 2 trials"):
        _require_done(late)


def test_a_stage_that_its_own_deadline_stopped_says_what_is_due_and_the_night_goes_on():
    stage = replace(shared(None), stage="execute 0", stage_seconds=25.0)
    report = StageReport(stage="execute 0", run_id="r", due=3, done=0, errors=3)
    went = Spread(done=0, given_up={}, causes=(), was_late=True)
    told = stage.noted(report, went)
    assert told.note == (
        "the stage was stopped by its deadline of 25 s (stage_seconds); 3 trials are due, "
        "run it again"
    )
    assert told.note in _sentence("execute", told)
    _require_done(told)


def shared(night_seconds):
    return _Shared(None, None, "r", "score 0", None, 3600.0, night_seconds)
