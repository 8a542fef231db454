"""What a sandbox says it is held to, and that this is so."""

import asyncio

import pytest

from environments.ports import SandboxFacts, SandboxProvider, Workspace
from environments.sandbox.docker.container import facts_of
from taskdata.errors import SandboxFailed
from taskdata.schema.task import Resources

ASKED = Resources(
    cpu_seconds=7, wall_seconds=11, memory_mb=96, processes=33, disk_mb=5, max_files=9, output_kb=21
)


def _facts(provider: SandboxProvider, workspace: Workspace) -> SandboxFacts:
    async def look() -> SandboxFacts:
        async with provider.open(workspace, ASKED) as sandbox:
            return sandbox.facts()

    return asyncio.run(look())


def test_every_limit_that_was_asked_for_is_enforced(
    provider: SandboxProvider, workspace: Workspace
):
    enforced = {limit.name: limit.value for limit in _facts(provider, workspace).enforced}

    assert ASKED.model_dump().items() <= enforced.items()
    assert (enforced["network"], enforced["file_mb"], enforced["temporary_mb"]) == (0, 5, 5)


def test_who_enforces_them_differs(provider: SandboxProvider, workspace: Workspace):
    facts = _facts(provider, workspace)

    by = {limit.name: limit.by for limit in facts.enforced}
    expected = {"bubblewrap": ("watch",), "docker": ("cgroup",)}[provider.name]
    assert (by["memory_mb"], by["processes"]) == (expected, expected)
    assert ("cpus" in by) is (provider.name == "docker")
    assert (facts.image or "").startswith("sha256:") is (provider.name == "docker")


@pytest.mark.parametrize(
    ("dropped", "name"), [("Memory", "memory_mb"), ("PidsLimit", "processes"), ("NanoCpus", "cpus")]
)
def test_an_engine_that_drops_a_limit_is_of_no_use(dropped: str, name: str):
    kept = {"Memory": 96 << 20, "PidsLimit": 37, "NanoCpus": 10**9, dropped: None}

    with pytest.raises(SandboxFailed, match=f"does not limit {name}:.*use bubblewrap"):
        facts_of({"HostConfig": kept, "Image": "sha256:0"}, ASKED)
