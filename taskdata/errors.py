"""Every exception this project raises on purpose.

The message is the only argument, so that errors survive pickling between worker processes; it
names the value, the place and the way out. `transient` says whether trying again may help.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from taskdata.schema.usage import FailedAttempt


class NightshiftError(Exception):
    """Base of our own errors; the CLI prints its message as one line."""

    transient: bool = False


class Misuse(NightshiftError):
    """What was asked for makes no sense: unknown name, malformed option, missing key (exit 2)."""


class BadTaskData(NightshiftError):
    """A task, bank or seed file does not fit the schema; names file and field."""


class StoreUnavailable(NightshiftError):
    """The database or artifact store refused or dropped the operation."""

    transient = True


class GateFailed(NightshiftError):
    """A gate stopped the run; the message names the gate and the offending rows."""


class StageFailed(NightshiftError):
    """A stage of the night ended without completing; the message names it and why."""


class ModelUnavailable(NightshiftError):
    """The endpoint refused, timed out, answered 429/5xx or garbage, and retries ran out."""

    transient = True
    status: int | None = None
    """HTTP status of the last answer; None: there was none."""
    failed_attempts: tuple["FailedAttempt", ...] = ()
    """What came of each attempt, in order; set by the layer that retries."""


class ModelRejected(NightshiftError):
    """The provider understood the request and said no (400, 401, 403, 404)."""

    status: int | None = None
    """HTTP status of the last answer; None: there was none."""
    failed_attempts: tuple["FailedAttempt", ...] = ()
    """What came of each attempt, in order; set by the layer that retries."""


class BudgetExhausted(NightshiftError):
    """A model call was not made because it could have gone beyond the spending limits."""

    failed_attempts: tuple["FailedAttempt", ...] = ()
    """Those before the one that there was no money for, in order."""


class SandboxFailed(NightshiftError):
    """The sandbox itself could not start or was lost; never the fault of what ran inside."""

    transient = True


class ChecksFailed(NightshiftError):
    """The process that runs checks could not start or was lost; never the fault of the agent."""

    transient = True


class PreprocessFailed(NightshiftError):
    """The program that makes a task's initial state failed; never the fault of the agent."""


class ServiceFailed(NightshiftError):
    """A service that a task brings did not start, or was lost; never the fault of the agent."""

    transient = True


class DeadlinePassed(NightshiftError):
    """A part of a trial, or its stage, was not over in time; never the fault of the agent."""

    transient = True


class CriticFailed(NightshiftError):
    """The model that writes feedback on an attempt could not be reached, or refused."""

    transient = True


class SimulatedUserFailed(NightshiftError):
    """The model that plays a task's user cannot be reached, refuses or gives unreadable answers.

    The agent that talks with it is never the cause.
    """

    transient = True


class ToolUnavailable(NightshiftError):
    """A tool cannot work here: its backend is missing, not configured or out of reach.

    Never the fault of the agent that called it.
    """

    transient = True


class JudgeUnreadable(NightshiftError):
    """A judge's reply does not fit the verdict schema; the caller asks again, then gives up."""


class LabelsRejected(NightshiftError):
    """A labeller's reply names no label on offer, or evidence that is not on record.

    The caller asks once more, then leaves the trial as the rules labelled it.
    """


class ToolRefused(NightshiftError):
    """A tool cannot do what was asked; the text goes back to the agent as an observation."""
