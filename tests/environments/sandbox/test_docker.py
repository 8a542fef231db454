"""What holds for Docker beyond the contract: the engine, the image, the containers."""

import asyncio

import pytest

from environments.ports import Workspace
from environments.sandbox.docker.provider import Docker
from taskdata.errors import SandboxFailed
from taskdata.schema.task import Resources


def test_without_an_engine_it_says_what_to_do(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{workspace.root}/no.sock")

    reason = Docker().unavailable()

    assert reason is not None
    assert reason.startswith("no Docker engine answers")
    assert "bubblewrap" in reason
    assert "\n" not in reason
    with pytest.raises(SandboxFailed, match="Docker cannot be reached"):
        asyncio.run(_open(Docker(), workspace))


@pytest.mark.docker
@pytest.mark.parametrize("provider", ["docker"], indirect=True)
def test_without_the_image_it_says_what_to_do(provider: Docker, workspace: Workspace):
    other = Docker("nightshift-no-such-image:latest")

    assert other.unavailable() == (
        "the Docker engine has no image nightshift-no-such-image:latest: build it, or pull it"
    )
    with pytest.raises(SandboxFailed, match="nightshift-no-such-image"):
        asyncio.run(_open(other, workspace))


@pytest.mark.docker
@pytest.mark.parametrize("provider", ["docker"], indirect=True)
def test_containers_carry_their_label_and_go_away(provider: Docker, workspace: Workspace):
    import docker

    client = docker.from_env()

    def labelled() -> int:
        return len(client.containers.list(all=True, filters={"label": "nightshift=run-7"}))

    async def count() -> int:
        async with provider.open(workspace, Resources(), "run-7") as sandbox:
            await sandbox.run(["true"])
            return labelled()

    try:
        assert asyncio.run(count()) == 1
        assert labelled() == 0
    finally:
        client.close()


async def _open(provider: Docker, workspace: Workspace) -> None:
    async with provider.open(workspace, Resources()):
        pytest.fail("it opened")
