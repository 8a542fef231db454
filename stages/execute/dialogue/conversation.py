"""One agent's conversation with its model: budget, tools, context, and journal."""

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from environments.models.capabilities import capabilities_of
from environments.models.faults import ConversationRefused, ConversationTooLong
from environments.models.money.prices import price_of
from environments.ports import Media, Message, ModelReply, ModelRequest
from environments.toolkit.turns import TurnSize
from environments.tools.session.finish import ENDING_TOOLS
from environments.tools.session.looking_back import HISTORY
from environments.tools.session.managing_context import MANAGE_CONTEXT
from stages.execute.assignment import Assignment
from stages.execute.dialogue import prompts
from stages.execute.dialogue.asking import TrialModel
from stages.execute.dialogue.budget import HarnessBudget
from stages.execute.dialogue.context import Context, ContextWindow
from stages.execute.dialogue.corrections import missing_files
from stages.execute.dialogue.inputs import ShownInput, with_files
from stages.execute.dialogue.pictures import as_media, sees_pictures
from stages.execute.dialogue.talk import answered
from taskdata.errors import Misuse, ModelRejected
from taskdata.schema.tool import ToolErrorKind, ToolResult
from taskdata.schema.transcript import Ending, GivenStep, Prediction, ToolCall, Transcript

_REFUSED = "the model refused to answer"
_LOOK_BACK = f"{HISTORY} finds what happened in them."
_HALF_FULL = (
    f"Your context is half full. {MANAGE_CONTEXT} shows how full it is and drops old turns, such "
    f'as with {{"action": "keep_last", "count": 10}}; {HISTORY} finds what was dropped.'
)
_CUT_OFF = (
    "This call was not run: your reply was cut at its length limit while you wrote it. Make it in "
    "smaller parts, such as a long file in several calls."
)
_NOT_DONE = (
    "Your reply would end your work, but {files} not there. If you are not done, go on: {how}. If "
    "you are, give your final answer once more."
)
_TURN_IS_OVER = "This call was not run: your turn was over. Make it again if you need it."
_PICTURES_HIDDEN = (
    "The provider does not take the pictures of tool results: you are not shown them, and cannot "
    "see those of later results either."
)
_HIDDEN = "The provider does not take the files that were shown: they are not. Tools can read them."


class Conversation:
    """Instructions, task and turns; every reply and result is recorded and counted.

    For the trial's tools it is the agent's context (`AgentContext`).
    """

    def __init__(
        self,
        assignment: Assignment,
        prompt: str | Sequence[Message],
        *,
        shown: Sequence[ShownInput] = (),
        native_tools: bool = False,
        stop: tuple[str, ...] = (),
        reply_schema: Callable[[int], dict[str, Any]] | None = None,
    ) -> None:
        """Open the conversation, with the prompt of that name or these messages.

        `reply_schema` gives the JSON schema of the next reply, by how many turns are left.
        """
        model = assignment.agent.model
        if assignment.model is None or model is None:
            raise Misuse(f"agent {assignment.agent.name!r}: its harness needs a model")
        self._assignment = assignment
        self._journal = assignment.journal
        self._meter = HarnessBudget(assignment.agent.budget, price=price_of(model))
        self._model = TrialModel(assignment.model, self._meter, self._journal)
        self._native_tools = native_tools
        self._stop = stop
        self._reply_schema = reply_schema
        if isinstance(prompt, str):
            opening = prompts.opening(prompt, assignment.brief, assignment.tools.specs)
        else:
            opening = tuple(prompt)
        self._context = Context(self._opened(opening, shown))
        known = assignment.agent.window_tokens or capabilities_of(model).window_tokens
        self._window = ContextWindow(known)
        # Who only writes a plan has no tool that drops old turns.
        self._was_warned = not isinstance(prompt, str)
        self.refusal = _REFUSED
        """The reason for the last `Ending.REFUSED`."""
        self._remedies = 0
        """How often the conversation was shortened since the last reply."""
        self._was_asked = False
        """Whether the agent was asked if it is done."""
        self._sees = sees_pictures(assignment.agent)
        self._said = ""
        """The agent's last words to the user."""
        self._pictures_were_taken = False
        """Whether the provider has answered a request with pictures of results."""
        assignment.tools.attach(self)
        assignment.tools.pay_from(self._meter)

    def _opened(
        self, opening: Sequence[Message], shown: Sequence[ShownInput]
    ) -> tuple[Message, ...]:
        """Record and return the opening; files are attached to its last message."""
        *before, task = opening
        task = with_files(task, shown)
        for message in before:
            role: Literal["system", "user"] = "user" if message.role == "user" else "system"
            # A reply in the opening is part of an example, so the transcript records it as a
            # notice.
            example = message.role == "assistant"
            self._journal.message(
                role, f"Example reply: {message.text}" if example else message.text
            )
        self._journal.message("user", task.text, tuple(item.file for item in shown))
        return (*before, task)

    def tell(self, text: str) -> None:
        """Send the agent a message of ours."""
        self._context.add(Message("user", text))
        self._journal.message("user", text)

    @property
    def is_talk(self) -> bool:
        """Whether a user answers what the agent says at the end of its turn."""
        return self._assignment.user is not None

    async def turn_over(self, said: str) -> Transcript | None:
        """End the agent's turn; return the transcript, or None if the user's answer continues it.

        Without a user, the turn's end is the end of the trial. Raises the errors of `answered`.
        """
        user = self._assignment.user
        if user is None:
            return self.end(Ending.FINISHED, said)
        self._said = said
        answer = await answered(user, said, self._journal, self._meter)
        if isinstance(answer, Ending):
            return self.end(answer, said)
        self._context.add(Message("user", answer))
        return None

    async def asks_if_done(self, how: str) -> bool:
        """Ask, once per trial, whether a reply is really the last one, if files are missing.

        Returns whether the question was asked; `how` says what to reply in order to continue.
        """
        if self.is_talk or self._was_asked or self._meter.exhausted() is not None:
            return False
        missing = await missing_files(self._assignment)
        if not missing:
            return False
        self._was_asked = True
        paths = ", ".join(f"output/{name}" for name in missing)
        are = "is" if len(missing) == 1 else "are"
        self.tell(_NOT_DONE.format(files=f"{paths} {are}", how=how))
        return True

    def stuck(self, cause: str) -> Transcript:
        """Return the transcript of an agent that repeats a fault; the journal states the fault."""
        self._journal.message("system", cause)
        return self.end(Ending.STUCK)

    def observe(self, *results: tuple[ToolResult, Callable[[ToolResult], str]]) -> None:
        """Send the agent several tool results as one text; the journal has them by call."""
        shown = self._assignment.tools.shown
        text = "\n\n".join(worded(shown(result)) for result, worded in results)
        media = tuple(media for result, _ in results for media in self._media(result))
        self._context.add(Message("user", text, media=media))

    def answer_call(self, call: ToolCall, result: ToolResult) -> None:
        """Send the agent a tool's result as the answer to its native call."""
        text = self._assignment.tools.shown(result).text
        is_error, media = result.error is not None, self._media(result)
        self._context.add(Message("tool", text, call_id=call.id, is_error=is_error, media=media))

    def _media(self, result: ToolResult) -> tuple[Media, ...]:
        return as_media(result, self._assignment.agent) if self._sees else ()

    def replace_turn(self, messages: Sequence[Message], given: GivenStep) -> None:
        """Replace the model's last turn with these messages, which represent the step `given`."""
        self._context.replace_turn(messages)
        call = given.call
        self._journal.message(
            "system",
            f"Given instead, step {given.number} of the reference: {call.tool} {call.raw}: "
            f"{given.result}",
            given=given,
        )

    def end(
        self, ending: Ending, final_answer: str = "", predictions: Sequence[Prediction] = ()
    ) -> Transcript:
        """Return the transcript of the conversation.

        If a budget ends a talk, the agent's last words are its final answer.
        """
        return self._journal.close(ending, final_answer or self._said, predictions)

    async def ask(self) -> ModelReply | Ending:
        """Return the model's next reply, or the ending that prevents one.

        Raises:
            ModelUnavailable: the provider does not answer, or its failures have used up the money.
            ModelRejected: the provider refuses the request for a reason that is not the agent's.
            BudgetExhausted: the run's money is used up.
        """
        self._watch_window()
        self.refusal = _REFUSED
        while True:
            started_at = datetime.now(UTC)
            try:
                reply = await self._model.reply(self._request)
            except ModelRejected as exc:
                if not self._changes_request(exc):
                    return self._refused(exc)
                continue
            if isinstance(reply, Ending):
                return reply
            self._take(reply, started_at)
            return Ending.REFUSED if reply.stop_reason == "refused" else reply

    def _changes_request(self, fault: ModelRejected) -> bool:
        """Leave out what the provider may have turned down; return False if it refuses the content.

        Raises the fault if it is not the agent's and nothing could be left out.
        """
        if isinstance(fault, ConversationTooLong):
            return self._shorten() or self._hide_files()
        if isinstance(fault, ConversationRefused):
            return False
        # A provider that has answered before accepts the files, so they are not the reason.
        if not self._context.turns and self._hide_files():
            return True
        if self._hide_pictures():
            return True
        raise fault

    def _refused(self, fault: ModelRejected) -> Ending:
        notice = f"The provider refused: {fault}"
        if isinstance(fault, ConversationTooLong):
            self.refusal = "the conversation is too long for the model"
            notice = f"The conversation cannot go on: {fault}"
        # Recorded as a turn, as if the model itself had refused.
        self._context.begin_turn(Message("assistant", ""))
        self._journal.message("system", notice)
        return Ending.REFUSED

    async def use(self, call: ToolCall) -> ToolResult | Ending:
        """Return the whole result of a tool call, or the ending if the trial's time is up."""
        started_at, started = datetime.now(UTC), time.monotonic()
        try:
            async with asyncio.timeout(self._meter.seconds_left) as limit:
                result = await self._assignment.tools.call(call)
        except TimeoutError:
            if limit.expired():
                return Ending.OUT_OF_TIME
            raise
        seconds = time.monotonic() - started
        result = self._journal.pictures.taken(result, sees=self._sees)
        self._journal.tool_call(call, result, started_at, seconds, shows_pictures=self._sees)
        return result

    def not_used(self, call: ToolCall) -> ToolResult:
        """Return the result for a tool call that is not run because the agent's turn is over."""
        return self._not_run(call, _TURN_IS_OVER)

    def cut_off(self, call: ToolCall) -> ToolResult:
        """Return the result for a tool call that is not run because it is incomplete."""
        return self._not_run(call, _CUT_OFF)

    def _not_run(self, call: ToolCall, why: str) -> ToolResult:
        result = ToolResult(text=why, error=ToolErrorKind.BAD_ARGUMENTS)
        self._journal.tool_call(call, result, datetime.now(UTC), 0.0)
        return result

    async def play(self, call: ToolCall) -> ToolResult:
        """Return the result of a call of the reference solution, as the agent is shown it.

        It uses the trial's money, but neither its turns nor its time. It is recorded only if it
        cost something.
        """
        started = time.monotonic()
        result = await self._assignment.tools.call(call)
        self._meter.wait(time.monotonic() - started)
        if result.cost_usd != 0:
            notice = f"Played for the agent: {call.tool}, which asks a model"
            self._journal.message("system", notice, cost_usd=result.cost_usd)
        # A step that is given is a text, in the transcript as well.
        described = self._journal.pictures.taken(result, sees=False)
        return self._assignment.tools.shown(described)

    @property
    def window_tokens(self) -> int | None:
        """Longest input of the model; None: unknown."""
        return self._window.tokens

    def turns(self) -> Sequence[TurnSize]:
        """Return the turns in the model's context; the last is the current one."""
        return self._context.turns

    def input_tokens(self) -> int | None:
        """Return about how many tokens the next request has; None if usage is not reported."""
        return self._window.estimate(self._context.chars)

    def turns_left(self) -> int:
        """Return how many more turns the budget allows."""
        return self._meter.turns_left

    def drop(self, numbers: Collection[int]) -> int:
        """Remove whole turns; return how many characters they had."""
        self._assignment.tools.offer(HISTORY)
        return self._context.drop(numbers)

    def _request(self, seconds: float) -> ModelRequest:
        agent = self._assignment.agent
        return ModelRequest(
            messages=self._context.messages,
            tools=self._assignment.tools.specs if self._native_tools else (),
            max_tokens=self._meter.reply_tokens,
            temperature=agent.temperature,
            stop=self._stop,
            json_schema=self._reply_schema(self._meter.turns_left) if self._reply_schema else None,
            reasoning_effort=agent.reasoning_effort,
            timeout_seconds=seconds,
        )

    def _take(self, reply: ModelReply, started_at: datetime) -> None:
        self._remedies = 0
        self._pictures_were_taken |= self._sees and self._context.shows_pictures
        self._journal.model_call(reply, started_at)
        self._context.begin_turn(
            Message("assistant", reply.text, tool_calls=reply.tool_calls, replay=reply.replay)
        )
        self._window.count(reply.usage, self._context.chars)

    def _watch_window(self) -> None:
        """Before a request: warn once if the window is half full, make space if it is full."""
        if self._is_full():
            while self._is_full() and self._shorten():
                pass
        elif not self._was_warned and self._window.is_half_full(self._context.chars):
            self._was_warned = True
            self._tell_beside(_HALF_FULL)

    def _is_full(self) -> bool:
        return not self._window.holds(self._context.chars, self._meter.reply_tokens)

    def _shorten(self) -> bool:
        """Remove something, more at the second time in a row; return whether that was possible."""
        ways = (self._context.keep_newest, self._context.shorten)
        while self._remedies < len(ways):
            left_out = ways[self._remedies]()
            self._remedies += 1
            if left_out is not None:
                self._tell_beside(f"To fit the context, {left_out}. {_LOOK_BACK}")
                return True
        return False

    def _tell_beside(self, text: str) -> None:
        """Append a notice to the next message; the tools that it names are offered from now on."""
        self._assignment.tools.offer(MANAGE_CONTEXT, HISTORY)
        self._context.note(text)
        self._journal.message("system", text)

    def _hide_files(self) -> bool:
        if not self._context.hide_media():
            return False
        self._context.note(_HIDDEN)
        self._journal.message("system", _HIDDEN)
        return True

    def _hide_pictures(self) -> bool:
        """Go on without the pictures of results that the provider has never accepted."""
        if self._pictures_were_taken or not self._context.hide_pictures():
            return False
        self._sees = False
        self._context.note(_PICTURES_HIDDEN)
        self._journal.hide_pictures()
        self._journal.message("system", _PICTURES_HIDDEN)
        return True


def is_cut_off(call: ToolCall, reply: ModelReply) -> bool:
    """Return whether one of the reply's calls may be incomplete.

    An incomplete call may look complete, because some providers then return empty arguments.
    """
    return reply.stop_reason == "length" and call is reply.tool_calls[-1]


def final_answer(call: ToolCall, result: ToolResult) -> str | None:
    """Return the final answer if this call ended the trial, else None."""
    return result.text if call.tool in ENDING_TOOLS and result.error is None else None
