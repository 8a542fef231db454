"""Has what is said in deliverables written down: one sandbox each, each content once for all runs.

Transcripts are for judges; no check uses them. So if a file cannot be listened to, there is no
transcript, and the trial is scored all the same.
"""

import asyncio
import logging
from collections import defaultdict
from pathlib import Path

from environments.ports import SandboxProvider
from environments.renderers.limits import MAX_FILE_BYTES
from environments.renderers.pages.formats import ending
from environments.renderers.sound.formats import SOUNDING
from environments.renderers.sound.hear import HEAR_RESOURCES, HeardSound, hear
from environments.sandbox.workspace import new_workspace
from taskdata.errors import SandboxFailed
from taskdata.schema.run import Deliverable
from taskdata.schema.views import AudioView, Heard, VideoView, View
from taskdata.store import Store

_logger = logging.getLogger(__name__)
LISTENER = "heard 1"
"""Version of the listening code: what another version heard is listened to again."""


def has_sound(view: View) -> bool:
    """Return whether there is anything to listen to in a file."""
    return isinstance(view, AudioView) or (isinstance(view, VideoView) and view.has_sound)


class Listener:
    """Listens for one event loop."""

    def __init__(self, provider: SandboxProvider, store: Store, folder: Path, run_id: str) -> None:
        self._provider = provider
        self._store = store
        self._folder = folder
        self._run_id = run_id
        self._locks: dict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)

    async def hear(self, deliverable: Deliverable) -> Heard | None:
        """Return what is said in the deliverable; None if it is of no type that has sound.

        Raises:
            NightshiftError: the artifact store has no longer the file.
        """
        kind = ending(deliverable.name)
        if kind not in SOUNDING or deliverable.size_bytes > MAX_FILE_BYTES:
            return None
        key = (deliverable.sha256, kind, LISTENER)
        async with self._locks[key[:2]]:
            known = await asyncio.to_thread(self._store.heard, *key)
            if known is not None:
                return known
            try:
                heard = await self._in_sandbox(deliverable, f"deliverable{kind}")
            except SandboxFailed as exc:
                _logger.warning("sound of %s: not heard: %s", deliverable.sha256, exc)
                return Heard(reason="the sandbox for listening failed")
            clip = None
            if heard.clip is not None:
                clip = await asyncio.to_thread(self._store.artifacts.put_bytes, heard.clip)
            found = Heard(text=heard.text, reason=heard.reason, clip_sha256=clip)
            if not heard.needs_recogniser:  # it may be installed another time
                await asyncio.to_thread(self._store.keep_heard, *key, found)
            return found

    async def _in_sandbox(self, deliverable: Deliverable, name: str) -> HeardSound:
        data = await asyncio.to_thread(self._store.artifacts.read_bytes, deliverable.sha256)
        with new_workspace(self._folder, {name: data}) as workspace:
            opened = self._provider.open(workspace, HEAR_RESOURCES, self._run_id)
            async with opened as sandbox:
                return await hear(sandbox, name)
