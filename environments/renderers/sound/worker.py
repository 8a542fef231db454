"""Runs inside the sandbox: writes down what is said in one recording or video.

`python -m environments.renderers.sound.worker` reads `{"name": ...}` from stdin, opens that file in
`input/`, and writes two lines to stdout: `ready` once all imports are done, and `{"text": ...,
"clip": ..., "reason": ...}`, the clip a WAV file in base64. Other output of libraries goes to
stderr.
"""

import base64
import io
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import soundfile

from environments.renderers.sound.formats import (
    MAX_CLIP_SECONDS,
    MAX_HEARD_SECONDS,
    MAX_TRANSCRIPT_CHARACTERS,
    NO_RECOGNISER,
    has_recogniser,
)
from environments.tools.audio.sounds import read_sound
from environments.tools.audio.whisper import RATE, load_model
from environments.tools.media.tracks import open_media
from taskdata.errors import ToolRefused

if TYPE_CHECKING:
    from environments.tools.audio.sounds import Samples

_REPETITIVE = 2.4
"""Whisper's own sign of a failed segment: its text compresses better than this (zlib)."""


def main() -> None:
    """Serve one request."""
    with os.fdopen(os.dup(1), "wb") as reply:
        os.dup2(2, 1)
        name = json.load(sys.stdin)["name"]
        reply.write(b"ready\n")
        reply.flush()
        reply.write(json.dumps(_heard(name)).encode() + b"\n")


def _heard(name: str) -> dict[str, Any]:
    try:
        media = open_media(Path("input"), name)
        if media.audio is None:
            return _nothing("it has no sound")
        sound = read_sound(media, media.audio, RATE, 1, seconds=MAX_HEARD_SECONDS)
        samples = sound.samples[0]
        clip = base64.b64encode(_clip(samples)).decode()
        if not has_recogniser():
            return {"text": "", "clip": clip, "reason": NO_RECOGNISER}
        rest = media.audio.seconds - MAX_HEARD_SECONDS
        more = [f"(the last {rest:.0f} s were not listened to)"] if rest > 0 else []
        lines = "\n".join([*_lines(samples), *more])
        return {"text": lines[:MAX_TRANSCRIPT_CHARACTERS], "clip": clip, "reason": ""}
    except ToolRefused as exc:
        return _nothing(str(exc)[:300])


def _nothing(reason: str) -> dict[str, Any]:
    return {"text": "", "clip": None, "reason": reason}


def _lines(samples: "Samples") -> list[str]:
    segments, info = load_model().transcribe(
        samples, beam_size=1, temperature=0.0, condition_on_previous_text=False, vad_filter=True
    )
    lines = []
    for segment in segments:
        understood = segment.compression_ratio <= _REPETITIVE
        words = segment.text.strip() if understood else "(not understood)"
        lines.append(f"{segment.start:.1f} to {segment.end:.1f} s: {words}")
    return [f"(language: {info.language})", *lines] if lines else []


def _clip(samples: "Samples") -> bytes:
    data = io.BytesIO()
    beginning = samples[: int(MAX_CLIP_SECONDS) * RATE]
    soundfile.write(data, beginning, RATE, format="WAV", subtype="PCM_16")
    return data.getvalue()


if __name__ == "__main__":
    main()
