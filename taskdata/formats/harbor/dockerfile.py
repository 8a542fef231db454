"""Reads from a Dockerfile what is known without building it.

A Dockerfile that only names an image, a working folder and files to copy into that folder needs no
build: the copied files become the workspace's. Any other has to be built by the user.
"""

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

_CONTINUED = re.compile(r"\\[ \t]*\n")
_INSTRUCTION = re.compile(r"^\s*(?P<name>[A-Za-z]+)\s+(?P<rest>.*)$", re.DOTALL)
_FLAGS = re.compile(r"^(?:--(?:chown|chmod)=\S+\s+)+")
_HEREDOC = re.compile(r"<<-?\s*['\"]?\w+")
_EFFECTLESS = frozenset({"CMD", "ENTRYPOINT", "EXPOSE", "LABEL", "MAINTAINER", "USER"})
"""Instructions without effect on programs that are started by name as an ordinary user."""


@dataclass(frozen=True)
class Copied:
    """A COPY instruction: files of the build's folder that are copied into the image."""

    sources: tuple[str, ...]
    target: str
    """Absolute path; it ends in `/` if the instruction says that it is a folder."""


@dataclass(frozen=True)
class Dockerfile:
    """What is known of an image."""

    base: str
    """The base image; empty if it is unknown."""
    workdir: str | None
    """The working folder; None: that of the base image."""
    copied: tuple[Copied, ...]
    needs_build: bool


def read_dockerfile(text: str) -> Dockerfile:
    """Return what is known of a Dockerfile's image; a file that cannot be read needs a build."""
    base, workdir, copied = "", None, list[Copied]()
    needs_build = bool(_HEREDOC.search(text))
    for name, rest in _instructions(text):
        match name:
            case "FROM" if not base and rest and "$" not in rest:
                base = rest.split()[0]
                needs_build |= base.startswith("--") or base == "scratch"
            case "WORKDIR" if "$" not in rest:
                workdir = _joined(workdir, _unquoted(rest))
            case "COPY" | "ADD":
                found = _copied(rest, workdir)
                copied += [found] if found else []
                needs_build |= found is None
            case _:
                needs_build |= name not in _EFFECTLESS
    kept = tuple(copied)
    outside = any(not _is_within(one.target, workdir) for one in kept)
    return Dockerfile(base, workdir, kept, needs_build or outside or not base)


def _instructions(text: str) -> Iterator[tuple[str, str]]:
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for line in _CONTINUED.sub(" ", "\n".join(lines)).splitlines():
        if found := _INSTRUCTION.match(line):
            yield found["name"].upper(), found["rest"].strip()
        elif line.strip():
            yield line.strip().upper(), ""


def _copied(rest: str, workdir: str | None) -> Copied | None:
    """Return what is copied, None if only a build can tell."""
    parts = _parts(_FLAGS.sub("", rest))
    if len(parts) < 2 or any(_is_beyond(part) for part in parts):
        return None
    *sources, target = parts
    folder = len(sources) > 1 or target.endswith("/") or target in (".", "./")
    return Copied(tuple(sources), _joined(workdir, target) + ("/" if folder else ""))


def _parts(rest: str) -> Sequence[str]:
    try:
        parts = json.loads(rest) if rest.startswith("[") else shlex.split(rest)
    except ValueError:
        return ()
    return parts if all(isinstance(part, str) for part in parts) else ()


def _is_beyond(part: str) -> bool:
    """Return whether a part is not the plain name of one file or folder."""
    is_pattern = any(sign in part for sign in "*?[$")
    return is_pattern or part.startswith("--") or "://" in part or ".." in part.split("/")


def _joined(workdir: str | None, path: str) -> str:
    return str(PurePosixPath(workdir or "/", path))


def _is_within(target: str, workdir: str | None) -> bool:
    return workdir is not None and PurePosixPath(target).is_relative_to(workdir)


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text
