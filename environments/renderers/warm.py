"""Renders files of different trials in one sandbox, in processes forked from a warm Python.

Starting a sandbox with a Python in it costs many times what reading an ordinary file does. Only a
complete view counts as an answer here. A file that cannot be read, exceeds a limit or breaks
anything is rendered once more, alone in a new sandbox, and that result counts: no file can make
another one unreadable. A sandbox in which anything is left of a file is not used again.
"""

import asyncio
import logging
import time
from contextlib import AsyncExitStack, suppress
from pathlib import Path, PurePosixPath

from pydantic import ValidationError

from environments.ports import Completed, Sandbox, SandboxProvider, Workspace
from environments.renderers.render import RENDER_RESOURCES, Rendered, read_reply
from environments.renderers.worker import READERS
from environments.sandbox.shielding import to_the_end
from environments.sandbox.workspace import new_workspace
from environments.tool_runtime.warm.process import Served, WarmProcess, new_request
from taskdata.errors import SandboxFailed
from taskdata.schema.views import UnreadableView

_logger = logging.getLogger(__name__)

WARM_RESOURCES = RENDER_RESOURCES.model_copy(update={"cpu_seconds": 20, "wall_seconds": 100})
"""What takes longer than this is rendered alone, so waiting for it here would be lost time."""

_MOST_FILES = 250
_IDLE_SECONDS = 3600.0
"""The sandbox ends with the stage; this ends the process if nobody is left to end the sandbox."""
_SECONDS_TO_KILL = 5.0
_SECONDS_TO_LEAVE = 2.0
_SECONDS_TO_WAIT = 2.0
"""An ordinary file takes less, and so does starting another sandbox."""
_MODULE = "environments.renderers.worker"
# These start programs of their own, which cost more than a Python does.
_ALONE = ("media.audio", "media.video")
_LOADED_BEFORE = {
    "office.xlsx": (f"{_MODULE}:load_openpyxl", "formualizer"),
    "media.image": ("PIL.Image:preinit",),
}


def is_quick(name: str) -> bool:
    """Return whether a file of this name is worth rendering in a sandbox that others use too."""
    reader = READERS.get(PurePosixPath(name).suffix.lower())
    return reader is not None and reader[0] not in _ALONE


class WarmRenderer:
    """One sandbox; it renders one file at a time."""

    def __init__(self, sandbox: Sandbox, workspace: Workspace, process: WarmProcess) -> None:
        self._sandbox = sandbox
        self._workspace = workspace
        self._process = process
        self._files = 0
        self._is_clean = True

    @property
    def is_usable(self) -> bool:
        """Whether another file can be rendered here."""
        return self._is_clean and self._files < _MOST_FILES

    async def render(self, name: str, data: bytes) -> Rendered | None:
        """Return the view of a file with these bytes; None if it must be rendered alone."""
        self._files += 1
        # Until its whole answer is there, nobody knows what the file has done here.
        self._is_clean = False
        completed = await self._completed(name, data)
        if completed is None or completed.limit is not None or completed.exit_code != 0:
            return None
        try:
            rendered = read_reply(completed)
        except SandboxFailed as exc:
            _logger.warning("a warm renderer cannot render %s: %s", name, exc)
            return None
        return None if isinstance(rendered.view, UnreadableView) else rendered

    async def _completed(self, name: str, data: bytes) -> Completed | None:
        place, began = self._workspace.input / name, time.monotonic()
        try:
            await asyncio.to_thread(_put, place, data)
            served = await self._served(name)
        except (OSError, EOFError, ValidationError, TimeoutError) as exc:
            _logger.info("a warm renderer is gone (%s)", exc or type(exc).__name__)
            return None
        finally:
            await to_the_end(asyncio.to_thread(place.unlink, missing_ok=True))
        self._is_clean = served is not None and not served.response.leaving
        if served is None or served.response.state != "ended":
            return None
        return served.completed(time.monotonic() - began)

    async def _served(self, name: str) -> Served | None:
        if not await self._process.renew():
            return None
        module = READERS[PurePosixPath(name).suffix.lower()][0]
        load = (*_LOADED_BEFORE.get(module, ()), f"environments.renderers.{module}")
        stdin = f'{{"name": "{name}"}}'
        request = new_request(self._sandbox, _MODULE, stdin, load, unrelated=True)
        async with asyncio.timeout(request.wall_seconds + _SECONDS_TO_KILL):
            return await self._process.call(request)


_Open = tuple[WarmRenderer, AsyncExitStack]
"""A renderer, and what ends its sandbox."""


class WarmRenderers:
    """The warm renderers of one event loop: a second one if the first is busy for long."""

    def __init__(self, provider: SandboxProvider, folder: Path, label: str) -> None:
        """Keep sandboxes open until `close`.

        Args:
            provider: Makes the sandboxes.
            folder: Where their workspaces are.
            label: See `SandboxProvider.open`.
        """
        self._provider = provider
        self._folder = folder
        self._label = label
        self._idle: asyncio.LifoQueue[_Open] = asyncio.LifoQueue()
        self._open = 0
        self._asked = 0
        self._given_up = False

    async def render(self, name: str, data: bytes) -> Rendered | None:
        """Return the file's view; None if it must be rendered alone.

        Args:
            name: Its name inside, chosen by us.
            data: Its bytes.
        """
        self._asked += 1
        # For one file, a sandbox that stays costs as much as one that does not.
        if self._given_up or self._asked == 1:
            return None
        taken = await self._taken()
        if taken is None:
            return None
        renderer, closing = taken
        try:
            return await renderer.render(name, data)
        finally:
            if renderer.is_usable:
                self._idle.put_nowait(taken)
            else:
                self._open -= 1
                await to_the_end(closing.aclose())

    async def close(self) -> None:
        """End all sandboxes."""
        self._given_up = True
        while not self._idle.empty():
            _, closing = self._idle.get_nowait()
            await to_the_end(closing.aclose())

    async def _taken(self) -> "_Open | None":
        """Return an idle renderer; a new one if none is idle soon."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_SECONDS_TO_WAIT if self._open else 0):
                return await self._idle.get()
        self._open += 1
        try:
            opened = await self._opened()
        except BaseException:
            self._open -= 1
            raise
        self._open -= opened is None
        return opened

    async def _opened(self) -> "_Open | None":
        async with AsyncExitStack() as stack:
            try:
                workspace = stack.enter_context(new_workspace(self._folder, {}))
                opened = self._provider.open(workspace, WARM_RESOURCES, self._label)
                sandbox = await stack.enter_async_context(opened)
                process = await WarmProcess.started(sandbox, _IDLE_SECONDS)
                # Its CPU time is known only if it ends by itself.
                stack.push_async_callback(process.close, _SECONDS_TO_LEAVE)
            except SandboxFailed as exc:
                _logger.info("each file is rendered in a sandbox of its own: %s", exc)
                self._given_up = True
                return None
            return WarmRenderer(sandbox, workspace, process), stack.pop_all()


def _put(place: Path, data: bytes) -> None:
    place.write_bytes(data)
    place.chmod(0o444)
