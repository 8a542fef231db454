"""What a trial has around its workspace: its task's services, and the hosts it may reach."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from environments.network.allowed import AllowedNetwork, allowed_network
from environments.ports import ExposedPort
from environments.sandbox.collect import Collected
from environments.services.running import RunningServices, ServiceRoom, running_services
from taskdata.schema.limits import SandboxLimits
from taskdata.schema.service import FOLDER
from taskdata.schema.task import Task


@dataclass(frozen=True)
class Surroundings:
    """All that the sandboxes of a trial may reach, ready to be reached."""

    services: RunningServices
    network: AllowedNetwork

    @property
    def exposed_ports(self) -> tuple[ExposedPort, ...]:
        """The ways there."""
        return (*self.services.exposed_ports, *self.network.exposed_ports)

    def noted_in(self, limits: SandboxLimits) -> SandboxLimits:
        """Return the limits with what ran and what was refused until now."""
        found = {"services": self.services.facts, "refused_targets": self.network.refused()}
        return limits.model_copy(update=found)


@asynccontextmanager
async def surroundings(task: Task, room: ServiceRoom) -> AsyncIterator[Surroundings]:
    """Yield the surroundings of a trial of `task`; they end with the block.

    Raises:
        ServiceFailed: a service did not become healthy.
        SandboxFailed: the sandbox of one, or the network's proxy, cannot be made.
    """
    async with (
        running_services(task.services, room) as services,
        allowed_network(task.resources.network) as network,
    ):
        yield Surroundings(services, network)


async def with_final_state(collected: Collected, task: Task, around: Surroundings) -> Collected:
    """Return what an agent left, and beside it what the services held in the end.

    Their place is not the agent's: what it put there is left behind. Only once nothing of the
    agent's runs any more.

    Raises:
        ServiceFailed: a service was lost, and not through its use.
    """
    if not task.services:
        return collected
    state = await around.services.final_state()
    own = without_state(collected, task)
    return Collected((*own.files, *state.files), (*own.rejected, *state.missing))


def without_state(collected: Collected, task: Task) -> Collected:
    """Return what an agent left without what poses as the final state of a service."""
    if not task.services:
        return collected
    posing = [file for file in collected.files if file.name.partition("/")[0] == FOLDER]
    reasons = (f"{f.name!a} is in {FOLDER}/, which the task's services have" for f in posing)
    kept = tuple(file for file in collected.files if file not in posing)
    return Collected(kept, (*collected.rejected, *reasons))
