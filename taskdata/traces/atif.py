"""ATIF, the Agent Trajectory Interchange Format of Harbor (RFC 0001), version 1.7.

Instructions, task and notices are steps of `system` and `user`. One model call is one step of
`agent`, with the calls that it led to and their results, whether the model made them natively or
in its text. A call that no model asked for (a reference solution's) is a step with
`llm_call_count` 0, and with `is_copied_context` where the model read it as its own last turn. What
is unknown is left out; nothing stands for it.
"""

import json
from collections.abc import Sequence
from typing import Any

from taskdata.schema.plan import Plan
from taskdata.schema.tool import ToolSpec
from taskdata.schema.transcript import (
    GivenStep,
    MessageEvent,
    ModelEvent,
    Prediction,
    ToolCall,
    ToolEvent,
    Transcript,
)
from taskdata.schema.usage import FailedAttempt, Usage
from taskdata.traces.recorded import RecordedTrial

SCHEMA_VERSION = "ATIF-v1.7"
_UNSEEN_CALLS = "The agent is a program: what came of its tool calls is unknown."
_UNSEEN = "Only the result is known: it was imported, and nobody recorded how it came about."


def trajectory(recorded: RecordedTrial) -> dict[str, Any]:
    """Return the trial as an ATIF trajectory, ready for JSON."""
    transcript = recorded.transcript
    steps = _steps(recorded)
    if recorded.answers_apart:
        steps.append(_agent_step(transcript.final_answer, llm_calls=0))
    return _known(
        {
            "schema_version": SCHEMA_VERSION,
            "session_id": recorded.trial.run_id,
            "trajectory_id": recorded.trial.id,
            "agent": _agent(recorded),
            "steps": [{"step_id": number, **step} for number, step in enumerate(steps, start=1)],
            "final_metrics": _final_metrics(recorded, len(steps)),
            "notes": _notes(transcript),
            "extra": recorded.facts | {"final_answer": transcript.final_answer},
        }
    )


def document(recorded: RecordedTrial) -> bytes:
    """Return the trajectory as a JSON file."""
    return json.dumps(trajectory(recorded), ensure_ascii=False, indent=2).encode() + b"\n"


def _notes(transcript: Transcript) -> str | None:
    if transcript.is_outcome_only:
        return _UNSEEN
    return _UNSEEN_CALLS if transcript.has_unseen_calls else None


def _agent(recorded: RecordedTrial) -> dict[str, Any]:
    return _known(
        {
            "name": recorded.agent.name,
            "version": recorded.outcome.code_version,
            "model_name": recorded.model_name,
            "tool_definitions": [_definition(spec) for spec in recorded.transcript.tools] or None,
            "extra": _known(
                {
                    "harness": recorded.agent.way_of_working,
                    "prompt_version": recorded.outcome.prompt_version,
                    "temperature": recorded.agent.temperature,
                }
            ),
        }
    )


def _definition(spec: ToolSpec) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": spec.name,
            "description": spec.description,
            "parameters": spec.parameters,
        },
    }


def _steps(recorded: RecordedTrial) -> list[dict[str, Any]]:
    steps = _plan_steps(recorded.transcript.plan)
    asked: dict[str, Any] | None = None
    predictions = recorded.predictions
    for event in recorded.transcript.events:
        if isinstance(event, MessageEvent):
            steps.append(_message_step(event))
        elif isinstance(event, ModelEvent):
            asked = _model_step(event, next(predictions))
            steps.append(asked)
        else:
            if asked is None:
                steps.append(_agent_step("", llm_calls=0, at=event.started_at.isoformat()))
            _add_result(steps[-1] if asked is None else asked, event)
    return steps


def _plan_steps(plan: Plan | None) -> list[dict[str, Any]]:
    """Return a step for each model call in which a plan was asked for."""
    return [
        _agent_step(reply.text, llm_calls=1, at=reply.started_at.isoformat())
        | _known(
            {
                "model_name": reply.model,
                "reasoning_content": reply.thinking or None,
                "metrics": _metrics(reply.usage, reply.cost_usd),
                "extra": _known(
                    {
                        "plan": version,
                        "fault": reply.fault or None,
                        "seconds": reply.seconds,
                        "waited_seconds": reply.waited_seconds or None,
                        "cached": reply.cached or None,
                        "failed_attempts": _failed(reply.failed_attempts),
                    }
                ),
            }
        )
        for version, reply in ([] if plan is None else plan.calls)
    ]


def _message_step(event: MessageEvent) -> dict[str, Any]:
    if event.given is not None:
        return _given_step(event.given)
    step: dict[str, Any] = {"source": event.role, "message": event.text}
    made = None if event.simulated is None else event.simulated.model_dump(mode="json")
    extra = _known(
        {
            "shown_files": [file.model_dump() for file in event.shown] or None,
            "simulated_user": made,
        }
    )
    return step | ({"extra": extra} if extra else {})


def _given_step(given: GivenStep) -> dict[str, Any]:
    result = {"source_call_id": given.call.id, "content": given.result}
    return _agent_step(given.thought, llm_calls=0) | {
        "is_copied_context": True,
        "tool_calls": [_call(given.call)],
        "observation": {"results": [result]},
    }


def _agent_step(message: str, llm_calls: int, at: str | None = None) -> dict[str, Any]:
    step = {"timestamp": at, "source": "agent", "message": message, "llm_call_count": llm_calls}
    return _known(step)


def _model_step(event: ModelEvent, prediction: Prediction | None) -> dict[str, Any]:
    step = _agent_step(event.text, llm_calls=1, at=event.started_at.isoformat())
    calls = [_call(call) for call in event.tool_calls]
    return step | _known(
        {
            "model_name": event.model,
            "reasoning_content": event.thinking or None,
            "tool_calls": calls or None,
            "metrics": _metrics(event.usage, event.cost_usd),
            "extra": _known(
                {
                    "seconds": event.seconds,
                    "waited_seconds": event.waited_seconds or None,
                    "cached": event.cached or None,
                    "stop_reason": event.stop_reason or None,
                    "failed_attempts": _failed(event.failed_attempts),
                    "prediction": _prediction(prediction),
                }
            ),
        }
    )


def _failed(attempts: Sequence[FailedAttempt]) -> list[dict[str, Any]] | None:
    return [attempt.model_dump(mode="json") for attempt in attempts] or None


def _prediction(prediction: Prediction | None) -> dict[str, Any] | None:
    return None if prediction is None else prediction.model_dump(mode="json", exclude_none=True)


def _add_result(step: dict[str, Any], event: ToolEvent) -> None:
    calls = step.setdefault("tool_calls", [])
    # A model that acts in plain text has asked for a call that only the harness could read.
    if event.call.id not in {call["tool_call_id"] for call in calls}:
        calls.append(_call(event.call))
    extra: dict[str, Any] = {"seconds": event.seconds}
    extra |= {} if event.error is None else {"error": event.error.value}
    extra |= {"files": list(event.files)} if event.files else {}
    extra |= {"pictures": [p.model_dump() for p in event.pictures]} if event.pictures else {}
    if event.usage.total:
        extra["metrics"] = _metrics(event.usage, event.cost_usd)
    results = step.setdefault("observation", {"results": []})["results"]
    results.append({"source_call_id": event.call.id, "content": event.text, "extra": extra})


def _call(call: ToolCall) -> dict[str, Any]:
    found = {
        "tool_call_id": call.id,
        "function_name": call.tool,
        "arguments": {} if call.arguments is None else call.arguments,
    }
    return found if call.arguments is not None else found | {"extra": {"unreadable": call.raw}}


def _metrics(usage: Usage, cost_usd: float | None) -> dict[str, Any]:
    found = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_input_tokens,
        "cost_usd": cost_usd,
    }
    extra = _told_apart(usage)
    return _known(found) | ({"extra": extra} if extra else {})


def _told_apart(usage: Usage) -> dict[str, int]:
    found = {
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "reasoning_output_tokens": usage.reasoning_tokens,
    }
    return {name: count for name, count in found.items() if count}


def _final_metrics(recorded: RecordedTrial, steps: int) -> dict[str, Any]:
    outcome = recorded.outcome
    usage = outcome.usage
    tokens = {
        "total_prompt_tokens": None if usage is None else usage.input_tokens,
        "total_completion_tokens": None if usage is None else usage.output_tokens,
        "total_cached_tokens": None if usage is None else usage.cached_input_tokens,
    }
    extra = {
        "wall_seconds": outcome.wall_seconds,
        "turns": outcome.turns,
        "tool_calls": outcome.tool_calls,
        "tool_errors": outcome.tool_errors,
    }
    totals = {"total_cost_usd": outcome.cost_usd, "total_steps": steps, "extra": _known(extra)}
    return _known(tokens | totals)


def _known(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
