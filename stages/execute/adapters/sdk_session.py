"""What every adapter gives to its SDK: tools, task, a metered model client, and a time limit."""

import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

from environments.metering.proxy import MeteringProxy
from environments.models.wire.arguments import read_arguments
from environments.ports import Media, Message
from environments.tools.session.finish import ENDING_TOOLS
from environments.tools.session.overlong import OVERLONG
from stages.execute.assignment import Assignment
from stages.execute.dialogue import prompts
from stages.execute.dialogue.pictures import as_media, sees_pictures
from stages.execute.dialogue.talk import answered
from taskdata.errors import Misuse, NightshiftError
from taskdata.schema.tool import ToolSpec
from taskdata.schema.transcript import Ending, ToolCall, Transcript

if TYPE_CHECKING:
    import openai

PROMPT = "function_calling_v3"
_NOTICE_CHARS = 500


class Shown(NamedTuple):
    """A tool's result as the model reads it."""

    text: str
    pictures: tuple[Media, ...] = ()
    """Empty where the model cannot see; the text then describes them."""


class SdkSession:
    """One trial in the form in which an SDK uses it; everything is recorded and counted."""

    def __init__(self, assignment: Assignment) -> None:
        if assignment.proxy is None:
            raise Misuse(f"agent {assignment.agent.name!r}: its harness needs a model")
        self.proxy: MeteringProxy = assignment.proxy
        self.answer: str | None = None
        """The agent's final answer; None before it has given one."""
        self._assignment = assignment
        self._sees = sees_pictures(assignment.agent)
        self._failure: NightshiftError | None = None
        self._said = ""
        """The agent's last words to the user."""
        self._talk_ending: Ending | None = None
        """How the talk with the user ended; None: it has not, or there is none."""
        assignment.tools.pay_from(self.proxy.budget)
        # An SDK gets its tools once, and notices of cut results refer to this tool.
        assignment.tools.offer(OVERLONG)
        opening = prompts.opening(PROMPT, assignment.brief, assignment.tools.specs)
        self.instructions, self.task = self._told(opening[0]), self._told(opening[1])

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The offered tools."""
        return self._assignment.tools.specs

    def client(self) -> "openai.AsyncOpenAI":
        """Return OpenAI's own client, connected to the metering proxy."""
        import openai

        return openai.AsyncOpenAI(
            api_key=self.proxy.token,
            base_url=f"{self.proxy.url}/v1",
            # The proxy limits the time of a call; the SDK's own timeout may be too short.
            timeout=None,
            # The metering proxy is on loopback, where no proxy of the environment applies.
            http_client=openai.DefaultAsyncHttpxClient(trust_env=False),
        )

    async def call(self, tool: str, raw: str, call_id: str = "") -> Shown:
        """Return a tool's result as the model reads it.

        Raises:
            NightshiftError: a fault that is not the agent's. An SDK would report it to the model as
                a failed tool, so it is stored and raised again at the end of the trial.
        """
        call = ToolCall(
            id=call_id or uuid4().hex, tool=tool, arguments=read_arguments(raw), raw=raw
        )
        started_at, started = datetime.now(UTC), time.monotonic()
        try:
            result = await self._assignment.tools.call(call)
        except NightshiftError as exc:
            self._failure = exc
            raise
        journal = self._assignment.journal
        result, seconds = (
            journal.pictures.taken(result, sees=self._sees),
            time.monotonic() - started,
        )
        journal.tool_call(call, result, started_at, seconds, shows_pictures=self._sees)
        shown = self._assignment.tools.shown(result).text
        if result.error is not None:
            return Shown(f"Error: {shown}")
        if tool not in ENDING_TOOLS:
            return Shown(shown, as_media(result, self._assignment.agent) if self._sees else ())
        # In a talk, the result of an ending tool is the user's answer, and the SDK continues.
        said = await self.turn_over(result.text)
        return Shown(shown if said is None else f"The user answers: {said}")

    async def turn_over(self, said: str) -> str | None:
        """Return what the user answers to the end of the agent's turn; None: the work is over.

        Raises:
            NightshiftError: the user gives no answer; raised again at the end of the trial.
        """
        user = self._assignment.user
        if user is None:
            self.answer = said
            return None
        self._said = said
        try:
            answer = await answered(user, said, self._assignment.journal, self.proxy.budget)
        except NightshiftError as exc:
            self._failure = exc
            raise
        if not isinstance(answer, Ending):
            return answer
        self.answer, self._talk_ending = said, answer
        return None

    async def played(
        self, play: Callable[[], Awaitable[str]], own_faults: tuple[type[Exception], ...]
    ) -> Transcript:
        """Return the transcript of an SDK's run.

        Args:
            play: Runs the SDK's loop and returns its final answer.
            own_faults: The SDK's exceptions for invalid behaviour of the model.

        Raises:
            ModelUnavailable: the provider's failure ended the run; `ModelRejected` likewise.
            NightshiftError: a tool failed for a reason that is not the agent's.
        """
        journal, ending, answer = self._assignment.journal, Ending.FINISHED, ""
        faults: tuple[type[Exception], ...] = (*own_faults, NightshiftError)
        self.proxy.budget.begin()
        try:
            async with self.proxy.budget.in_time() as limit:
                answer = await play()
        except TimeoutError:
            if not limit.expired():
                raise
            ending = Ending.OUT_OF_TIME
        except faults as exc:
            ending = Ending.IN_ERROR
            said = f"{type(exc).__name__}: {exc}"[:_NOTICE_CHARS]
        await self.proxy.settled()
        if self._failure is not None:
            raise self._failure
        self.proxy.require_provider()
        if ending is Ending.IN_ERROR:
            journal.message("system", f"The agent's SDK gave up: {said}")
        if ending is not Ending.OUT_OF_TIME:
            ending = self.proxy.ending or self._talk_ending or ending
        return journal.close(
            ending, self.answer if self.answer is not None else answer or self._said
        )

    def _told(self, message: Message) -> str:
        self._assignment.journal.message(
            "user" if message.role == "user" else "system", message.text
        )
        return message.text
