"""The image of a task, and the files of its folder `environment/` that go into the workspace."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from taskdata.errors import BadTaskData
from taskdata.formats.files import Folder
from taskdata.formats.harbor.config import Environment
from taskdata.formats.harbor.dockerfile import Copied, read_dockerfile
from taskdata.formats.rows import RowNotes, refusal
from taskdata.plain_yaml import loaded
from taskdata.schema.image import TaskImage
from taskdata.schema.input_file import InputFile

FOLDER = "environment"
_DOCKERFILE = f"{FOLDER}/Dockerfile"
_COMPOSE = (f"{FOLDER}/docker-compose.yaml", f"{FOLDER}/docker-compose.yml")
_MAIN = "main"
"""The service in a Compose file in which the agent works."""
_IGNORING = f"{FOLDER}/.dockerignore"
_WORKDIR = "/app"
"""The working folder of tasks that name none."""
_MAX_TEXT = 1 << 20
_NOT_TAG = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class Surrounding:
    """The image of a task, and the files that are added to its working folder."""

    image: TaskImage
    files: tuple[InputFile, ...] = ()
    places: Mapping[str, Path] | None = None
    """Files by sha256."""


def surrounding(
    folder: Folder, environment: Environment, context: str, notes: RowNotes
) -> Surrounding:
    """Return the image of a task folder.

    Args:
        folder: The task's folder.
        environment: The section `[environment]` of its configuration.
        context: Folder of the image's build, relative to the imported folder.
        notes: Collects what the import assumes.

    Raises:
        RowRefused: the task needs more than one container, or names no image.
        ValidationError: the image or the working folder cannot be used.
    """
    paths = folder.below(FOLDER, FOLDER)
    for path in _COMPOSE:
        if path in paths:
            _require_one_container(path, _text(folder, path))
    if _DOCKERFILE not in paths:
        if environment.docker_image is None:
            raise refusal(_DOCKERFILE, "is missing, and environment.docker_image names no image")
        notes.assumed["working folder"] += 1
        return Surrounding(TaskImage(name=environment.docker_image, workdir=_WORKDIR))
    said = read_dockerfile(_text(folder, _DOCKERFILE))
    if said.workdir is None:
        notes.assumed["working folder"] += 1
    workdir = said.workdir or _WORKDIR
    if environment.docker_image is not None:
        return Surrounding(TaskImage(name=environment.docker_image, workdir=workdir))
    if said.needs_build or _IGNORING in paths or said.workdir is None:
        name = _built_name(folder, paths)
        return Surrounding(TaskImage(name=name, workdir=workdir, context=context))
    image = TaskImage(name=said.base, workdir=workdir)
    files, places = dict[str, InputFile](), dict[str, Path]()
    for copied in said.copied:
        for path, file, place in _copies(folder, paths, copied, workdir):
            files[path], places[file.sha256] = file, place
    return Surrounding(image, tuple(files[path] for path in sorted(files)), places)


def _copies(
    folder: Folder, paths: Iterable[str], copied: Copied, workdir: str
) -> Iterator[tuple[str, InputFile, Path]]:
    """Yield path in the workspace, file and location of every file that is copied."""
    target = PurePosixPath(copied.target).relative_to(workdir)
    for source in copied.sources:
        name = PurePosixPath(FOLDER, source.lstrip("/"))
        whole = name.as_posix()
        inner = [p for p in paths if PurePosixPath(p).is_relative_to(name) and p != whole]
        if whole in paths:
            is_folder = copied.target.endswith("/") or target == PurePosixPath(".")
            yield _copy(folder, whole, target / name.name if is_folder else target)
        elif not inner:
            raise refusal(_DOCKERFILE, f"copies {source!r}, which is not in {FOLDER}/", source)
        for path in inner:
            yield _copy(folder, path, target / PurePosixPath(path).relative_to(name))


def _copy(folder: Folder, path: str, target: PurePosixPath) -> tuple[str, InputFile, Path]:
    file, place = folder.find(path, path)
    name = target.as_posix()
    return name, file.model_copy(update={"path": name}), place


def _built_name(folder: Folder, paths: Iterable[str]) -> str:
    """Return a name for the image that depends on the content of the build's folder."""
    digest = hashlib.sha256()
    for path in paths:
        file, _ = folder.find(path, path)
        digest.update(f"{path}\0{file.sha256}\n".encode())
    label = _NOT_TAG.sub("-", folder.root.name.lower()).strip("-")[:80] or "task"
    return f"harbor-{label}:{digest.hexdigest()[:12]}"


def _require_one_container(path: str, text: str) -> None:
    try:
        composition = loaded(text, path)
    except BadTaskData as exc:
        raise refusal(path, str(exc)) from exc
    services = composition.get("services") if isinstance(composition, Mapping) else None
    if not isinstance(services, Mapping) or set(services) - {_MAIN}:
        raise refusal(path, "a task here is one container", list(services or ()))


def _text(folder: Folder, path: str) -> str:
    file, place = folder.find(path, path)
    if file.size_bytes > _MAX_TEXT:
        raise refusal(path, f"larger than {_MAX_TEXT >> 20} MB")
    try:
        return place.read_text(encoding="utf-8")
    except UnicodeDecodeError as exc:
        raise refusal(path, f"not UTF-8 at byte {exc.start}") from exc
