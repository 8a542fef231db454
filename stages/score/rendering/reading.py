"""Has the text in pictures of deliverables read: one sandbox each, each content once for all runs.

It tells whether a picture speaks to the judge; nobody is shown it. So if pictures cannot be read,
the trial is scored all the same, and its leaves say so.
"""

import asyncio
import logging
from collections import defaultdict
from pathlib import Path

from environments.ports import SandboxProvider
from environments.renderers.lettering.read import READ_RESOURCES, ReadText, read
from environments.renderers.pages.formats import ending
from environments.sandbox.workspace import new_workspace
from stages.score.rendering.pages import DRAWER
from taskdata.errors import SandboxFailed
from taskdata.schema.run import Deliverable
from taskdata.schema.views import PagePictures, PictureTexts
from taskdata.store import Store

_logger = logging.getLogger(__name__)
READER = f"read 1 of {DRAWER}"
"""Version of the reading code, and of the pictures that it read."""


class PictureReader:
    """Reads for one event loop."""

    def __init__(self, provider: SandboxProvider, store: Store, folder: Path, run_id: str) -> None:
        self._provider = provider
        self._store = store
        self._folder = folder
        self._run_id = run_id
        self._locks: dict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)

    async def read(self, deliverable: Deliverable, pages: PagePictures) -> PictureTexts:
        """Return the text in the deliverable's pictures.

        Raises:
            NightshiftError: the artifact store has no longer a picture.
        """
        key = (deliverable.sha256, ending(deliverable.name), READER)
        async with self._locks[key[:2]]:
            known = await asyncio.to_thread(self._store.picture_texts, *key)
            if known is not None:
                return known
            try:
                found = await self._in_sandbox(pages)
            except SandboxFailed as exc:
                _logger.warning("pictures of %s: not read: %s", deliverable.sha256, exc)
                return PictureTexts(reason="the sandbox for reading them failed")
            texts = PictureTexts(texts=found.texts, reason=found.reason)
            if not found.needs_reader:  # it may be installed another time
                await asyncio.to_thread(self._store.keep_picture_texts, *key, texts)
            return texts

    async def _in_sandbox(self, pages: PagePictures) -> ReadText:
        files = {
            f"{number}.png": await asyncio.to_thread(self._store.artifacts.read_bytes, sha256)
            for number, sha256 in enumerate(pages.pictures)
        }
        with new_workspace(self._folder, files) as workspace:
            async with self._provider.open(workspace, READ_RESOURCES, self._run_id) as sandbox:
                return await read(sandbox, list(files))
