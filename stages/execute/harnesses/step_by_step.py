"""Step by step mode (GTA, section 4.1): a model predicts each next step of the reference.

It makes one model call for each step of the reference and one for the final answer. No call that
the model predicts is run. If the result of a reference step was not recorded, as in most banks, the
step is played with the trial's own tools, which needs nothing else.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count

from environments.ports import Message, ModelReply
from environments.tools.session.finish import ENDING_TOOLS
from stages.execute.assignment import Assignment
from stages.execute.dialogue import prompts
from stages.execute.dialogue.conversation import Conversation, is_cut_off
from stages.execute.dialogue.inputs import shown_inputs
from stages.execute.harnesses import function_calling, react
from stages.execute.harnesses.function_calling import calls_in_text
from stages.execute.harnesses.react_text import OBSERVATION, STOP, read_step
from stages.execute.harnesses.steps import Act, FinalAnswer
from taskdata.errors import BadTaskData
from taskdata.schema.agent import AgentSpec
from taskdata.schema.task import ReferenceSolution, ReferenceStep, Task
from taskdata.schema.tool import ToolSpec
from taskdata.schema.transcript import Ending, GivenStep, Prediction, ToolCall, Transcript


@dataclass(frozen=True)
class StepProtocol:
    """How a harness writes steps into messages, and parses them."""

    prompt: Callable[[AgentSpec], str]
    native_tools: bool
    stop: tuple[str, ...]
    read: Callable[[ModelReply, Assignment], Prediction]
    given: Callable[[ToolCall, ReferenceStep, str], tuple[Message, ...]]
    """Returns the messages of a step and its result."""


class StepByStep:
    """Predicts every step of a task's reference in the protocol of another harness."""

    def __init__(self, protocol: StepProtocol, agent: AgentSpec, task: Task) -> None:
        """Take the reference from the task, because the brief that agents get does not have it."""
        if task.reference is None:
            raise BadTaskData(f"task {task.id!r}: has no reference to predict")
        self._task_id = task.id
        self._solution: ReferenceSolution = task.reference
        self._protocol = protocol
        self._prompt = protocol.prompt(agent)

    @property
    def prompt_version(self) -> str | None:
        """The prompts in use."""
        return prompts.version(self._prompt)

    async def run(self, assignment: Assignment) -> Transcript:
        """Return the transcript with a prediction for each step, as far as the budget allows."""
        protocol, predictions = self._protocol, list[Prediction]()
        talk = Conversation(
            assignment,
            self._prompt,
            shown=await shown_inputs(assignment),
            native_tools=protocol.native_tools,
            stop=protocol.stop,
        )
        results = await self._results(talk)
        while True:
            reply = await talk.ask()
            if isinstance(reply, Ending) and reply is not Ending.REFUSED:
                return talk.end(reply, predictions=predictions)
            if isinstance(reply, Ending):
                predictions.append(Prediction(error=talk.refusal))
            else:
                predictions.append(
                    _checked(protocol.read(reply, assignment), assignment.tools.specs)
                )
            number = len(predictions)
            if number > len(results):
                ending = reply if isinstance(reply, Ending) else Ending.FINISHED
                return talk.end(ending, predictions[-1].answer or "", predictions)
            # The next step follows from the reference, whatever the model predicted here.
            step, result = self._solution.steps[number - 1], results[number - 1]
            call = _call(number, step)
            talk.replace_turn(
                protocol.given(call, step, result),
                GivenStep(number=number, thought=step.thought, call=call, result=result),
            )

    async def _results(self, talk: Conversation) -> list[str]:
        """Return the results of the steps: the recorded one, else what the tool returns now."""
        steps = self._solution.steps
        if all(step.result is not None for step in steps):
            return [step.result or "" for step in steps]
        results = []
        # All steps are played, because a step may need what an earlier one has written.
        for number, step in enumerate(steps, start=1):
            played = await talk.play(_call(number, step))
            if played.error is not None and step.result is None:
                raise BadTaskData(
                    f"task {self._task_id!r}: step {number} of its reference, {step.tool}, fails: "
                    f"{' '.join(played.text.split())[:200].rstrip('.')}; mend the reference, or "
                    "what it needs here"
                )
            results.append(played.text if step.result is None else step.result)
        return results


def _call(number: int, step: ReferenceStep) -> ToolCall:
    return ToolCall(
        id=f"step-{number}",
        tool=step.tool,
        arguments=step.arguments,
        raw=json.dumps(step.arguments, ensure_ascii=False),
    )


def _checked(prediction: Prediction, specs: Sequence[ToolSpec]) -> Prediction:
    """Return the prediction with the fault of its call, by name, as GTA checks it."""
    call = prediction.call
    if call is None or prediction.error is not None:
        return prediction
    return prediction.model_copy(update={"error": _fault(call, specs)})


def _fault(call: ToolCall, specs: Sequence[ToolSpec]) -> str | None:
    schema = next((spec.parameters for spec in specs if spec.name == call.tool), None)
    if schema is None:
        return f"there is no tool {call.tool[:80]!r}"
    if call.arguments is None:
        return "the arguments are not one JSON object"
    named, given = set(schema.get("properties", ())), set(call.arguments)
    if unknown := sorted(given - named):
        return f"{call.tool} has no argument {unknown[0][:80]!r}"
    if missing := sorted(set(schema.get("required", ())) - given):
        return f"{call.tool} lacks its argument {missing[0]!r}"
    return None


def _ending(call: ToolCall) -> Prediction | None:
    """Return the answer in a call that would end the trial; None for any other call."""
    if call.tool not in ENDING_TOOLS or call.arguments is None:
        return None
    return Prediction(answer=str(call.arguments.get("answer", "")))


def _read_text(reply: ModelReply, assignment: Assignment) -> Prediction:
    step = read_step(reply.text, [spec.name for spec in assignment.tools.specs])
    if isinstance(step, FinalAnswer):
        return Prediction(answer=step.text)
    if not isinstance(step, Act):
        return Prediction(error=step.reason)
    call = ToolCall(id="predicted", tool=step.tool, arguments=step.arguments, raw=step.raw)
    return _ending(call) or Prediction(call=call)


def _read_calls(reply: ModelReply, assignment: Assignment) -> Prediction:
    if reply.tool_calls:
        # One step is predicted: of several calls, the first counts.
        first = reply.tool_calls[0]
        if is_cut_off(first, reply):
            return Prediction(call=first, error="the reply was cut at its length limit")
        return _ending(first) or Prediction(call=first)
    specs = assignment.tools.specs
    if written := calls_in_text(reply, assignment.agent, specs, count(1)):
        return _ending(written[0]) or Prediction(call=written[0])
    text = reply.text.strip()
    return Prediction(answer=text) if text else Prediction(error="the reply is empty")


def _given_text(call: ToolCall, step: ReferenceStep, result: str) -> tuple[Message, ...]:
    thought = f"Thought: {step.thought}\n" if step.thought else ""
    return (
        Message("assistant", f"{thought}Action: {call.tool}\nAction Input: {call.raw}"),
        Message("user", f"{OBSERVATION} {result}"),
    )


def _given_call(call: ToolCall, step: ReferenceStep, result: str) -> tuple[Message, ...]:
    return (
        Message("assistant", step.thought, tool_calls=(call,)),
        Message("tool", result, call_id=call.id),
    )


IN_TEXT = StepProtocol(react.text_prompt, False, (STOP,), _read_text, _given_text)
IN_CALLS = StepProtocol(lambda agent: function_calling.PROMPT, True, (), _read_calls, _given_call)
