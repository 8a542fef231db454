"""Write the input files of this task: `python make_files.py`; add `--expected` to print the truth.

The voices are those of espeak-ng, which must be installed; ffmpeg comes with imageio-ffmpeg.
"""

import csv
import subprocess
import sys
import tempfile
from pathlib import Path

import imageio_ffmpeg
import numpy as np
import soundfile

FILES = Path(__file__).parent / "files"
SEED = 20260907
RATE = 16000
TELEPHONE_RATE = 8000
MESSAGES = [
    (
        "en-us",
        "Hello, this is Peter Green. My left knee hurts when I climb stairs. I can come on "
        "Wednesday or on Friday, after four o'clock.",
    ),
    (
        "en-us+f3",
        "Good morning, my name is Maria Brown. I have to cancel my appointment on Monday at nine "
        "o'clock. Please give me a new one on Thursday, in the morning.",
    ),
    (
        "en-us+m3",
        "Hello, this is George Miller. I have a lot of pain in my shoulder. I can come on Monday "
        "or on Tuesday, but only before noon.",
    ),
]
DICTATION = "The patient can bend the knee again. We go on with exercises for three weeks."
CHIME_HZ = 880.0
SLOTS = [
    ("Monday", "09:00", 1, "Maria Brown"),
    ("Monday", "11:30", 2, "Tom Ashby"),
    ("Monday", "16:30", 1, ""),
    ("Tuesday", "10:30", 1, ""),
    ("Tuesday", "17:00", 2, ""),
    ("Wednesday", "15:00", 2, ""),
    ("Wednesday", "17:30", 2, ""),
    ("Thursday", "08:30", 1, "Lena Fox"),
    ("Thursday", "09:30", 1, ""),
    ("Thursday", "14:00", 1, ""),
    ("Friday", "16:30", 2, ""),
]
NOTES = """# Front desk, week 37

- The answering machine keeps all messages in one file, voicemail.mp3, with a beep between them.
- An appointment that somebody gives up is free again at once, and counts as an open one.
- Whoever is in bad pain comes first. Everybody gets the earliest open appointment that they can
  take.
- Knees and hips need the bench, which is in room 2. For anything else either room will do.
- dictation.flac: the fan runs all the time. Before 2.0 s and after 7.5 s there is nothing but the
  fan; only what lies between goes to the file, without the noise.
- chime.wav: many patients do not hear it any more. It should have about 587 Hz and be as long as it
  is.
"""


def spoken(voice: str, words: str) -> np.ndarray:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "voice.wav")
        command = ["espeak-ng", "-v", voice, "-s", "140", "-w", path, words]
        subprocess.run(command, check=True)
        sound, rate = soundfile.read(path)
    times = np.arange(0, len(sound) / rate, 1 / RATE)
    return np.interp(times, np.arange(len(sound)) / rate, sound)


def tone(hertz: float, seconds: float, fall: float) -> np.ndarray:
    time = np.arange(round(seconds * RATE)) / RATE
    return np.exp(-fall * time) * (
        np.sin(2 * np.pi * hertz * time) + 0.3 * np.sin(4 * np.pi * hertz * time)
    )


def voicemail() -> np.ndarray:
    pause = np.zeros(RATE // 2)
    beep = 0.25 * tone(1000, 0.4, 0)
    parts = []
    for voice, words in MESSAGES:
        parts += [beep, pause, 0.8 * spoken(voice, words), pause]
    return np.concatenate(parts)


def dictation() -> np.ndarray:
    rng = np.random.default_rng(SEED)
    time = np.arange(round(9.0 * TELEPHONE_RATE)) / TELEPHONE_RATE
    voice = 0.8 * spoken("en-us+f3", DICTATION)
    sound = np.interp(time - 2.2, np.arange(len(voice)) / RATE, voice, left=0, right=0)
    hum = 0.02 * np.sin(2 * np.pi * 100 * time) + 0.012 * np.sin(2 * np.pi * 300 * time)
    return sound + hum + rng.normal(scale=0.02, size=len(sound))


def chime() -> np.ndarray:
    return 0.45 * np.concatenate([tone(CHIME_HZ, 0.9, 2.0)] * 2)


def write_mp3(sound: np.ndarray, path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        wave = Path(folder, "sound.wav")
        soundfile.write(wave, sound, RATE)
        command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y", "-i", wave]
        options = ["-b:a", "32k", "-map_metadata", "-1", "-fflags", "+bitexact"]
        subprocess.run([*command, *options, path], check=True)


def main() -> None:
    if "--expected" in sys.argv:
        print("George Miller Monday 09:00, room 1; Peter Green Wednesday 17:30, room 2;")
        print("Maria Brown Thursday 09:30, room 1; the chime goes down by 7 semitones")
        return
    FILES.mkdir(exist_ok=True)
    write_mp3(voicemail(), FILES / "voicemail.mp3")
    soundfile.write(FILES / "dictation.flac", dictation(), TELEPHONE_RATE, subtype="PCM_16")
    soundfile.write(FILES / "chime.wav", chime()[::2], RATE // 2, subtype="PCM_16")
    (FILES / "front_desk.md").write_text(NOTES, encoding="utf-8")
    with (FILES / "week_37.csv").open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["day", "time", "room", "patient"])
        writer.writerows(SLOTS)


if __name__ == "__main__":
    main()
