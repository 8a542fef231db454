import traceback
from collections.abc import Callable
from types import ModuleType

import pytest

from environments.models import faults
from environments.models.money import run_budget
from environments.services import program
from stages.diagnose.infrastructure import infrastructure_label
from stages.execute.attempt import cause
from taskdata import errors
from taskdata.schema.deadlines import NIGHT_DEADLINE
from taskdata.schema.run import OutcomeStatus, Trial, TrialOutcome, TrialResult

KNOWN = {"provider", "tool_backend", "run_limit"}


@pytest.fixture
def lost(make_outcome: Callable[..., TrialOutcome]) -> Callable[..., TrialResult]:
    """The result of a trial that was lost to this exception, as the execute stage records it."""

    def made(error: Exception | str, scoring_error: str | None = None) -> TrialResult:
        text = error if isinstance(error, str) else cause(error)
        detail = None if isinstance(error, str) else "".join(traceback.format_exception(error))
        outcome = make_outcome().model_copy(
            update={
                "status": OutcomeStatus.INFRASTRUCTURE if text else OutcomeStatus.FINISHED,
                "error": text or None,
                "error_detail": detail,
            }
        )
        trial = Trial(
            id="t1",
            run_id="r",
            agent="a",
            task_id="trip",
            task_hash="a" * 64,
            tier="workflow",
            category="planning_decision",
            repetition=0,
            round=0,
        )
        return TrialResult(trial=trial, outcome=outcome, scoring_error=scoring_error)

    return made


def chained() -> Exception:
    try:
        try:
            raise errors.ModelUnavailable("no answer")
        except errors.ModelUnavailable as exc:
            raise errors.ToolUnavailable("Search: no answer") from exc
    except errors.ToolUnavailable as exc:
        return exc


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (errors.ModelUnavailable("429: too many requests"), "provider"),
        (faults.NoAnswerInTime("no answer within 70.0 s"), "provider"),
        (run_budget.MoneyHeld("held"), "run_limit"),
        (errors.SandboxFailed("no bubblewrap"), "sandbox"),
        (errors.ServiceFailed("mail did not start"), "tool_backend"),
        (chained(), "tool_backend"),
        (errors.BadTaskData("a file is missing"), "broken_task"),
        (errors.NightshiftError("something else"), "undetermined"),
        (errors.BudgetExhausted("max_usd is spent"), "run_limit"),
        (f"not started: {NIGHT_DEADLINE} had passed", "run_limit"),
        (KeyError("plan"), "our_bug"),
        ("ValueError: what is this", "our_bug"),
        ("the worker was lost", "undetermined"),
    ],
)
def test_a_lost_trial_has_the_label_of_what_failed(
    lost: Callable[..., TrialResult], error: Exception | str, name: str
):
    label = infrastructure_label(lost(error))
    assert (label.taxonomy.value, label.name) == ("infrastructure", name)
    assert (label.confidence < 1) is (name == "undetermined")


def test_a_trial_whose_scoring_failed_is_lost_and_one_that_is_over_is_not(
    lost: Callable[..., TrialResult],
):
    label = infrastructure_label(lost("", scoring_error="KeyError: 'x'"))
    assert (label.name, label.evidence[0].says) == ("our_bug", "KeyError: 'x'")
    assert infrastructure_label(lost("")) is None


@pytest.mark.parametrize("module", [faults, run_budget, program])
def test_every_own_error_of_the_environments_is_known(
    lost: Callable[..., TrialResult], module: ModuleType
):
    own = [
        kind
        for kind in vars(module).values()
        if isinstance(kind, type)
        and issubclass(kind, errors.NightshiftError)
        and kind.__module__ == module.__name__
    ]
    assert own
    assert {infrastructure_label(lost(kind("why"))).name for kind in own} <= KNOWN


@pytest.mark.parametrize(
    ("error", "name"),
    [
        ("check 'text_matches': field args.pattern: Value error, '(42'", "broken_task"),
        ("the process that runs checks ended with exit code 1", "sandbox"),
        ("openai/gpt-5.2 at api.openai.com: HTTP 500 overloaded", "provider"),
        ("no words that tell", "undetermined"),
    ],
)
def test_an_error_of_scoring_is_told_by_its_words(
    lost: Callable[..., TrialResult], error: str, name: str
):
    assert infrastructure_label(lost("", scoring_error=error)).name == name
