"""The loop of Pydantic AI (package `pydantic-ai-slim[openai]`)."""

import json
from typing import TYPE_CHECKING, Any, cast

from stages.execute.adapters.sdk_session import PROMPT, SdkSession
from stages.execute.assignment import Assignment
from stages.execute.dialogue import prompts
from taskdata.schema.agent import AgentSpec
from taskdata.schema.tool import ToolSpec
from taskdata.schema.transcript import Transcript

if TYPE_CHECKING:
    import pydantic_ai
    from pydantic_ai.models import Model
    from pydantic_ai.models.openai import OpenAIChatModelSettings


class PydanticAI:
    """Runs the SDK's own loop in this process, without instrumentation."""

    @property
    def prompt_version(self) -> str | None:
        """The prompts in use."""
        return prompts.version(PROMPT)

    async def run(self, assignment: Assignment) -> Transcript:
        """Work on the task until `finish`, a reply without a call, or the end of a budget."""
        import openai
        import pydantic_ai

        session = SdkSession(assignment)

        async def play() -> str:
            async with session.client() as client:
                agent = pydantic_ai.Agent(
                    _model(session, client),
                    instructions=session.instructions,
                    tools=[_tool(session, tool) for tool in session.specs],
                )
                given, before = session.task, list[Any]()
                while True:
                    async with agent.iter(
                        given,
                        message_history=before,
                        model_settings=_settings(assignment.agent),
                        usage_limits=pydantic_ai.UsageLimits(request_limit=None),
                    ) as steps:
                        async for _ in steps:
                            if session.answer is not None:
                                return session.answer
                    said = steps.result.output if steps.result else ""
                    answer = await session.turn_over(said)
                    if answer is None or steps.result is None:
                        return said
                    given, before = answer, steps.result.all_messages()

        return await session.played(play, (pydantic_ai.AgentRunError, openai.OpenAIError))


def _settings(spec: AgentSpec) -> "OpenAIChatModelSettings":
    from pydantic_ai.models.openai import OpenAIChatModelSettings

    given = {"temperature": spec.temperature, "openai_reasoning_effort": spec.reasoning_effort}
    return cast(OpenAIChatModelSettings, {k: v for k, v in given.items() if v is not None})


def _model(session: SdkSession, client: Any) -> "Model":
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    spec, provider = session.proxy.endpoint.spec, OpenAIProvider(openai_client=client)
    if spec.provider == "openai-responses":
        return OpenAIResponsesModel(spec.model, provider=provider)
    return OpenAIChatModel(spec.model, provider=provider)


def _tool(session: SdkSession, spec: ToolSpec) -> "pydantic_ai.Tool[object]":
    import pydantic_ai

    async def invoke(
        context: "pydantic_ai.RunContext[object]", **arguments: Any
    ) -> "str | pydantic_ai.ToolReturn":
        raw = json.dumps(arguments)
        shown = await session.call(spec.name, raw, context.tool_call_id or "")
        if not shown.pictures:
            return shown.text
        media = [pydantic_ai.BinaryContent(p.data, media_type=p.media_type) for p in shown.pictures]
        return pydantic_ai.ToolReturn(shown.text, content=media)

    return pydantic_ai.Tool.from_schema(
        invoke, spec.name, spec.description, spec.parameters, takes_ctx=True
    )
