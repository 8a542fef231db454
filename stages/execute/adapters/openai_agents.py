"""The loop of OpenAI's Agents SDK (package `openai-agents`)."""

import base64
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from environments.ports import Media
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
        pictures: dict[str, tuple[Media, ...]] = {}

        def shown(data: agents.run.CallModelData[Any]) -> agents.run.ModelInputData:
            given = data.model_data
            items: list[Any] = _with_pictures(given.input, pictures)
            return agents.run.ModelInputData(input=items, instructions=given.instructions)

        def finished(context: Any, results: Any) -> agents.ToolsToFinalOutputResult:
            return agents.ToolsToFinalOutputResult(session.answer is not None, session.answer)

        async def play() -> str:
            async with session.client() as client:
                agent = agents.Agent(
                    name="agent",
                    instructions=session.instructions,
                    tools=[_tool(session, tool, pictures) for tool in session.specs],
                    tool_use_behavior=finished,
                    model=_model(session, client),
                    model_settings=_settings(assignment.agent),
                )
                how = agents.RunConfig(tracing_disabled=True, call_model_input_filter=shown)
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


def _tool(
    session: SdkSession, spec: ToolSpec, pictures: dict[str, tuple[Media, ...]]
) -> "agents.FunctionTool":
    import agents

    async def invoke(context: Any, raw: str) -> str:
        shown = await session.call(spec.name, raw, context.tool_call_id)
        if shown.pictures:
            pictures[context.tool_call_id] = shown.pictures
        return shown.text

    return agents.FunctionTool(
        name=spec.name,
        description=spec.description,
        params_json_schema=spec.parameters,
        on_invoke_tool=invoke,
        strict_json_schema=False,
    )


def _with_pictures(items: Sequence[Any], pictures: Mapping[str, tuple[Media, ...]]) -> list[Any]:
    """Return a model's input with the pictures of tool results in a user's message after them.

    In chat completions, the SDK drops the pictures of results. The message follows all results of a
    turn, because that format requires the results first.
    """
    found: list[Any] = []
    waiting: list[Media] = []
    for item in items:
        is_result = isinstance(item, dict) and item.get("type") == "function_call_output"
        if waiting and not is_result:
            found.append(_message(waiting))
            waiting = []
        found.append(item)
        if is_result:
            waiting += pictures.get(str(item.get("call_id")), ())
    return [*found, _message(waiting)] if waiting else found


def _message(pictures: Sequence[Media]) -> dict[str, Any]:
    return {
        "role": "user",
        "content": [
            {
                "type": "input_image",
                "image_url": f"data:{p.media_type};base64,{base64.b64encode(p.data).decode()}",
                "detail": "auto",
            }
            for p in pictures
        ],
    }
