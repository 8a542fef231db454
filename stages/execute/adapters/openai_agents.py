"""The loop of OpenAI's Agents SDK (package `openai-agents`)."""

from typing import TYPE_CHECKING, Any

from stages.execute.adapters.sdk_session import PROMPT, SdkSession
from stages.execute.assignment import Assignment
from stages.execute.dialogue import prompts
from taskdata.schema.agent import AgentSpec
from taskdata.schema.tool import ToolSpec
from taskdata.schema.transcript import Transcript

if TYPE_CHECKING:
    import agents


class OpenAIAgents:
    """Runs the SDK's own loop in this process; its tracing, which sends to OpenAI, is off."""

    @property
    def prompt_version(self) -> str | None:
        """The prompts in use."""
        return prompts.version(PROMPT)

    async def run(self, assignment: Assignment) -> Transcript:
        """Work on the task until `finish`, a reply without a call, or the end of a budget."""
        import agents
        import openai

        session = SdkSession(assignment)

        def finished(context: Any, results: Any) -> agents.ToolsToFinalOutputResult:
            return agents.ToolsToFinalOutputResult(session.answer is not None, session.answer)

        async def play() -> str:
            async with session.client() as client:
                agent = agents.Agent(
                    name="agent",
                    instructions=session.instructions,
                    tools=[_tool(session, tool) for tool in session.specs],
                    tool_use_behavior=finished,
                    model=_model(session, client),
                    model_settings=_settings(assignment.agent),
                )
                how = agents.RunConfig(tracing_disabled=True)
                given: str | list[Any] = session.task
                while True:
                    ended = await agents.Runner.run(agent, given, max_turns=None, run_config=how)
                    said = str(ended.final_output or "")
                    if session.answer is not None:
                        return said
                    answer = await session.turn_over(said)
                    if answer is None:
                        return said
                    given = [*ended.to_input_list(), {"role": "user", "content": answer}]

        return await session.played(play, (agents.AgentsException, openai.OpenAIError))


def _settings(spec: AgentSpec) -> "agents.ModelSettings":
    import agents
    from openai.types.shared import Reasoning

    reasoning = Reasoning(effort=spec.reasoning_effort) if spec.reasoning_effort else None
    return agents.ModelSettings(temperature=spec.temperature, reasoning=reasoning)


def _model(session: SdkSession, client: Any) -> "agents.Model":
    import agents

    spec = session.proxy.endpoint.spec
    if spec.provider == "openai-responses":
        return agents.OpenAIResponsesModel(model=spec.model, openai_client=client)
    return agents.OpenAIChatCompletionsModel(model=spec.model, openai_client=client)


def _tool(session: SdkSession, spec: ToolSpec) -> "agents.FunctionTool":
    import agents

    async def invoke(context: Any, raw: str) -> str:
        return await session.call(spec.name, raw, context.tool_call_id)

    return agents.FunctionTool(
        name=spec.name,
        description=spec.description,
        params_json_schema=spec.parameters,
        on_invoke_tool=invoke,
        strict_json_schema=False,
    )
