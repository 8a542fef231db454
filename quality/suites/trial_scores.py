"""The gate after scoring, trial by trial: may these scores be published?

It also holds the bank to its promise: a task that its own reference solution does not solve, or
that rewards doing nothing, is a broken task, and the numbers of every other agent on it are wrong.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quality.gates import Suite
from quality.suites.expectations import between, none_of, rule, same, unique
from taskdata.schema.run import OutcomeStatus, TrialResult
from taskdata.schema.scores import Unscored
from taskdata.schema.task import Task, Tier

if TYPE_CHECKING:
    from great_expectations.expectations.expectation import Expectation

FULL_SCORE = 10 - 1e-6
"""A weighted mean of tens may fall short of ten by rounding."""
NOTHING_SCORE = 1.0
"""The most that a task may give an agent that does nothing."""


@dataclass(frozen=True)
class ScoreRules:
    """How much of a run may go wrong before its scores are not published."""

    max_error_share: float = 0.5
    """Trials lost to infrastructure errors, of all that the night's deadline left time for."""
    max_unscored_share: float = 0.05
    """Trials of which no leaf had a verifier in this run, of these as well."""
    max_silent_share: float = 0.5
    """Trials that a judge was asked about without giving one verdict, of those it was asked about.

    No lower, for an agent may keep the judge from its verdicts, and must not stop the others' run.
    """


def trial_rows(results: Sequence[TrialResult], tasks: Mapping[str, Task]) -> list[dict[str, Any]]:
    """Return one row per trial, all rounds; `tasks` by content hash.

    `state` is `pending`, `error` (infrastructure), `not_scored` (finished, and no score was
    recorded), `unscored` (no leaf of it had a verifier), `compared` (nor had one, but its calls and
    answer were compared with the reference), `predicted` (step by step: no leaf of it was to be
    scored) or `scored`. It is None where the night's deadline left the trial out, which
    says nothing against the scores of the others: no share counts it. `judge` is `silent` where it
    was asked and gave no verdict at all, `answered` where it gave some, and None where it was not
    asked.
    """
    return [_row(result, tasks[result.trial.task_hash]) for result in results]


def trial_scores_suite(rules: ScoreRules = ScoreRules()) -> Suite:
    """Return the suite named `trial_scores` over `trial_rows`."""
    return Suite(
        name="trial_scores",
        id_column="trial",
        columns=(
            "trial",
            "trial_id",
            "state",
            "root_score",
            "coverage",
            "judge",
            "leaves_scored",
            "leaves_of_task",
            "reference_score",
            "nop_score",
        ),
        expectations=lambda: [*_accounted(rules), *_sound()],
    )


def _row(result: TrialResult, task: Task) -> dict[str, Any]:
    trial, score = result.trial, result.score
    arm = f", arm {trial.arm}" if trial.arm else ""
    plays_reference = trial.agent == "reference" and trial.tier == Tier.WORKFLOW
    return {
        "trial": f"{trial.id} ({trial.agent} on {trial.task_id}, round {trial.round}{arm})",
        "trial_id": trial.id,
        "state": _state(result),
        "root_score": result.root_score,
        "coverage": None if score is None else score.root.coverage,
        "judge": _judge_state(result),
        **_leaves(result, task),
        # The task is at fault only where no other verdict could clear it.
        "reference_score": score.root.best_judged if plays_reference and score else None,
        "nop_score": result.root_score if trial.agent == "nop" else None,
    }


def _state(result: TrialResult) -> str | None:
    if result.is_left_out:
        return None
    if result.is_infrastructure_error:
        return "error"
    if result.outcome is None or result.outcome.status is not OutcomeStatus.FINISHED:
        return "pending"
    if result.score is None:
        return "not_scored"
    if result.score.root.steps is not None:
        return "predicted"
    if result.score.root.planning is not None and result.root_score is None:
        # Code has looked at the plan; without a judge it often cannot decide.
        return "undecided"
    if result.score.root.end_to_end is not None and result.root_score is None:
        return "compared"
    return "unscored" if result.root_score is None else "scored"


def _judge_state(result: TrialResult) -> str | None:
    leaves = () if result.score is None else result.score.leaves
    judged = [leaf for leaf in leaves if leaf.verifier.startswith("judge:")]
    if any(leaf.score is not None for leaf in judged):
        return "answered"
    silent = any(leaf.unscored is Unscored.NO_VERDICT for leaf in judged)
    return "silent" if silent else None


def _leaves(result: TrialResult, task: Task) -> dict[str, Any]:
    """Return the leaves that are scored and those asked for, and which of them are not both."""
    if result.score is None:
        return dict.fromkeys(("leaves_scored", "leaves_of_task", "unmatched_leaves"))
    scored = sorted({leaf.leaf_id for leaf in result.score.leaves})
    asked = sorted({leaf.id for leaf in task.checkpoints.leaves()})
    return {
        "leaves_scored": ", ".join(scored),
        "leaves_of_task": ", ".join(asked),
        "unmatched_leaves": [] if scored == asked else sorted({*scored} ^ {*asked}),
    }


def _accounted(rules: ScoreRules) -> list["Expectation"]:
    errors, unscored = rules.max_error_share, rules.max_unscored_share
    return [
        unique("trial_id", "a trial counts once"),
        none_of(
            "state",
            "every trial was executed and scored, or its error is recorded",
            ["pending", "not_scored"],
        ),
        none_of(
            "state",
            f"at most {errors:.0%} of the trials are lost to infrastructure errors",
            ["error"],
            errors,
        ),
        none_of(
            "state",
            f"at most {unscored:.0%} of the trials have no leaf with a verifier in this run",
            ["unscored"],
            unscored,
        ),
        none_of(
            "judge",
            f"in at most {rules.max_silent_share:.0%} of the trials that it was asked about, the "
            "judge gave no verdict at all",
            ["silent"],
            rules.max_silent_share,
        ),
        rule(
            "leaves_not_of_task",
            same("leaves_scored", "leaves_of_task", "the leaves scored are the leaves of the task"),
            shows="unmatched_leaves",
        ),
    ]


def _sound() -> list["Expectation"]:
    return [
        between("root_score", "a root score is between 0 and 10, or None", 0, 10),
        between("coverage", "coverage is between 0 and 1", 0, 1),
        between(
            "reference_score",
            "the reference solution of a workflow task earns 10 wherever no judge decides, else "
            "the task is broken",
            FULL_SCORE,
        ),
        between(
            "nop_score",
            f"doing nothing earns at most {NOTHING_SCORE:g}, else the task is broken",
            high=NOTHING_SCORE,
        ),
    ]
