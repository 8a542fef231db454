"""Talks: which agents can hold one, and the simulated user that a trial of such a task gets."""

from environments.models.record.client import RecordedClient
from environments.models.record.log import CallLog, Payer
from stages.execute.attempt import RunningAttempt
from stages.execute.dialogue.simulated_user import ANSWER_SECONDS, MAX_ASKS, TalkingUser
from stages.execute.harness import HARNESSES, HarnessKind, harness_kind
from taskdata.errors import Misuse
from taskdata.schema.agent import AgentSpec
from taskdata.schema.model_call import CallPurpose
from taskdata.schema.run import RunConfig
from taskdata.schema.task import Task


def lacking_for_talk(task: Task, agent: AgentSpec, config: RunConfig) -> str | None:
    """Return why the agent cannot talk with the task's user in the run, None if it can.

    No reason is returned if the task has no user, or the harness needs none for its work.
    """
    kind = harness_kind(agent.harness)
    if task.simulated_user is None or kind.talks is None:
        return None
    if not kind.talks:
        able = " or ".join(name for name, one in HARNESSES.items() if one.talks)
        return (
            f"task {task.id!r} is a talk with a simulated user, and agents of harness "
            f"{agent.harness!r} cannot continue after their answer; evaluate one of {able}"
        )
    if config.user is None:
        return (
            f"task {task.id!r} needs a simulated user: name its model with --user, such as "
            "openai/gpt-5.2, or `user` of [run]"
        )
    return None


def talking_user(
    attempt: RunningAttempt, task: Task, agent: AgentSpec, kind: HarnessKind
) -> TalkingUser | None:
    """Return the simulated user of the task; None if the task has no user or the agent needs none.

    Its calls are recorded apart from the agent's; calls that earlier attempts paid are replayed.

    Raises:
        Misuse: the agent cannot talk with the user.
    """
    worker, due = attempt.shared.worker, attempt.due
    config = worker.run.config
    if (reason := lacking_for_talk(task, agent, config)) is not None:
        raise Misuse(reason)
    if task.simulated_user is None or kind.talks is None or config.user is None:
        return None
    servers = attempt.shared.endpoints.get(str(config.user))
    base_url = servers[0] if servers else config.user_base_url
    client = None if config.plays_back else worker.clients.get(config.user, base_url)
    payer = Payer.trial(due.trial.id, due.number, CallPurpose.SIMULATED_USER)
    own = [call for call in due.paid if call.purpose is CallPurpose.SIMULATED_USER]
    log, shares = CallLog(attempt.calls, payer, own), config.replies != "ask"
    # All attempts at a turn send the same request; where replies are shared, each has its own.
    samples = range(due.trial.repetition * MAX_ASKS, (due.trial.repetition + 1) * MAX_ASKS)
    asks = tuple(
        RecordedClient(client, config.user, base_url, log, shares, sample) for sample in samples
    )
    return TalkingUser(task.simulated_user, task.query, asks, str(config.user))


def talk_seconds(user: TalkingUser | None) -> float:
    """Return the seconds that the user's answers may add to the time limit of a trial."""
    return 0.0 if user is None else ANSWER_SECONDS * user.most_exchanges
