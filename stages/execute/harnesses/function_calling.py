"""Native function calling: the provider's own tool-call messages."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count

from environments.ports import ModelReply
from stages.execute.assignment import Assignment
from stages.execute.dialogue import prompts
from stages.execute.dialogue.conversation import Conversation, final_answer, is_cut_off
from stages.execute.dialogue.corrections import Corrections
from stages.execute.dialogue.inputs import shown_inputs
from stages.execute.harnesses.written_calls import written_calls
from taskdata.schema.agent import AgentSpec
from taskdata.schema.tool import ToolResult, ToolSpec
from taskdata.schema.transcript import Ending, ToolCall, Transcript

PROMPT = "function_calling_v3"
"""Name of its prompt."""
_CUT = "Your reply was cut at its length limit. Go on in smaller steps."
_CUT_AGAIN = "That reply was too long as well. Reply with a single short tool call."
_EMPTY = "Your reply was empty. Use a tool, or call finish with your final answer."
_EMPTY_AGAIN = "That reply was empty, too. Your next reply must be a tool call, such as list_files."
_GO_ON = "call a tool"


class FunctionCalling:
    """Works turn by turn: each reply may have several calls, all answered before the next turn."""

    @property
    def prompt_version(self) -> str | None:
        """The prompts in use."""
        return prompts.version(PROMPT)

    async def run(self, assignment: Assignment) -> Transcript:
        """Work on the task until `finish`, a reply without a call, or the end of a budget."""
        shown = await shown_inputs(assignment)
        talk = Conversation(assignment, PROMPT, shown=shown, native_tools=True)
        corrections, numbers = Corrections(), count(1)
        while True:
            reply = await talk.ask()
            if isinstance(reply, Ending):
                return talk.end(reply)
            specs = assignment.tools.specs
            written = calls_in_text(reply, assignment.agent, specs, numbers)
            ended = None
            if reply.tool_calls:
                ended = await _use_native(talk, reply)
            elif written:
                ended = await _use_written(talk, reply, written)
            elif (fault := _fault(reply)) is not None:
                correction = corrections.next(*fault)
                if correction is None:
                    return talk.stuck(corrections.cause)
                talk.tell(correction)
                continue
            elif not await talk.asks_if_done(_GO_ON):
                ended = await talk.turn_over(reply.text.strip())
            corrections.clear()
            if ended is not None:
                return ended


def calls_in_text(
    reply: ModelReply, agent: AgentSpec, specs: Sequence[ToolSpec], numbers: Iterator[int]
) -> tuple[ToolCall, ...]:
    """Return the calls that the model wrote as text, if the agent allows that."""
    if reply.tool_calls or not agent.reads_text_calls:
        return ()
    return tuple(
        ToolCall(id=f"text-{next(numbers)}", tool=call.tool, arguments=call.arguments, raw=call.raw)
        for call in written_calls(reply.text, [spec.name for spec in specs])
    )


def _fault(reply: ModelReply) -> tuple[str, str, str] | None:
    """Return the fault of a reply without a call, and two corrections; None: there is none."""
    if reply.stop_reason == "length":
        return "The reply was cut at its length limit.", _CUT, _CUT_AGAIN
    if not reply.text.strip():
        return "The reply was empty.", _EMPTY, _EMPTY_AGAIN
    return None


async def _use_native(talk: Conversation, reply: ModelReply) -> Transcript | None:
    said = None
    for call in reply.tool_calls:
        if said is not None:
            # Providers require a result for every call before the user's message.
            talk.answer_call(call, talk.not_used(call))
            continue
        result = talk.cut_off(call) if is_cut_off(call, reply) else await talk.use(call)
        if isinstance(result, Ending):
            return talk.end(result)
        said = final_answer(call, result)
        if said is not None and not talk.is_talk:
            return talk.end(Ending.FINISHED, said)
        talk.answer_call(call, result)
    return None if said is None else await talk.turn_over(said)


async def _use_written(
    talk: Conversation, reply: ModelReply, calls: Sequence[ToolCall]
) -> Transcript | None:
    results = list[tuple[ToolResult, Callable[[ToolResult], str]]]()
    for call in calls:
        # Arguments that can be parsed are complete, wherever the reply was cut.
        lacks_end = reply.stop_reason == "length" and call.arguments is None
        result = talk.cut_off(call) if lacks_end else await talk.use(call)
        if isinstance(result, Ending):
            return talk.end(result)
        if (answer := final_answer(call, result)) is not None:
            if results and talk.is_talk:
                talk.observe(*results)
            return await talk.turn_over(answer)
        results.append((result, partial(_worded, call.tool)))
    # The provider has seen no native call, so its format has no place for a result.
    talk.observe(*results)
    return None


def _worded(tool: str, result: ToolResult) -> str:
    return f"{'Result' if result.error is None else 'Error'} of {tool[:80]}: {result.text}"
