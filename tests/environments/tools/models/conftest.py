"""Model-backed tools over a real sandbox; the models are played by a server on this machine."""

import asyncio
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw

from environments.models.openai.chat import OpenAIClient
from environments.models.openai.generation import OpenAIImages, OpenAIVideos
from environments.models.retry import RetryPolicy
from environments.models.wire.endpoint import Endpoint
from environments.ports import Workspace
from environments.sandbox.bubblewrap.provider import Bubblewrap
from environments.tool_runtime.toolbox import Toolbox
from environments.toolkit.host_tool import HostToolContext
from environments.toolkit.services import ServiceLimits, ToolServices
from taskdata.schema.agent import ModelSpec
from taskdata.schema.task import Resources
from taskdata.schema.tool import ToolResult
from taskdata.schema.transcript import ToolCall

FAST = RetryPolicy(attempts=2, first_wait_seconds=0.01)


@pytest.fixture
def photo() -> bytes:
    """A JPEG of 2000 x 1000 pixels, with a red square at (500, 250, 700, 450)."""
    image = Image.new("RGB", (2000, 1000), "white")
    ImageDraw.Draw(image).rectangle((500, 250, 699, 449), fill="red")
    target = BytesIO()
    image.save(target, format="JPEG")
    return target.getvalue()


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """The output folder of the trial that `in_trial` makes."""
    return tmp_path / "trial" / "output"


@pytest.fixture
def in_trial(wire, tmp_path: Path) -> Callable[..., list[ToolResult]]:
    """Makes calls as one trial does; returns their results."""
    provider = Bubblewrap()
    reason = provider.unavailable()
    if reason:
        pytest.skip(f"bubblewrap: {reason}")

    def spec(model: str) -> Endpoint:
        return Endpoint(ModelSpec.parse(model), wire.openai_url, "key")

    async def trial(workspace, calls, model, limits) -> list[ToolResult]:
        vision, images = OpenAIClient(spec(model), FAST), OpenAIImages(spec("compatible/i"), FAST)
        videos = OpenAIVideos(spec("compatible/v"), FAST, poll_seconds=0.01)
        services = ToolServices(vision, images, videos, limits=limits)
        try:
            async with provider.open(workspace, Resources()) as sandbox:
                box = Toolbox([name for name, _ in calls], sandbox, HostToolContext(services))
                return [
                    await box.call(ToolCall(id=str(number), tool=name, arguments=arguments))
                    for number, (name, arguments) in enumerate(calls)
                ]
        finally:
            for client in (vision, images, videos):
                await client.close()

    def make_calls(
        *calls: tuple[str, dict[str, Any]],
        files: Mapping[str, bytes] | None = None,
        model: str = "openai/gpt-5.2",
        limits: ServiceLimits = ServiceLimits(),  # noqa: B008 - frozen
    ) -> list[ToolResult]:
        workspace = Workspace(tmp_path / "trial")
        workspace.input.mkdir(parents=True)
        workspace.output.mkdir()
        for name, data in (files or {}).items():
            (workspace.input / name).write_bytes(data)
        return asyncio.run(trial(workspace, calls, model, limits))

    return make_calls


@pytest.fixture
def shown() -> Callable[..., list[Image.Image]]:
    """The pictures of a request, decoded as a provider would."""

    def read(seen) -> list[Image.Image]:
        import base64

        parts = seen.body["messages"][0]["content"]
        urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
        return [Image.open(BytesIO(base64.b64decode(url.partition(",")[2]))) for url in urls]

    return read


@pytest.fixture
def question() -> Callable[[Any], str]:
    """The words of a request."""
    return lambda seen: seen.body["messages"][0]["content"][-1]["text"]
