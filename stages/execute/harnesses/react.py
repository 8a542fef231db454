"""ReAct: thought, action, action input and observation as plain text, for any model."""

from collections.abc import Callable
from typing import Any

from environments.ports import ModelReply
from stages.execute.assignment import Assignment
from stages.execute.dialogue import prompts
from stages.execute.dialogue.conversation import Conversation, final_answer
from stages.execute.dialogue.corrections import Corrections
from stages.execute.dialogue.inputs import shown_inputs
from stages.execute.harnesses.react_text import OBSERVATION, STOP, observation, read_step
from stages.execute.harnesses.step_schema import step_schema
from stages.execute.harnesses.steps import Act, FinalAnswer, Unreadable
from stages.execute.harnesses.teaching import correction, correction_again
from taskdata.schema.agent import AgentSpec
from taskdata.schema.transcript import Ending, ToolCall, Transcript

_FULL = "react_v3"
_COMPACT = "react_compact_v3"
_GO_ON = "write your next step"
_STRUCTURED = "react_structured_v2"
_COMPACT_SHOWN_CHARS = 1200
"""Length of a result shown to a small local model, which needs seconds to read more."""


def text_prompt(agent: AgentSpec) -> str:
    """Return the name of the prompt for steps in plain text; local models get a short one."""
    return _COMPACT if _is_local(agent) else _FULL


def _is_local(agent: AgentSpec) -> bool:
    return agent.model is not None and agent.model.provider == "local"


def reply_schema(assignment: Assignment) -> Callable[[int], dict[str, Any]] | None:
    """Return a function for the schema of the next step, if the agent uses structured steps.

    With its last turn an agent of which only an answer is wanted has to give one.
    """
    if not assignment.agent.asks_for_structure:
        return None

    def schema(turns_left: int) -> dict[str, Any]:
        if turns_left == 1 and not assignment.brief.deliverables:
            # Nobody would read what a tool gave back.
            return step_schema((), ())
        # Tools may be offered while the trial runs.
        return step_schema(assignment.tools.specs, assignment.brief.files)

    return schema


class React:
    """Works turn by turn: one action, one observation."""

    def __init__(self, agent: AgentSpec) -> None:
        """Choose the prompt."""
        self._prompt = _STRUCTURED if agent.asks_for_structure else text_prompt(agent)

    @property
    def prompt_version(self) -> str | None:
        """The prompts in use."""
        return prompts.version(self._prompt)

    async def run(self, assignment: Assignment) -> Transcript:
        """Work on the task until a final answer or the end of a budget."""
        shown = await shown_inputs(assignment)
        talk = Conversation(
            assignment,
            self._prompt,
            shown=shown,
            stop=() if assignment.agent.asks_for_structure else (STOP,),
            reply_schema=reply_schema(assignment),
        )
        if _is_local(assignment.agent):
            assignment.tools.show(_COMPACT_SHOWN_CHARS)
        corrections, number = Corrections(), 0
        while True:
            reply = await talk.ask()
            if isinstance(reply, Ending):
                return talk.end(reply)
            step = read_step(reply.text, [spec.name for spec in assignment.tools.specs])
            if isinstance(step, Unreadable):
                told = _told(assignment, reply, step, corrections)
                if told is None:
                    return talk.stuck(corrections.cause)
                talk.tell(told)
                continue
            corrections.clear()
            if isinstance(step, FinalAnswer):
                if await talk.asks_if_done(_GO_ON):
                    continue
                if (ended := await talk.turn_over(step.text)) is not None:
                    return ended
                continue
            number += 1
            call = _call(step, number)
            # Arguments that can be parsed are complete: only text after them was cut.
            lacks_end = reply.stop_reason == "length" and call.arguments is None
            result = talk.cut_off(call) if lacks_end else await talk.use(call)
            if isinstance(result, Ending):
                return talk.end(result)
            if (answer := final_answer(call, result)) is not None:
                if (ended := await talk.turn_over(answer)) is not None:
                    return ended
                continue
            talk.observe((result, observation))


def _call(step: Act, number: int) -> ToolCall:
    return ToolCall(id=f"action-{number}", tool=step.tool, arguments=step.arguments, raw=step.raw)


def _told(
    assignment: Assignment, reply: ModelReply, step: Unreadable, corrections: Corrections
) -> str | None:
    """Return the correction for a reply without a step; None: the agent is stuck."""
    cut = "The reply was cut at its length limit. " * (reply.stop_reason == "length")
    files, specs = assignment.brief.files, assignment.tools.specs
    told = corrections.next(
        step.reason,
        correction(step.reason, files),
        correction_again(step.reason, files, reply.text, specs),
    )
    return None if told is None else f"{OBSERVATION} {cut}{told}"
