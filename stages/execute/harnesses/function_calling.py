"""Native function calling: the provider's own tool-call messages."""

from stages.execute.assignment import Assignment
from stages.execute.dialogue import prompts
from stages.execute.dialogue.conversation import Conversation, final_answer, is_cut_off
from stages.execute.dialogue.inputs import shown_inputs
from taskdata.schema.transcript import Ending, Transcript

PROMPT = "function_calling_v2"
"""Name of its prompt."""
_CUT = "Your reply was cut at its length limit. Go on in smaller steps."
_EMPTY = "Your reply was empty. Use a tool, or call finish with your final answer."


class FunctionCalling:
    """Works turn by turn: any number of calls, each answered before the next turn."""

    @property
    def prompt_version(self) -> str | None:
        """The prompts in use."""
        return prompts.version(PROMPT)

    async def run(self, assignment: Assignment) -> Transcript:
        """Work on the task until `finish`, a reply without a call, or the end of a budget."""
        shown = await shown_inputs(assignment)
        talk = Conversation(assignment, PROMPT, shown=shown, native_tools=True)
        while True:
            reply = await talk.ask()
            if isinstance(reply, Ending):
                return talk.end(reply)
            if not reply.tool_calls:
                if reply.stop_reason == "length":
                    talk.tell(_CUT)
                elif not reply.text.strip():
                    talk.tell(_EMPTY)
                else:
                    return talk.end(Ending.FINISHED, reply.text.strip())
            for call in reply.tool_calls:
                cut = is_cut_off(call, reply)
                result = talk.cut_off(call) if cut else await talk.use(call)
                if isinstance(result, Ending):
                    return talk.end(result)
                if (answer := final_answer(call, result)) is not None:
                    return talk.end(Ending.FINISHED, answer)
                talk.answer_call(call, result)
