"""Our tools as a server inside the sandbox of a trial."""

import io
from pathlib import Path

import pytest
from PIL import Image

from environments.mcp.health import examined
from environments.mcp.inside import Refused, answer
from environments.tool_runtime.registry import definition
from taskdata.schema.tool import ToolErrorKind

TOOLS = {"Calculator": definition("Calculator")}


def test_tools_are_listed_with_their_schemas():
    (tool,) = answer(TOOLS, {"method": "tools/list"})["tools"]

    assert tool["name"] == "Calculator"
    assert "expression" in tool["inputSchema"]["properties"]


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ({"method": "resources/list"}, -32601),
        ({"method": "tools/call", "params": {"name": "OCR"}}, -32602),
        ({"method": "tools/call"}, -32602),
    ],
)
def test_what_it_does_not_have_is_an_error(request_, code):
    with pytest.raises(Refused) as raised:
        answer(TOOLS, request_)
    assert raised.value.args[0] == code


def test_the_version_of_the_protocol_is_the_clients():
    greeting = {"method": "initialize", "params": {"protocolVersion": "2024-11-05"}}
    assert answer(TOOLS, greeting)["protocolVersion"] == "2024-11-05"


def picture() -> bytes:
    data = io.BytesIO()
    Image.new("RGB", (200, 100), "#204060").save(data, "PNG")
    return data.getvalue()


def test_a_picture_is_edited_in_a_trial(in_trial, tmp_path: Path):
    async def talking(trial):
        box = {"image": "input/a.png", "bbox": "(20, 20, 120, 80)", "path": "output/b.png"}
        made = await trial.call("DrawBox", **box)
        wrong = await trial.call("DrawBox", **{**box, "image": "input/none.png"})
        drawn = Image.open(trial.workspace.output / "b.png").convert("RGB")
        return made, wrong, drawn.getpixel((20, 50))

    made, wrong, pixel = in_trial(["image-editing"], tmp_path, talking, files={"a.png": picture()})

    assert made.error is None, made.text
    assert made.files == ("output/b.png",)
    assert pixel[0] > 200
    assert wrong.error is ToolErrorKind.REFUSED


def test_it_needs_no_installation(tmp_path: Path):
    found = examined(tmp_path, names=["image-editing", "time"])

    assert (found["image-editing"].state, found["image-editing"].is_installed) == ("ready", True)
    assert "AddText" in found["image-editing"].tools
    assert not found["time"].is_installed
    assert found["time"].state.endswith("run `nightshift mcp install time`")
