"""Has pages of deliverables drawn: one sandbox each, each content once for all trials and runs.

The pictures are for people and for multimodal judges; no check uses them. So if pages cannot be
drawn, there are no pictures, and the trial is scored all the same.
"""

import asyncio
import logging
from collections import defaultdict
from pathlib import Path

from environments.ports import SandboxProvider
from environments.renderers.limits import MAX_FILE_BYTES
from environments.renderers.pages.draw import DRAW_RESOURCES, DrawnPages, draw
from environments.renderers.pages.formats import DRAWN, ending
from environments.sandbox.workspace import new_workspace
from taskdata.errors import SandboxFailed
from taskdata.schema.run import Deliverable
from taskdata.schema.views import PagePictures
from taskdata.store import Store

DRAWER = "2"
"""Version of the drawing code: pictures of another version are drawn again."""
_logger = logging.getLogger(__name__)


class PageDrawer:
    """Draws pages for one event loop."""

    def __init__(
        self,
        provider: SandboxProvider,
        store: Store,
        folder: Path,
        run_id: str,
        kinds: frozenset[str] = DRAWN,
    ) -> None:
        """Draw files of these endings: some cost seconds, and nobody but a judge wants them."""
        self._kinds = kinds
        self._provider = provider
        self._store = store
        self._folder = folder
        self._run_id = run_id
        self._locks: dict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)

    async def pages(self, deliverable: Deliverable) -> PagePictures | None:
        """Return pictures of the deliverable's pages; None if it has no pages to draw.

        Raises:
            NightshiftError: the store cannot be reached, or has no longer the file.
        """
        kind = ending(deliverable.name)
        if kind not in self._kinds or deliverable.size_bytes > MAX_FILE_BYTES:
            return None
        key = (deliverable.sha256, kind, DRAWER)
        async with self._locks[key[:2]]:
            known = await asyncio.to_thread(self._store.page_pictures, *key)
            if known is not None and await asyncio.to_thread(self._renewed, known):
                return known
            try:
                drawn = await self._in_sandbox(deliverable, f"deliverable{kind}")
            except SandboxFailed as exc:
                _logger.warning("pages of %s: not drawn: %s", deliverable.sha256, exc)
                return None
            if drawn.needs_converter:
                return None  # not kept: the converter may be installed another time
            pages = await asyncio.to_thread(self._stored, drawn)
            await asyncio.to_thread(self._store.keep_page_pictures, *key, pages)
            return pages

    async def _in_sandbox(self, deliverable: Deliverable, name: str) -> DrawnPages:
        data = await asyncio.to_thread(self._store.artifacts.read_bytes, deliverable.sha256)
        with new_workspace(self._folder, {name: data}) as workspace:
            async with self._provider.open(workspace, DRAW_RESOURCES, self._run_id) as sandbox:
                return await draw(sandbox, name)

    def _renewed(self, pages: PagePictures) -> bool:
        """Whether the pictures are still there; they stay then, also if their run is removed."""
        return all(self._store.artifacts.renew(sha256) for sha256 in pages.pictures)

    def _stored(self, drawn: DrawnPages) -> PagePictures:
        return PagePictures(
            pictures=tuple(self._store.artifacts.put_bytes(png) for png in drawn.pictures),
            page_count=drawn.page_count,
            reason=drawn.reason,
        )
