"""Word error rates of SpeechToText (Whisper base) and of PocketSphinx on the same recordings.

The recordings are the LibriVox sentences of the tests, and sentences that espeak-ng speaks in
several voices and languages (`apt-get install espeak-ng`; left out where it is missing).
PocketSphinx knows English alone. The rate is (substitutions + deletions + insertions) / words,
over words without case and punctuation; a rate above 1 means more errors than words.

`python benchmarks/speech.py [--json]`
"""

import argparse
import json
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import jiwer

from environments.tools.audio.speech_to_text import SpeechToTextArguments, transcribe

_RECORDINGS = Path(__file__).parents[1] / "tests/environments/tools/audio/recordings"
_READ_ALOUD = re.compile(r"^\| `(\S+\.flac)` \| (.+) \|$", re.M)

_ENGLISH = (
    "the meeting about the new budget starts at nine on thursday morning",
    "please send the signed contract to our office before the end of the month",
    "our sales in the north grew faster than those in the south last year",
)
SPOKEN: dict[str, tuple[str, ...]] = {
    "en-gb": _ENGLISH,
    "en-us": _ENGLISH,
    "en-gb-scotland": _ENGLISH,
    "de": ("der zug nach hamburg fährt heute von gleis vier ab und kommt am abend an",),
    "fr": ("la réunion commence demain matin dans la grande salle du premier étage",),
    "es": ("el informe de ventas tiene que estar listo antes del viernes por la tarde",),
    "it": ("il treno per milano parte questa mattina dal binario numero quattro",),
}


@dataclass(frozen=True)
class Recording:
    """A recording and the words that are spoken in it."""

    voice: str
    file: Path
    words: str


@dataclass(frozen=True)
class Figures:
    """What one recogniser made of the recordings of one voice."""

    voice: str
    recogniser: str
    recordings: int
    word_error_rate: float
    seconds_per_second: float
    """Time taken for each second of sound."""


def read_aloud() -> Iterator[Recording]:
    """Yield the sentences that a person reads."""
    for name, words in _READ_ALOUD.findall((_RECORDINGS / "README.md").read_text("utf-8")):
        yield Recording("LibriVox (en)", _RECORDINGS / name, words)


def synthetic(folder: Path) -> Iterator[Recording]:
    """Yield the sentences that espeak-ng speaks, written into `folder`."""
    if shutil.which("espeak-ng") is None:
        return
    for voice, sentences in SPOKEN.items():
        for number, words in enumerate(sentences):
            file = folder / f"{voice}-{number}.wav"
            subprocess.run(["espeak-ng", "-v", voice, "-w", file, words], check=True)
            yield Recording(f"espeak-ng {voice}", file, words)


def by_whisper(file: Path) -> str:
    """Return what the tool hears, as an agent gets it, without the times."""
    result = transcribe(SpeechToTextArguments(audio=file.name), file.parent)
    return " ".join(line.split(": ", 1)[1] for line in result.text.splitlines()[1:])


def by_pocketsphinx(file: Path) -> str:
    """Return what PocketSphinx hears with the English model of its package."""
    from pocketsphinx import Decoder

    command = ["ffmpeg", "-v", "error", "-i", file, "-ac", "1", "-ar", "16000", "-f", "s16le", "-"]
    command[0] = _ffmpeg()
    pcm = subprocess.run(command, check=True, capture_output=True).stdout
    decoder = Decoder(samprate=16_000, loglevel="FATAL")
    decoder.start_utt()
    decoder.process_raw(pcm, full_utt=True)
    decoder.end_utt()
    best = decoder.hyp()
    return best.hypstr if best else ""


def _ffmpeg() -> str:
    from imageio_ffmpeg import get_ffmpeg_exe

    return str(get_ffmpeg_exe())


def plain(text: str) -> str:
    """Return the words alone, in lower case."""
    return " ".join(re.findall(r"[^\W\d_]+", text.lower()))


def measure(voice: str, recordings: list[Recording]) -> Iterator[Figures]:
    """Yield the figures of each recogniser that knows the language of `voice`."""
    import soundfile

    length = sum(soundfile.info(recording.file).duration for recording in recordings)
    truth = [plain(recording.words) for recording in recordings]
    recognisers = {"Whisper base": by_whisper}
    if "en" in voice.replace("espeak", ""):
        recognisers["PocketSphinx"] = by_pocketsphinx
    for name, recogniser in recognisers.items():
        began = time.perf_counter()
        heard = [plain(recogniser(recording.file)) for recording in recordings]
        seconds = time.perf_counter() - began
        rate = jiwer.wer(truth, heard)
        yield Figures(voice, name, len(recordings), round(rate, 3), round(seconds / length, 2))


def main() -> None:
    """Print the figures of every voice."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    as_json = parser.parse_args().json
    with tempfile.TemporaryDirectory() as folder:
        voices: dict[str, list[Recording]] = {}
        for recording in (*read_aloud(), *synthetic(Path(folder))):
            voices.setdefault(recording.voice, []).append(recording)
        figures = [figure for voice, found in voices.items() for figure in measure(voice, found)]
    if as_json:
        print(json.dumps([asdict(figure) for figure in figures], indent=2))
        return
    print(f"{'voice':<26}{'recogniser':<14}{'files':>5}{'WER':>8}{'s/s':>7}")
    for row in figures:
        print(
            f"{row.voice:<26}{row.recogniser:<14}{row.recordings:>5}"
            f"{row.word_error_rate:>8.1%}{row.seconds_per_second:>7.2f}"
        )


if __name__ == "__main__":
    main()
