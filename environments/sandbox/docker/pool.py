"""Containers that are started before a trial needs them, while other trials wait for models.

The mounts of a container are fixed at its start, so a prepared container is started over folders of
its own. These folders are renamed into a workspace's place later; mounts follow a rename.
"""

import asyncio
import logging
import os
import tempfile
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from environments.ports import Workspace
from environments.reaper.removal import remove_tree
from environments.sandbox.docker.container import container_limits, container_options
from environments.sandbox.docker.live import LiveContainer
from environments.sandbox.identity import give_contents, owner_of_output
from taskdata.errors import SandboxFailed
from taskdata.schema.task import Resources

if TYPE_CHECKING:
    from docker import DockerClient

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Prepared:
    """A started container over folders that belong to no workspace yet."""

    container: LiveContainer
    folders: Workspace
    stdin_folder: Path
    owner: tuple[int, int]
    """User and group id of the container's programs."""

    def become(self, workspace: Workspace, resources: Resources) -> None:
        """Put the container's folders in the workspace's place, with its files; blocks.

        Raises:
            SandboxFailed: the folders cannot be renamed, or the owner of a file cannot be changed.
        """
        try:
            for ours, theirs in (
                (self.folders.input, workspace.input),
                (self.folders.output, workspace.output),
            ):
                for entry in os.listdir(theirs):
                    os.rename(theirs / entry, ours / entry)
                # A rename replaces an empty folder atomically.
                os.rename(ours, theirs)
        except OSError as error:
            raise SandboxFailed(
                f"cannot move {workspace.root} into a prepared container: {error.strerror}"
            ) from error
        give_contents(workspace.output, self.owner)
        self.container.serve(workspace.output, resources)

    async def remove(self) -> None:
        """Remove the container and its folders."""
        try:
            await self.container.remove()
        finally:
            await asyncio.to_thread(remove_tree, self.folders.root)


async def prepared_container(
    client: "DockerClient",
    image: str,
    labels: Mapping[str, str],
    parent: Path,
    resources: Resources,
) -> Prepared:
    """Return a started container over folders below `parent`; a failed start is cleaned up.

    Raises:
        SandboxFailed: the folders cannot be made, or the engine refuses.
    """
    root = await asyncio.to_thread(_new_folders, parent)
    folders, stdin_folder = Workspace(root), root / "stdin"
    try:
        owner = owner_of_output(folders.output)
        options = container_options(folders, str(stdin_folder), resources, owner)
        options["labels"] = dict(labels)
        container = await LiveContainer.started(
            client, image, options, resources, (folders.output,)
        )
    except BaseException:
        await asyncio.to_thread(remove_tree, root)
        raise
    return Prepared(container, folders, stdin_folder, owner)


def _new_folders(parent: Path) -> Path:
    try:
        root = Path(tempfile.mkdtemp(prefix="prepared-", dir=parent))
        for name in ("input", "output", "stdin"):
            (root / name).mkdir()
            # Whatever our umask is: the sandbox's own user must be able to enter.
            (root / name).chmod(0o755)
    except OSError as error:
        raise SandboxFailed(f"cannot make folders in {parent}: {error.strerror}") from error
    return root


Making = Callable[[Resources], Awaitable[Prepared]]


class Pool:
    """Prepared containers for the sandboxes that are still expected, up to a number at a time.

    A new container gets the limits that were asked for last, because the tasks of a bank mostly
    have the same limits.
    """

    def __init__(self, client: "DockerClient", make: Making, at_once: int, expected: int) -> None:
        self.client = client
        """Client of the engine; shared by all sandboxes that are open."""
        self._make = make
        self._at_once = at_once
        self._expected = expected
        self._waiting: deque[tuple[Resources, asyncio.Task[Prepared]]] = deque()
        self._leaving: set[asyncio.Task[None]] = set()
        self._fill(Resources())

    async def take(self, resources: Resources, *, fresh: bool = False) -> Prepared | None:
        """Return a container with these limits, None if none is prepared.

        Args:
            resources: The limits.
            fresh: Return None, because the caller makes a new container; one fewer is expected
                then.
        """
        self._expected = max(0, self._expected - 1)
        if fresh:
            return None
        found = next((entry for entry in self._waiting if _fits(entry[0], resources)), None)
        if found is not None:
            self._waiting.remove(found)
            try:
                prepared = await asyncio.shield(found[1])
            except asyncio.CancelledError:
                self._waiting.appendleft(found)
                raise
            except SandboxFailed as error:
                _logger.info("no container could be prepared: %s", error)
                return None
            self._fill(resources)
            return prepared
        self._fill(resources)
        return None

    async def close(self) -> None:
        """Remove the containers that no sandbox has taken."""
        self._expected = 0
        while self._waiting:
            self._let_go(self._waiting.popleft()[1])
        await asyncio.gather(*self._leaving)

    def _fill(self, resources: Resources) -> None:
        wanted = min(self._at_once, self._expected)
        others = [entry for entry in self._waiting if not _fits(entry[0], resources)]
        fitting = len(self._waiting) - len(others)
        for _ in range(wanted - fitting):
            if len(self._waiting) >= wanted and others:
                unfit = others.pop(0)
                self._waiting.remove(unfit)
                self._let_go(unfit[1])
            if len(self._waiting) < wanted:
                self._waiting.append((resources, asyncio.ensure_future(self._make(resources))))

    def _let_go(self, making: asyncio.Task[Prepared]) -> None:
        leaving = asyncio.create_task(_removed(making))
        self._leaving.add(leaving)
        leaving.add_done_callback(self._leaving.discard)


def _fits(made: Resources, asked: Resources) -> bool:
    """Return whether a container made with the limits `made` can serve the limits `asked`."""
    return container_limits(made) == container_limits(asked)


async def _removed(making: asyncio.Task[Prepared]) -> None:
    """Wait until the container is made, since it cannot be removed before, and remove it."""
    try:
        prepared = await making
        await prepared.remove()
    except SandboxFailed as error:
        _logger.info("a prepared container is gone or was never made: %s", error)
