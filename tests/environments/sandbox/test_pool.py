"""Containers that are started before they are asked for are as good as any."""

import asyncio
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from environments.ports import ExposedPort, SandboxProvider, Workspace
from environments.reaper.owner import this_process
from environments.sandbox.docker.provider import Docker
from environments.sandbox.providers import sandbox_provider
from environments.sandbox.workspace import new_workspace
from taskdata.errors import SandboxFailed
from taskdata.schema.task import Resources

LABEL = f"pool-{secrets.token_hex(4)}"
READ = "import os; print(open('input/a.txt').read(), os.listdir('output'))"
WRITE = "open('output/b.txt', 'w').write('made inside')"


@pytest.fixture
def docker() -> SandboxProvider:
    provider = sandbox_provider("docker")
    if reason := provider.unavailable():
        pytest.skip(reason)
    return provider


@pytest.fixture
def containers() -> Iterator[Callable[[], dict[str, int]]]:
    """Return the running containers of this file's label: their memory in megabytes by id."""
    import docker

    client = docker.from_env()

    def running() -> dict[str, int]:
        found = client.containers.list(
            filters={"label": f"nightshift={LABEL}"}, ignore_removed=True
        )
        return {str(c.id): c.attrs["HostConfig"]["Memory"] >> 20 for c in found}

    yield running
    client.close()


@pytest.fixture
def workspaces(tmp_path: Path) -> Iterator[list[Workspace]]:
    with (
        new_workspace(tmp_path, {"a.txt": b"first"}) as first,
        new_workspace(tmp_path, {"a.txt": b"second"}) as second,
    ):
        yield [first, second]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not await asyncio.to_thread(condition):
            await asyncio.sleep(0.05)


@pytest.mark.docker
def test_a_waiting_container_becomes_the_workspaces(docker, containers, workspaces):
    async def run() -> list[bytes]:
        said = []
        async with docker.pooled(LABEL, at_once=1, expected=2):
            for workspace in workspaces:
                await until(lambda: len(containers()) == 1)
                [waiting] = containers()
                async with docker.open(workspace, Resources(), LABEL) as sandbox:
                    assert waiting in containers()
                    said.append((await sandbox.run([*sandbox.python(), "-c", READ])).stdout)
                    await sandbox.run([*sandbox.python(), "-c", WRITE])
                assert waiting not in containers()
            assert not containers(), "one more was made than was expected"
        return said

    assert asyncio.run(run()) == [b"first []\n", b"second []\n"]
    assert [(w.output / "b.txt").read_text() for w in workspaces] == ["made inside"] * 2
    assert not containers()


@pytest.mark.docker
def test_limits_hold_in_it_and_another_one_takes_its_place(docker, containers, workspaces):
    fill = "i = 0\nwhile True:\n    i += 1\n    open(f'output/{i}', 'wb').write(bytes(1 << 20))\n"

    async def run() -> tuple[object, bytes]:
        async with docker.pooled(LABEL, at_once=1, expected=1):
            await until(lambda: len(containers()) == 1)
            async with docker.open(workspaces[0], Resources(), LABEL) as sandbox:
                stopped = await sandbox.run([*sandbox.python(), "-c", fill])
                look = "import os; print(os.path.exists('output/1'))"
                return stopped.limit, (await sandbox.run([*sandbox.python(), "-c", look])).stdout

    assert asyncio.run(run()) == ("disk", b"True\n")
    assert not containers()


@pytest.mark.docker
def test_other_limits_get_a_container_of_their_own_and_are_learnt(docker, containers, workspaces):
    small = Resources(memory_mb=96)

    async def memory(workspace: Workspace) -> float:
        async with docker.open(workspace, small, LABEL) as sandbox:
            return {e.name: e.value for e in sandbox.facts().enforced}["memory_mb"]

    async def run() -> tuple[list[float], bool]:
        async with docker.pooled(LABEL, at_once=1, expected=3):
            first = await memory(workspaces[0])
            await until(lambda: list(containers().values()) == [96])
            [waiting] = containers()
            second = await memory(workspaces[1])
            return [first, second], waiting not in containers()

    assert asyncio.run(run()) == ([96, 96], True)
    assert not containers()


@pytest.mark.docker
def test_a_sandbox_with_exposed_ports_gets_a_container_of_its_own(
    docker, containers, workspaces, tmp_path
):
    (tmp_path / "exposed").mkdir()
    exposed = ExposedPort(7007, tmp_path / "exposed" / "s")

    async def run() -> None:
        async with docker.pooled(LABEL, at_once=1, expected=2):
            await until(lambda: len(containers()) == 1)
            [waiting] = containers()
            async with docker.open(workspaces[0], Resources(), LABEL, [exposed]) as sandbox:
                assert (
                    await sandbox.run(["test", "-d", "/run/nightshift/ports/7007"])
                ).exit_code == 0
            assert list(containers()) == [waiting]
            async with docker.open(workspaces[1], Resources(), LABEL):
                assert list(containers()) == [waiting], "one more was made than was expected"

    asyncio.run(run())


@pytest.mark.docker
def test_it_closes_at_any_moment_and_leaves_nothing(docker, containers):
    async def run(delay: float) -> None:
        with this_process() as owner:
            async with docker.pooled(LABEL, at_once=2, expected=8):
                await asyncio.sleep(delay)
            assert list(owner.folder.iterdir()) == []

    for milliseconds in (0, 40, 200):
        asyncio.run(run(milliseconds / 1000))

    assert not containers()


def test_without_an_engine_only_opening_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    provider = Docker()

    async def run() -> None:
        async with provider.pooled(LABEL, at_once=1, expected=1):
            with (
                new_workspace(tmp_path, {}) as workspace,
                pytest.raises(SandboxFailed, match="Docker cannot be reached"),
            ):
                async with provider.open(workspace, Resources()):
                    pytest.fail("it opened")

    asyncio.run(run())
