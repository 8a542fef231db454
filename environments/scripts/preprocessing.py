"""The host's side of a task's preprocess program, and of the servers that it leaves running."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from environments.ports import ExposedPort, Sandbox, Workspace
from environments.scripts.preprocess import DONE, MAX_SERVERS, PROGRAM
from environments.services.inside.lines import ALIVE
from environments.services.program import Program, ServiceStopped, ServiceUnable
from environments.services.starting import socket_folders, socket_outside
from taskdata.errors import PreprocessFailed, ServiceFailed

_MODULE = "environments.scripts.preprocess"
_NAME = "preprocess"
_FIRST_PORT = 1024
_ANSWER_SECONDS = 60.0


@dataclass(frozen=True)
class LeftServers:
    """The servers that a preprocess program has left running; they end with its sandbox."""

    program: Program
    exposed_ports: tuple[ExposedPort, ...]
    """The ports at which the program's task expects them."""

    async def require_alive(self) -> None:
        """Check that each server still answers.

        Raises:
            ServiceFailed: a server does not answer.
        """
        try:
            await self.program.ask(ALIVE, ALIVE, _ANSWER_SECONDS)
        except ServiceStopped as error:
            raise ServiceFailed(f"a server that {PROGRAM} left running failed: {error}") from error


async def preprocess(
    sandbox: Sandbox, workspace: Workspace, arguments: Sequence[str], seconds: float
) -> LeftServers:
    """Run the preprocess program in the workspace's `input/` and return what runs afterwards.

    Args:
        sandbox: The sandbox of the program; closing it ends the servers.
        workspace: The workspace of that sandbox.
        arguments: The arguments of the program.
        seconds: The time limit of the program.

    Raises:
        PreprocessFailed: the program failed, took too long, was stopped at a limit, or left servers
            that no other sandbox can reach.
        SandboxFailed: the sandbox failed.
    """
    sockets = [f"{place}/s" for place in range(MAX_SERVERS)]
    program = await Program.started(
        _NAME,
        sandbox,
        _MODULE,
        {"arguments": list(arguments)},
        socket_folders(workspace, sockets),
    )
    said = json.loads(await _answer(program, seconds))
    if said["code"]:
        raise PreprocessFailed(f"{PROGRAM} ended with code {said['code']}: {said['message']}")
    ports = [int(port) for port in said["ports"]]
    if low := [port for port in ports if port < _FIRST_PORT]:
        raise PreprocessFailed(
            f"{PROGRAM} left a server at port {low[0]}, and sandboxes reach ports from "
            f"{_FIRST_PORT} on"
        )
    # The program's own use of resources does not count for the servers.
    await program.renew()
    exposed = (
        ExposedPort(port, socket_outside(workspace, socket))
        for port, socket in zip(ports, sockets, strict=False)
    )
    return LeftServers(program, tuple(exposed))


async def _answer(program: Program, seconds: float) -> str:
    try:
        return await program.answer(DONE, seconds)
    except ServiceStopped as error:
        raise PreprocessFailed(f"{PROGRAM}: {error}") from error
    except ServiceUnable as error:
        raise PreprocessFailed(
            f"{PROGRAM} was stopped at its time limit of {seconds:.0f} s"
        ) from error
    except ServiceFailed as error:
        raise PreprocessFailed(f"{PROGRAM} cannot be run: {error}") from error
