"""The harness that has a plan made before another harness begins with it (APB, section 5.1)."""

from dataclasses import replace

from environments.models.money.prices import price_of
from environments.ports import ModelClient
from stages.execute.assignment import Assignment, Harness
from stages.execute.dialogue.budget import HarnessBudget
from stages.execute.dialogue.inputs import shown_inputs
from stages.execute.planning.planner import PLAN_PROMPT, REFINE_PROMPT, Planner, most_plan_calls
from taskdata.errors import Misuse
from taskdata.schema.agent import AgentSpec, Budget
from taskdata.schema.transcript import Transcript


class PlanFirst:
    """Asks the agent's model for a plan, and gives it to a harness with the task.

    The plan uses tokens, time and money of the trial's budget, but none of its turns: an agent that
    plans has as many turns for the work as one that does not.
    """

    def __init__(
        self,
        harness: Harness,
        planner: ModelClient,
        *,
        system_prompt: str,
        refines: bool,
        plans_with_tools: bool,
    ) -> None:
        """Plan for `harness`.

        Args:
            harness: Does the work.
            planner: Answers as the agent's model; equal requests of other trials share its replies.
            system_prompt: The task's own, as the plan is made for it: the same for all trials that
                share a draft, though it may tell each agent when its trial began.
            refines: Whether the plan is improved once before the work.
            plans_with_tools: Whether the agent uses our tools, which the plan is then made of.
        """
        self._harness = harness
        self._planner = planner
        self._system_prompt = system_prompt
        self._plans_with_tools = plans_with_tools
        self._refines = refines

    @property
    def prompt_version(self) -> str | None:
        """The prompts of the harness, and those for the plan."""
        own = self._harness.prompt_version
        used = [PLAN_PROMPT, REFINE_PROMPT] if self._refines else [PLAN_PROMPT]
        return "+".join([*([] if own is None else [own]), *used])

    async def run(self, assignment: Assignment) -> Transcript:
        """Plan, then work on the task until it is done or a budget is spent.

        Raises what `Planner.plan` and the harness raise.
        """
        agent, journal = assignment.agent, assignment.journal
        if agent.model is None:
            raise Misuse(f"agent {agent.name!r}: it has no model that could be asked for a plan")
        # One more than there can be, so that turns never end a trial here.
        calls = agent.budget.model_copy(update={"max_turns": most_plan_calls(agent) + 1})
        meter = HarnessBudget(calls, price=price_of(agent.model))
        tools = assignment.tools.specs if self._plans_with_tools else ()
        planner = Planner(agent, self._planner, meter, journal, tools, self._refines)
        brief = assignment.brief.model_copy(update={"system_prompt": self._system_prompt})
        ending = await planner.plan(brief, await shown_inputs(assignment))
        ending = ending or meter.exhausted()
        if ending is not None:
            return journal.close(ending)
        plan = "" if journal.plan is None else journal.plan.followed.text
        if assignment.proxy is not None:
            used_seconds = agent.budget.max_seconds - meter.seconds_left
            assignment.proxy.budget.spend_before(meter.spent, used_seconds)
        rest = agent.model_copy(update={"budget": _rest(agent, meter)})
        planned = assignment.brief.model_copy(update={"plan": plan})
        return await self._harness.run(replace(assignment, brief=planned, agent=rest))


def _rest(agent: AgentSpec, meter: HarnessBudget) -> Budget:
    """Return what the plan has left of the agent's budget, with all of its turns."""
    budget, spent = agent.budget, meter.spent
    left: dict[str, float] = {
        "max_tokens": max(1, budget.max_tokens - spent.tokens),
        "max_seconds": meter.seconds_left,
    }
    if budget.max_usd is not None:
        left["max_usd"] = max(0.0, budget.max_usd - (spent.usd or 0.0))
    return budget.model_copy(update=left)
