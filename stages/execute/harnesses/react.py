"""ReAct: thought, action, action input and observation as plain text, for any model."""

from stages.execute.assignment import Assignment
from stages.execute.dialogue import prompts
from stages.execute.dialogue.conversation import Conversation, final_answer
from stages.execute.dialogue.inputs import shown_inputs
from stages.execute.harnesses.react_text import (
    OBSERVATION,
    STOP,
    Act,
    Answer,
    observation,
    read_step,
)
from taskdata.schema.agent import AgentSpec
from taskdata.schema.transcript import Ending, ToolCall, Transcript

_FULL = "react_v2"
_COMPACT = "react_compact_v2"
_COMPACT_SHOWN_CHARS = 1200
"""Of a result, to a small local model: reading them takes it seconds."""


def prompt_of(agent: AgentSpec) -> str:
    """Return the name of an agent's prompt: small local models need it short, with an example."""
    return _COMPACT if _is_local(agent) else _FULL


def _is_local(agent: AgentSpec) -> bool:
    return agent.model is not None and agent.model.provider == "local"


class React:
    """Works turn by turn: one action, one observation."""

    def __init__(self, agent: AgentSpec) -> None:
        """Choose the prompt."""
        self._prompt = prompt_of(agent)

    @property
    def prompt_version(self) -> str | None:
        """The prompts in use."""
        return prompts.version(self._prompt)

    async def run(self, assignment: Assignment) -> Transcript:
        """Work on the task until a final answer or the end of a budget."""
        shown = await shown_inputs(assignment)
        talk = Conversation(assignment, self._prompt, shown=shown, stop=(STOP,))
        if _is_local(assignment.agent):
            assignment.tools.show(_COMPACT_SHOWN_CHARS)
        number = 0
        while True:
            reply = await talk.ask()
            if isinstance(reply, Ending):
                return talk.end(reply)
            step, is_cut = read_step(reply.text), reply.stop_reason == "length"
            if isinstance(step, Answer):
                return talk.end(Ending.FINISHED, step.text)
            if not isinstance(step, Act):
                cut = "The reply was cut at its length limit. " * is_cut
                talk.tell(f"{OBSERVATION} {cut}{step.reason}")
                continue
            number += 1
            call = ToolCall(
                id=f"action-{number}", tool=step.tool, arguments=step.arguments, raw=step.raw
            )
            # Arguments that can be read are whole: what was cut came after them.
            lacks_end = is_cut and call.arguments is None
            result = talk.cut_off(call) if lacks_end else await talk.use(call)
            if isinstance(result, Ending):
                return talk.end(result)
            if (answer := final_answer(call, result)) is not None:
                return talk.end(Ending.FINISHED, answer)
            talk.observe(result, observation)
