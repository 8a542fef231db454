"""The tracks of a sound or video file, counted from its packets: headers may be wrong."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Literal

from environments.tools.media.ffmpeg import MAX_FRAME_PIXELS, media_input, reading
from environments.tools.workspace.paths import input_file
from taskdata.errors import ToolRefused

_MAX_PACKETS = 2_000_000
_MAX_SECONDS = 6 * 3600
_CHANNELS = {"mono": 1, "stereo": 2, "5.1": 6, "5.1(side)": 6, "7.1": 8, "quad": 4}


@dataclass
class Track:
    """One stream of sound or pictures, without cover art."""

    kind: Literal["audio", "video"]
    codec: str = "unknown"
    sample_rate: int = 0
    """Of a sound track, in Hz."""
    layout: str = ""
    """Of a sound track: mono, stereo, 5.1."""
    width: int = 0
    height: int = 0
    """Of a video track, in stored pixels: videos of phones may be shown rotated."""
    packets: int = 0
    seconds: float = 0.0

    @property
    def channels(self) -> int:
        """Number of sound channels; 2 for an unusual layout."""
        return _CHANNELS.get(self.layout, 2)

    @property
    def frames_per_second(self) -> float:
        """Mean number of frames per second."""
        return self.packets / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class Media:
    """A file that can be decoded: its location, its name for messages, and its first tracks."""

    source: Path
    path: str
    audio: Track | None
    video: Track | None

    @property
    def seconds(self) -> float:
        """Length of the longer track."""
        return max(track.seconds for track in (self.audio, self.video) if track)


@dataclass
class _Reading:
    tracks: dict[int, Track] = field(default_factory=dict)
    tick: dict[int, Fraction] = field(default_factory=dict)


def open_sound(workspace: Path, path: str) -> tuple[Media, Track]:
    """Return the file at `path` and its sound; raises `ToolRefused` if there is none."""
    media = open_media(workspace, path)
    if media.audio is None:
        raise ToolRefused(f"{path} has no sound.")
    return media, media.audio


def open_video(workspace: Path, path: str) -> tuple[Media, Track]:
    """Return the file at `path` and its pictures; raises `ToolRefused` if there are none."""
    media = open_media(workspace, path)
    if media.video is None:
        raise ToolRefused(f"{path} has no moving pictures.")
    if media.video.width * media.video.height > MAX_FRAME_PIXELS:
        raise ToolRefused(
            f"{path} has frames of {media.video.width} x {media.video.height} pixels: at most "
            f"{MAX_FRAME_PIXELS} pixels can be decoded."
        )
    return media, media.video


def open_media(workspace: Path, path: str) -> Media:
    """Return the tracks of the file at `path`.

    Raises `ToolRefused` for other files, damaged ones, and ones longer than six hours.
    """
    source = input_file(workspace, path)
    options = ("-map", "0:V:0?", "-map", "0:a:0?", "-c", "copy", "-f", "framecrc")
    with reading(["-xerror", *media_input(source), *options], path) as lines:
        found = _read_packets(islice(lines, _MAX_PACKETS))
        if lines.read(1):
            raise ToolRefused(f"{path} is too long: at most {_MAX_PACKETS} packets are read.")
    first = {track.kind: track for track in found.values() if track.packets}
    if not first:
        raise ToolRefused(f"{path} holds neither sound nor moving pictures.")
    media = Media(source, path, first.get("audio"), first.get("video"))
    if not 0 < media.seconds <= _MAX_SECONDS:
        raise ToolRefused(
            f"{path} lasts {media.seconds:.0f} s: between 0 and {_MAX_SECONDS} s can be read."
        )
    return media


def _read_packets(lines: Iterable[bytes]) -> dict[int, Track]:
    """Return the tracks by number from ffmpeg's framecrc format, which contains no metadata."""
    reading_ = _Reading()
    for line in lines:
        if line.startswith(b"#"):
            _read_fact(line.decode("ascii", "replace"), reading_)
        else:
            _count_packet(line, reading_)
    return reading_.tracks


def _read_fact(line: str, found: _Reading) -> None:
    name, _, value = line[1:].strip().partition(": ")
    name, _, number_text = name.rpartition(" ")
    if not number_text.isdigit():
        return
    number = int(number_text)
    if name == "tb":
        found.tick[number] = Fraction(value)
    elif name == "media_type" and value in ("audio", "video"):
        found.tracks[number] = Track("audio" if value == "audio" else "video")
    elif number in found.tracks:
        _set_fact(found.tracks[number], name, value)


def _set_fact(track: Track, name: str, value: str) -> None:
    if name == "codec_id":
        track.codec = value
    elif name == "sample_rate":
        track.sample_rate = int(value)
    elif name == "channel_layout_name":
        track.layout = value
    elif name == "dimensions":
        width, _, height = value.partition("x")
        track.width, track.height = int(width), int(height)


def _count_packet(line: bytes, found: _Reading) -> None:
    number, _, shown, duration, *_ = (part.strip() for part in line.split(b",", 4))
    track = found.tracks.get(int(number))
    if track is None:
        return
    track.packets += 1
    end = (int(shown) + max(int(duration), 0)) * found.tick[int(number)]
    if math.isfinite(end):
        track.seconds = max(track.seconds, float(end))
