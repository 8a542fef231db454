"""Normalises how a pool starts a server to one form: a program in a folder of the pool.

Only programs below `local_servers` are ever started. A configuration that names another program, or
leads out of its folder, is refused with the reason.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from taskdata.schema.pool_server import LOCAL_SERVERS, WORKSPACE, is_known, placeholders

_FOLDER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._\-]{0,99}")
_REFERENCE = re.compile(r"\$\{local_servers_paths\}([^\s'\";,:()]*)")
_TASK_FOLDER = re.compile(r"\$\{task_dir\}([^\s'\";,:()]*)")
_PYTHONS = ("python", "python3")
_VENV = ".venv/bin/"
_FOLDER_OPTIONS = ("--directory", "--project")
_OTHER_UV_OPTIONS = ("-q", "--quiet", "--frozen", "--locked", "--no-sync", "--no-dev", "--offline")
_REGISTRY_PROGRAMS = ("npx", "uvx", "pipx", "bunx")


class Unusable(Exception):
    """The pool's server cannot be used; the text says why."""


@dataclass(frozen=True)
class Start:
    """A command in the form of `PoolServer`."""

    kind: Literal["python", "node"]
    folder: str
    project: str
    argv: tuple[str, ...]
    entry: str | None
    directory: str


def read_start(
    command: str, arguments: Sequence[str], directory: str | None, variables: Sequence[str]
) -> Start:
    """Return what a configuration starts.

    Args:
        command: Its program.
        arguments: The program's arguments.
        directory: The folder that it starts in; None: the agent's workspace.
        variables: Values of its environment variables.

    Raises:
        Unusable: the configuration does not start a program of a folder below `local_servers`.
    """
    where = WORKSPACE if directory is None else directory
    if command == "node":
        start = _of_node(arguments, where)
    elif command == "uv":
        start = _of_uv(arguments, where)
    elif command in _PYTHONS:
        start = _of_python(arguments, where)
    elif command.startswith(LOCAL_SERVERS):
        start = _of_own_program(command, arguments, where)
    elif command in _REGISTRY_PROGRAMS:
        raise Unusable(f"{command} downloads the server at its start: the pool has no source of it")
    else:
        raise Unusable(
            f"it starts {command!r}: only node, uv run, python and programs below "
            f"{LOCAL_SERVERS} are started"
        )
    _check_texts((*start.argv, start.directory, *variables), start.folder)
    return start


def _of_node(arguments: Sequence[str], directory: str) -> Start:
    if not arguments or arguments[0].startswith("-"):
        raise Unusable(
            f"node starts {' '.join(arguments[:1]) or 'nothing'!r}, which is not a script"
        )
    folder, inner = _below(arguments[0])
    if not inner:
        raise Unusable(f"node starts the folder {folder!r}, which is not a script")
    return Start("node", folder, "", ("node", *arguments), inner, directory)


def _of_python(arguments: Sequence[str], directory: str) -> Start:
    script = next((item for item in arguments if item.startswith(LOCAL_SERVERS)), None)
    if script is None:
        raise Unusable("python starts something that is not below local_servers")
    folder, _ = _below(script)
    return _with_project(folder, "", ("python", *arguments), directory)


def _of_own_program(command: str, arguments: Sequence[str], directory: str) -> Start:
    folder, inner = _below(command)
    project, found, name = inner.rpartition(_VENV)
    if not found or not _FOLDER.fullmatch(name):
        raise Unusable(f"it starts {command!r}, which is no program of a Python project")
    return _with_project(folder, project.rstrip("/"), (name, *arguments), directory)


def _of_uv(arguments: Sequence[str], directory: str) -> Start:
    rest, place = list(arguments), None
    has_run = False
    while rest and (rest[0].startswith("-") or not has_run):
        word = rest.pop(0)
        if word == "run" and not has_run:
            has_run = True
        elif word in _FOLDER_OPTIONS and rest:
            place = rest.pop(0)
            directory = place if word == "--directory" else directory
        elif word == "-m" and has_run and rest:
            rest = ["python", "-m", *rest]
        elif word not in _OTHER_UV_OPTIONS:
            raise Unusable(f"uv is called with {word!r}: only `uv run` of a project is known")
    if not rest:
        raise Unusable("uv is called without a program to run")
    if place is None:
        place = next((item for item in rest if item.startswith(LOCAL_SERVERS)), "")
        folder, project = _below(place)[0], ""
    else:
        folder, project = _below(place)
    name, *more = rest
    if name.endswith(".py"):
        name, more = "python", [name, *more]
    if not _FOLDER.fullmatch(name):
        raise Unusable(f"uv runs {name!r}, which is no program of the project")
    return _with_project(folder, project, (name, *more), directory)


def _with_project(folder: str, project: str, argv: Sequence[str], directory: str) -> Start:
    place = "/".join(part for part in (LOCAL_SERVERS, folder, project) if part)
    program = f"{place}/{_VENV}{argv[0]}"
    return Start("python", folder, project, (program, *argv[1:]), None, directory)


def _below(path: str) -> tuple[str, str]:
    """Return the folder of `local_servers` that a path is in, and the path below that folder."""
    rest = path.removeprefix(f"{LOCAL_SERVERS}/")
    parts = PurePosixPath(rest).parts
    if rest == path or not parts or ".." in parts or "\\" in path or "${" in rest:
        raise Unusable(f"{path!r} is no path below {LOCAL_SERVERS}")
    if not _FOLDER.fullmatch(parts[0]):
        raise Unusable(f"{parts[0]!r} is no name of a server's folder")
    return parts[0], "/".join(parts[1:])


def _check_texts(texts: Sequence[str], folder: str) -> None:
    if unknown := sorted(name for name in placeholders(texts) if not is_known(name)):
        raise Unusable(f"the format has no placeholder ${{{unknown[0]}}}")
    for path in _references(texts):
        if _below(path)[0] != folder:
            raise Unusable(f"{path!r} belongs to another server")
    for text in texts:
        for found in _TASK_FOLDER.finditer(text):
            inner = found[1].removeprefix("/")
            if not inner or ".." in PurePosixPath(inner).parts:
                raise Unusable(f"{found[0]!r} is no file of the task")


def _references(texts: Sequence[str]) -> Iterator[str]:
    for text in texts:
        yield from (found[0] for found in _REFERENCE.finditer(text))
