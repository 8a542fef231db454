"""Has the deliverables of trials rendered, each content once per process.

Ordinary files share a sandbox that stays, and each has a process of its own there; see
`environments.renderers.warm`. All others have a sandbox of their own.
"""

import asyncio
from collections import defaultdict
from pathlib import Path, PurePosixPath

from cachetools import LRUCache

from environments.ports import SandboxProvider
from environments.renderers.limits import MAX_FILE_BYTES
from environments.renderers.render import RENDER_RESOURCES, Rendered, render
from environments.renderers.warm import WarmRenderers, is_quick
from environments.renderers.worker import READERS
from environments.sandbox.workspace import new_workspace
from taskdata.artifacts import ArtifactStore
from taskdata.schema.run import Deliverable
from taskdata.schema.views import UnreadableView

_CACHE_BYTES = 128 * 1024 * 1024

_Content = tuple[str, str]
"""Sha256 and file ending, which determine the view."""

# Shared by all batches of this process: refinement rounds often deliver the same file again.
_rendered: LRUCache[_Content, Rendered] = LRUCache(
    _CACHE_BYTES, getsizeof=lambda rendered: rendered.reply_bytes
)


class Renderer:
    """Renders deliverables for one event loop; `close` ends the sandboxes that it keeps."""

    def __init__(
        self, provider: SandboxProvider, artifacts: ArtifactStore, folder: Path, run_id: str
    ) -> None:
        self._provider = provider
        self._run_id = run_id
        self._artifacts = artifacts
        self._folder = folder
        self._warm = WarmRenderers(provider, folder, run_id)
        self._locks: dict[_Content, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def render(self, deliverable: Deliverable) -> Rendered:
        """Return the deliverable's view.

        The file is alone in its workspace, under a name that we choose: neither its name nor
        another deliverable can influence its view.

        Raises:
            SandboxFailed: the sandbox failed, not the file.
            NightshiftError: the artifact store has no longer the file.
        """
        ending = PurePosixPath(deliverable.name).suffix.lower()
        if ending not in READERS:
            return _unreadable(f"nothing reads files that end in {ending or 'no ending'}")
        if deliverable.size_bytes > MAX_FILE_BYTES:
            return _unreadable(f"it has more than {MAX_FILE_BYTES:,} bytes")
        content = (deliverable.sha256, ending)
        async with self._locks[content]:
            known = _rendered.get(content)
            if known is not None:
                return known
            rendered = await self._rendered(deliverable, f"deliverable{ending}")
            # A file that could not be read within time or memory may be readable at another time.
            cacheable = not isinstance(rendered.view, UnreadableView)
            if cacheable and rendered.reply_bytes <= _CACHE_BYTES:
                _rendered[content] = rendered
            return rendered

    async def close(self) -> None:
        """End the sandboxes that stay."""
        await self._warm.close()

    async def _rendered(self, deliverable: Deliverable, name: str) -> Rendered:
        data = await asyncio.to_thread(self._artifacts.read_bytes, deliverable.sha256)
        rendered = await self._warm.render(name, data) if is_quick(name) else None
        return rendered or await self._alone(name, data)

    async def _alone(self, name: str, data: bytes) -> Rendered:
        with new_workspace(self._folder, {name: data}) as workspace:
            opened = self._provider.open(workspace, RENDER_RESOURCES, self._run_id)
            async with opened as sandbox:
                return await render(sandbox, name)


def _unreadable(reason: str) -> Rendered:
    return Rendered(UnreadableView(reason=reason[:200]))
