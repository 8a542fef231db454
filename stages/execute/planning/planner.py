"""Asks an agent's model for a plan and, if wanted, once for a better one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from environments.models.faults import ConversationRefused, ConversationTooLong
from environments.ports import Message, ModelClient, ModelReply, ModelRequest
from stages.execute.dialogue import prompts
from stages.execute.dialogue.asking import TrialModel
from stages.execute.dialogue.budget import HarnessBudget
from stages.execute.dialogue.inputs import ShownInput, with_files
from stages.execute.dialogue.journal import Journal
from stages.execute.planning.reading import MAX_STEPS, plan_schema, read_plan
from taskdata.errors import BadTaskData, ModelRejected
from taskdata.schema.agent import AgentSpec
from taskdata.schema.plan import Plan, PlanReply, PlanVersion
from taskdata.schema.task import TaskBrief
from taskdata.schema.tool import ToolSpec
from taskdata.schema.transcript import Ending

PLAN_PROMPT = "plan_v1"
REFINE_PROMPT = "plan_refine_v1"
ASKED_AT_MOST = 2
"""How often a version of the plan is asked for: once more if the first reply cannot be read."""

_AGAIN = (
    "This plan could not be read: {fault}. Write it once more, as one JSON object in the form that "
    "was asked for, with nothing before or after it."
)


def most_plan_calls(agent: AgentSpec) -> int:
    """Return the most model calls that planning takes in one trial of the agent."""
    versions = {"direct": 0, "plan_first": 1, "plan_refine": 2}
    return versions[agent.planning] * ASKED_AT_MOST


@dataclass(frozen=True)
class Planner:
    """The planning of one trial; whatever it asks and hears is on record in the journal."""

    agent: AgentSpec
    model: ModelClient
    meter: HarnessBudget
    journal: Journal
    tools: Sequence[ToolSpec]
    """Those of the agent; empty if it is a program with tools of its own."""
    refines: bool
    """Whether a better plan is asked for once there is one."""

    async def plan(self, brief: TaskBrief, shown: Sequence[ShownInput]) -> Ending | None:
        """Have the plan made, which the journal then has; return the limit that ended this.

        A plan that cannot be read, and one that the provider refuses to write, say so under
        `fault`; they end nothing.

        Raises:
            ModelUnavailable: the provider does not answer; `ModelRejected`: it refuses requests.
            BudgetExhausted: the run's money is used up.
        """
        *before, task = prompts.opening(PLAN_PROMPT, brief, self.tools, max_steps=MAX_STEPS)
        task = with_files(task, shown)
        schema = self._schema(refines=False)
        draft = await self._version((*before, task), schema, lambda made: Plan(draft=made))
        if isinstance(draft, Ending):
            return draft
        if not self.refines or not draft.text:
            return None
        *_, asks = prompts.messages(REFINE_PROMPT)
        said = Message("assistant", draft.replies[-1].text)
        refined = await self._version(
            (*before, task, said, asks),
            self._schema(refines=True),
            lambda made: Plan(draft=draft, refined=made),
        )
        return refined if isinstance(refined, Ending) else None

    def _schema(self, *, refines: bool) -> dict[str, Any] | None:
        # Only servers that are known to hold a model to a schema are sent one.
        return plan_schema(self.tools, refines=refines) if self.agent.asks_for_structure else None

    async def _version(
        self,
        messages: Sequence[Message],
        schema: dict[str, Any] | None,
        plan_with: Callable[[PlanVersion], Plan],
    ) -> PlanVersion | Ending:
        """Return a version of the plan, or the limit that allows none; the journal has each reply.

        `plan_with` makes the trial's plan of what there is of this version.
        """
        version, told = PlanVersion(), tuple(messages)
        while len(version.replies) < ASKED_AT_MOST:
            started_at = datetime.now(UTC)
            reply = await self._reply(told, schema)
            if isinstance(reply, Ending):
                return reply
            if isinstance(reply, str):
                version = version.model_copy(update={"fault": reply})
                self.journal.plan = plan_with(version)
                break
            version = _with_reply(version, reply, started_at)
            self.journal.plan = plan_with(version)
            if version.steps:
                break
            again = Message("user", _AGAIN.format(fault=version.fault))
            told = (*messages, Message("assistant", reply.text or "(nothing)"), again)
        return version

    async def _reply(
        self, messages: Sequence[Message], schema: dict[str, Any] | None
    ) -> ModelReply | Ending | str:
        """Return the model's reply, the limit that allows none, or why the provider refuses it."""
        model = TrialModel(self.model, self.meter, self.journal)
        while True:
            try:
                reply = await model.reply(partial(self._request, messages, schema))
            except ModelRejected as exc:
                # As when the agent works: what a provider turns down may be the files.
                plain = tuple(replace(message, media=()) for message in messages)
                if plain != tuple(messages):
                    messages = plain
                    continue
                if isinstance(exc, (ConversationTooLong, ConversationRefused)):
                    return f"the provider refused: {exc}"
                raise
            if isinstance(reply, ModelReply):
                self.journal.heard(reply)
            return reply

    def _request(
        self, messages: Sequence[Message], schema: dict[str, Any] | None, seconds: float
    ) -> ModelRequest:
        return ModelRequest(
            messages=messages,
            max_tokens=self.meter.reply_tokens,
            temperature=self.agent.temperature,
            json_schema=schema,
            reasoning_effort=self.agent.reasoning_effort,
            timeout_seconds=seconds,
        )


def _with_reply(version: PlanVersion, reply: ModelReply, started_at: datetime) -> PlanVersion:
    """Return the version after one more reply, with its plan or its fault."""
    fault, found = "", dict[str, object]()
    try:
        written = read_plan(reply)
        found = {"steps": written.plan_steps, "criticism": written.criticism}
    except BadTaskData as exc:
        fault = str(exc)
    recorded = PlanReply(
        text=reply.text,
        thinking=reply.thinking,
        model=reply.model,
        fault=fault,
        usage=reply.usage,
        cost_usd=reply.cost_usd,
        started_at=started_at,
        seconds=reply.seconds,
        waited_seconds=reply.waited_seconds,
        failed_attempts=reply.failed_attempts,
        cached=reply.cached,
    )
    update = {"fault": fault, "replies": (*version.replies, recorded), **found}
    return version.model_copy(update=update)
