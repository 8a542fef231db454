"""Who writes the feedback of the arms `self` and `critic`, and the asking itself.

The model is asked when the refined trial begins, in the worker that runs it, so that it keeps the
provider's limits and the run's budget as all calls do. Its reply is recorded before it is used, and
the feedback is stored with the trial: a trial that is begun again asks nobody a second time.
"""

import asyncio
from dataclasses import replace

from environments.models.capabilities import capabilities_of
from environments.models.record.client import RecordedClient
from environments.models.record.log import CallLog, Payer
from environments.ports import ModelRequest
from stages.execute.attempt import RunningAttempt
from stages.execute.earlier import agents_files, sample_of
from stages.refine.critique import (
    REPLY_SECONDS,
    critique_request,
    read_critique,
    shown_views,
)
from taskdata.errors import (
    CriticFailed,
    Misuse,
    ModelRejected,
    ModelUnavailable,
    NightshiftError,
)
from taskdata.schema.agent import AgentSpec, ModelSpec
from taskdata.schema.arms import ASKING_ARMS, SELF_ARMS
from taskdata.schema.model_call import CallPurpose
from taskdata.schema.run import RunConfig
from taskdata.schema.task import Task


def lacking_for_critique(config: RunConfig, agent: AgentSpec) -> str | None:
    """Return why an arm of the run cannot be given to the agent, None if all can."""
    arms = set(config.feedback) & ASKING_ARMS
    if arms - SELF_ARMS and config.critic is None:
        named = ", ".join(sorted(arms - SELF_ARMS))
        return (
            f"feedback {named} needs a critic: name its model with --critic, such as "
            "openai/gpt-5.2, or `critic` of [run]"
        )
    if arms & SELF_ARMS and agent.model is None:
        named = ", ".join(sorted(arms & SELF_ARMS))
        return (
            f"feedback {named} asks the agent's own model, and agent {agent.name!r} has none; "
            "leave out these arms, or name the agent's model"
        )
    return None


async def with_critique(attempt: RunningAttempt, task: Task, agent: AgentSpec) -> RunningAttempt:
    """Return the attempt with the feedback that a model writes, if its arm has such feedback.

    Raises:
        CriticFailed: the model cannot be reached, or refuses.
        BudgetExhausted: the run has no money left for it.
        NightshiftError: the attempt that is refined is not in the store.
    """
    trial = attempt.due.trial
    if trial.arm not in ASKING_ARMS or trial.feedback is not None:
        return attempt
    store, deadline = attempt.shared.worker.store, attempt.deadline
    model, client = _critic(attempt, agent)
    window = _window(agent, model)
    request = await asyncio.to_thread(_request, attempt, task, agent, window)
    deadline.ask("asking for feedback on the attempt before", REPLY_SECONDS)
    try:
        text = read_critique((await client.reply(request)).text)
    except (ModelUnavailable, ModelRejected) as exc:
        raise CriticFailed(f"feedback by {model}: {exc}") from exc
    kept = await asyncio.to_thread(store.record_feedback, trial.id, text)
    deadline.set_up("reading its feedback")
    told = trial.model_copy(update={"feedback": kept})
    return replace(attempt, due=replace(attempt.due, trial=told))


def _window(agent: AgentSpec, model: ModelSpec) -> int | None:
    """Return the longest input of the model in tokens; None: it is unknown."""
    own = agent.window_tokens if model == agent.model else None
    return own or capabilities_of(model).window_tokens


def _request(
    attempt: RunningAttempt, task: Task, agent: AgentSpec, window_tokens: int | None
) -> ModelRequest:
    store, trial = attempt.shared.worker.store, attempt.due.trial
    outcome = store.outcome(trial.parent_trial_id or "")
    if outcome is None:
        raise NightshiftError(f"trial {trial.parent_trial_id}, to be refined, has no outcome")
    files = [file.name for file in agents_files(outcome, task)]
    views = shown_views(store.rendered(outcome.trial_id), files)
    transcript = store.transcript_of(outcome)
    return critique_request(trial.arm, task, outcome, transcript, views, agent, window_tokens)


def _critic(attempt: RunningAttempt, agent: AgentSpec) -> tuple[ModelSpec, RecordedClient]:
    """Return the model that is asked, and its client, which replays what was paid for before."""
    worker, due = attempt.shared.worker, attempt.due
    config = worker.run.config
    if (reason := lacking_for_critique(config, agent)) is not None:
        raise Misuse(reason)
    if due.trial.arm in SELF_ARMS:
        model, base_url = agent.model, attempt.shared.base_url(agent, due.trial)
    else:
        servers = attempt.shared.endpoints.get(str(config.critic))
        model, base_url = config.critic, servers[0] if servers else config.critic_base_url
    if model is None:
        raise Misuse(f"feedback {due.trial.arm}: no model is named for it")
    client = None if config.plays_back else worker.clients.get(model, base_url)
    payer = Payer.trial(due.trial.id, due.number, CallPurpose.CRITIC)
    own = [call for call in due.paid if call.purpose is CallPurpose.CRITIC]
    log, shares = CallLog(attempt.calls, payer, own), config.replies != "ask"
    return model, RecordedClient(client, model, base_url, log, shares, sample_of(due.trial))
