"""The loop of OpenAI's Agents SDK (package `openai-agents`)."""

from typing import TYPE_CHECKING, Any

from stages.execute.adapters.lending import PROMPT, Loan
from stages.execute.assignment import Assignment
from stages.execute.dialogue import prompts
from taskdata.schema.agent import AgentSpec
from taskdata.schema.tool import ToolSpec
from taskdata.schema.transcript import Transcript

if TYPE_CHECKING:
    import agents


class OpenAIAgents:
    """Runs the SDK's own loop in this process; its tracing, which would go to OpenAI, is off."""

    @property
    def prompt_version(self) -> str | None:
        """The prompts in use."""
        return prompts.version(PROMPT)

    async def run(self, assignment: Assignment) -> Transcript:
        """Work on the task until `finish`, a reply without a call, or the end of a budget."""
        import agents
        import openai

        loan = Loan(assignment)

        def finished(context: Any, results: Any) -> agents.ToolsToFinalOutputResult:
            return agents.ToolsToFinalOutputResult(loan.answer is not None, loan.answer)

        async def play() -> str:
            async with loan.client() as client:
                agent = agents.Agent(
                    name="agent",
                    instructions=loan.instructions,
                    tools=[_tool(loan, tool) for tool in loan.specs],
                    tool_use_behavior=finished,
                    model=_model(loan, client),
                    model_settings=_settings(assignment.agent),
                )
                how = agents.RunConfig(tracing_disabled=True)
                ended = await agents.Runner.run(agent, loan.task, max_turns=None, run_config=how)
                return str(ended.final_output or "")

        return await loan.played(play, (agents.AgentsException, openai.OpenAIError))


def _settings(spec: AgentSpec) -> "agents.ModelSettings":
    import agents
    from openai.types.shared import Reasoning

    reasoning = Reasoning(effort=spec.reasoning_effort) if spec.reasoning_effort else None
    return agents.ModelSettings(temperature=spec.temperature, reasoning=reasoning)


def _model(loan: Loan, client: Any) -> "agents.Model":
    import agents

    spec = loan.proxy.endpoint.spec
    if spec.provider == "openai-responses":
        return agents.OpenAIResponsesModel(model=spec.model, openai_client=client)
    return agents.OpenAIChatCompletionsModel(model=spec.model, openai_client=client)


def _tool(loan: Loan, spec: ToolSpec) -> "agents.FunctionTool":
    import agents

    async def invoke(context: Any, raw: str) -> str:
        return await loan.call(spec.name, raw, context.tool_call_id)

    return agents.FunctionTool(
        name=spec.name,
        description=spec.description,
        params_json_schema=spec.parameters,
        on_invoke_tool=invoke,
        strict_json_schema=False,
    )
