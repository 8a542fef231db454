"""Loads the pictures and recordings of a trial's files that a judge is shown."""

import asyncio
from collections.abc import Sequence

from environments.ports import Media
from environments.renderers.pages.formats import BROWSED, CONVERTED, ending
from environments.renderers.sound.formats import CLIP_BYTES_PER_SECOND
from stages.score.evidence import TrialEvidence
from stages.score.judging.addressed import speaks_to_the_judge
from stages.score.judging.exhibits import Sensed, captions
from stages.score.judging.shown import judged_names
from stages.score.judging.sight import Sight
from taskdata.artifacts import ArtifactStore
from taskdata.schema.checkpoint import Checkpoint
from taskdata.schema.views import PictureTexts

SOUND_TOKENS_PER_SECOND = 50
"""More than any provider counts for a second of sound."""


_NOBODY_READ = "nothing read them"


async def sense(
    trial: TrialEvidence,
    leaves: Sequence[Checkpoint],
    artifacts: ArtifactStore | None,
    sight: Sight,
) -> dict[str, Sensed]:
    """Return pictures and recordings by file, of the kinds that the judge takes.

    Raises:
        NightshiftError: the artifact store no longer has one.
    """
    if artifacts is None or not (sight.sees or sight.hears):
        return {}
    names = judged_names(trial, leaves)
    return {name: await asyncio.to_thread(_sensed, name, trial, artifacts, sight) for name in names}


def _sensed(name: str, trial: TrialEvidence, artifacts: ArtifactStore, sight: Sight) -> Sensed:
    view, pages, heard = trial.views.get(name), trial.pages.get(name), trial.heard.get(name)
    sound = None
    if sight.hears and heard is not None and heard.clip_sha256 is not None:
        clip = artifacts.read_bytes(heard.clip_sha256)
        most = len(clip) // CLIP_BYTES_PER_SECOND * SOUND_TOKENS_PER_SECOND
        sound = Media("audio/wav", clip, "sound.wav", max(1, most))
    if view is None or not sight.sees:
        return Sensed(sound=sound)
    if pages is None:
        return Sensed(sound=sound, no_pictures=_why_none(name))
    pictures = tuple(
        Media("image/png", artifacts.read_bytes(sha256), f"{number}.png", sight.picture_tokens)
        for number, sha256 in enumerate(pages.pictures, start=1)
    )
    lettering = trial.lettering.get(name)
    return Sensed(
        pictures,
        captions(view, len(pictures)),
        more_pages=max(0, pages.page_count - len(pictures)),
        no_pictures=pages.reason,
        sound=sound,
        speaking=_speaking(lettering),
        unread=_NOBODY_READ if lettering is None else lettering.reason,
    )


def _speaking(lettering: PictureTexts | None) -> frozenset[int]:
    texts = () if lettering is None else lettering.texts
    return frozenset(place for place, text in enumerate(texts) if speaks_to_the_judge(text))


def _why_none(name: str) -> str:
    """Return why the drawing of a file was not even tried."""
    kind = ending(name)
    if kind in CONVERTED:
        return "LibreOffice is not installed"
    return "Chromium is not installed" if kind in BROWSED else ""
