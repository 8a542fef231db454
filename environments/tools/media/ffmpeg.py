"""Calls of ffmpeg on untrusted files.

Only local files are opened, and only by readers of containers that hold their own data: a playlist,
an image sequence or a concat script names other files or addresses and is refused. Every call has
one thread if ffmpeg allows it, a limit on the pixels of a frame, which applies while decoding
whatever the header says, and a limit on its CPU time.
"""

import errno
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO

from taskdata.errors import ToolRefused

MAX_FRAME_PIXELS = 9_000_000
"""Largest frame that is decoded: 4K cinema."""

_CONTAINERS = (
    *("wav", "w64", "aiff", "au", "caf", "mp3", "flac", "ogg", "aac", "amr"),
    *("mov", "matroska", "avi", "mpegts", "mpeg", "asf", "flv"),
)
_MAX_CPU_SECONDS = 50
_GLOBAL = (
    *("-nostdin", "-hide_banner", "-v", "error", "-y"),
    *("-timelimit", str(_MAX_CPU_SECONDS), "-filter_threads", "1"),
)
_INPUT = (
    *("-protocol_whitelist", "file", "-threads", "1"),
    *("-max_pixels", str(MAX_FRAME_PIXELS)),
)
_MAX_COMPLAINT_CHARS = 160
_SOURCE_OF_LINE = re.compile(r"^\[[^\]]*\]\s*")
_STOPPED = (signal.SIGXCPU, signal.SIGKILL)


def media_input(source: Path, *options: str) -> list[str]:
    """Return the options that make the sound or video at `source` an input."""
    kinds = ("-format_whitelist", ",".join(_CONTAINERS))
    return [*_INPUT, *kinds, *options, "-i", f"file:{source}"]


def picture_input(source: Path) -> list[str]:
    """Return the options that make the PNG at `source` an input."""
    return [*_INPUT, "-f", "png_pipe", "-i", f"file:{source}"]


def raw_input(*options: str) -> list[str]:
    """Return the options that make standard input an input, in the raw format of `options`."""
    return ["-protocol_whitelist", "pipe", *options, "-i", "pipe:0"]


@contextmanager
def reading(arguments: Sequence[str], path: str) -> Iterator[IO[bytes]]:
    """Yield ffmpeg's output for the file called `path`; the reader may stop early.

    Raises `ToolRefused` when ffmpeg fails on the file.
    """
    with tempfile.TemporaryFile() as complaints:
        command = [_program(), *_GLOBAL, *arguments, "pipe:1"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints) as process:
            assert process.stdout is not None
            try:
                yield process.stdout
                has_more = bool(process.stdout.read(1))
            except BaseException:
                process.kill()
                raise
            if has_more:
                process.kill()
                return
            code = process.wait()
        _check(code, complaints, path)


def write(arguments: Sequence[str], target: Path, path: str, raw: bytes | None = None) -> None:
    """Let ffmpeg write `target` from the inputs of `arguments`; `path` is its name in refusals.

    `raw` goes to its standard input. An existing `target` is replaced only by a complete file, so
    an input may be the target.
    """
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as complaints:
        made = Path(folder) / f"made{target.suffix.lower()}"
        command = [_program(), *_GLOBAL, *arguments, f"file:{made}"]
        given = {"stdin": subprocess.DEVNULL} if raw is None else {"input": raw}
        done = subprocess.run(
            command, stdout=subprocess.DEVNULL, stderr=complaints, check=False, **given
        )
        _check(done.returncode, complaints, path)
        shutil.copyfile(made, target)


@cache
def _program() -> str:
    from imageio_ffmpeg import get_ffmpeg_exe

    return str(get_ffmpeg_exe())


def _check(code: int, complaints: IO[bytes], path: str) -> None:
    if code == 0:
        return
    complaints.seek(0)
    said = complaints.read(100_000).decode("utf-8", "replace")
    if -code == signal.SIGXFSZ or "File too large" in said:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    if "No space left on device" in said:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if -code in _STOPPED:
        raise ToolRefused(f"{path} takes too long: ask for a shorter part of it.")
    raise ToolRefused(f"{path} cannot be read as sound or video: {_first_complaint(said)}.")


def _first_complaint(said: str) -> str:
    """Return the first line of ffmpeg's error output, which names the cause, without our paths."""
    if "not on whitelist" in said:
        return "this kind of file is not one of those that are opened"
    lines = (_SOURCE_OF_LINE.sub("", line).strip() for line in said.splitlines())
    line = next((line for line in lines if line and "file:" not in line), "ffmpeg gave no reason")
    return "".join(c for c in line if c.isprintable())[:_MAX_COMPLAINT_CHARS].rstrip(".")
