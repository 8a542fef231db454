"""Tools without a backend, answered from the chain that a published task brings."""

import asyncio

import pytest

from stages.execute.recorded_tools import recorded_tools
from taskdata.errors import ToolUnavailable
from taskdata.schema.agent import AgentSpec
from taskdata.schema.run import RunConfig
from taskdata.schema.task import (
    ImageGenerationAnswer,
    Provenance,
    ReferenceSolution,
    ReferenceStep,
)

CHAIN = ReferenceSolution(
    steps=(
        ReferenceStep(tool="ImageDescription", arguments={"image": "image/1.jpg"}, result="a cat"),
        ReferenceStep(tool="Calculator", arguments={"expression": "1"}, result="1"),
    ),
    final_answer="A cat.",
)
TOOLS = ("ImageDescription", "Calculator")


@pytest.fixture
def config():
    return RunConfig(bank="test", agents=(AgentSpec.parse("nop"),))


@pytest.fixture
def published(new_task):
    return new_task(tools=TOOLS, reference=CHAIN, provenance=Provenance(source="gta-atomic"))


def test_equal_calls_of_a_tool_that_is_not_ready_have_the_recorded_result(published, config):
    (tool,) = recorded_tools(published, config, TOOLS).values()

    for image in ("image/1.jpg", "input/image/1.jpg", "./image/1.jpg"):
        assert asyncio.run(tool.run({"image": image}, None)).text == "a cat"
    with pytest.raises(ToolUnavailable, match=r"set tool_model.*only calls of a published chain"):
        asyncio.run(tool.run({"image": "image/2.jpg"}, None))


def test_tasks_of_our_own_and_pictures_for_a_judge_need_the_tool(published, config):
    own = published.model_copy(update={"provenance": Provenance(source="internal")})
    drawn = published.model_copy(update={"answer": ImageGenerationAnswer()})
    judged = RunConfig.model_validate(config.model_dump() | {"judge": "openai/gpt-5.2"})

    workflow = published.model_copy(
        update={"provenance": Provenance(source="gta-workflow"), "reference": None}
    )

    assert recorded_tools(own, config, TOOLS) == {}
    assert set(recorded_tools(workflow, config, TOOLS)) == {"ImageDescription"}
    assert set(recorded_tools(drawn, config, TOOLS)) == {"ImageDescription"}
    assert recorded_tools(drawn, judged, TOOLS) == {}
