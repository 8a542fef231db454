"""Reads the files in a folder of an image without running a program of the image."""

import asyncio
import io
import tarfile
from collections.abc import Iterator
from pathlib import PurePosixPath

from environments.reaper.owner import this_process
from environments.sandbox.docker.engine import connect, engine_errors, first_line, remove
from environments.sandbox.docker.leftovers import labels_of
from taskdata.errors import SandboxFailed
from taskdata.schema.image import TaskImage
from taskdata.schema.task import Resources

_MEGABYTE = 1 << 20
_LABEL = "contents"


async def image_files(image: TaskImage, limits: Resources) -> dict[str, bytes]:
    """Return the plain files of the image's working folder by relative path.

    Links and devices are left out, because a workspace holds neither.

    Raises:
        SandboxFailed: the engine has no such image, or the folder holds more than `limits` allow.
    """
    return await asyncio.to_thread(_read, image, limits)


def _read(image: TaskImage, limits: Resources) -> dict[str, bytes]:
    from docker.errors import ImageNotFound, NotFound

    try:
        client = connect()
    except engine_errors() as error:
        raise SandboxFailed(f"Docker cannot be reached: {first_line(error)}") from error
    try:
        with this_process() as process:
            labels = labels_of(process, _LABEL)
            made = client.containers.create(
                image.name, ["true"], labels=labels, network_mode="none"
            )
            try:
                stream, _ = made.get_archive(image.workdir)
                packed = _capped(stream, image, limits)
            finally:
                remove(client, str(made.id))
    except ImageNotFound as error:
        raise SandboxFailed(
            f"the Docker engine has no image {image.name}: run `{image.way}`"
        ) from error
    except NotFound:
        return {}
    except engine_errors() as error:
        raise SandboxFailed(f"Docker cannot read {image.name}: {first_line(error)}") from error
    finally:
        client.close()
    return plain_files(packed, image, limits)


def _capped(stream: Iterator[bytes], image: TaskImage, limits: Resources) -> bytes:
    packed = bytearray()
    for chunk in stream:
        packed += chunk
        # A header and padding are at most two blocks for each entry.
        if len(packed) > limits.disk_mb * _MEGABYTE + 2 * _MEGABYTE:
            raise _too_much(image, f"{limits.disk_mb} MB")
    return bytes(packed)


def plain_files(packed: bytes, image: TaskImage, limits: Resources) -> dict[str, bytes]:
    """Return the plain files of a packed folder, by path below it.

    Raises:
        SandboxFailed: there are more than `limits` allow.
    """
    files = dict[str, bytes]()
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for entry in archive:
            # The first part is the name of the folder itself.
            path = PurePosixPath(*PurePosixPath(entry.name).parts[1:])
            if not entry.isreg() or not path.parts or ".." in path.parts:
                continue
            content = archive.extractfile(entry)
            if content is not None:
                files[path.as_posix()] = content.read()
            if len(files) > limits.max_files:
                raise _too_much(image, f"{limits.max_files} files")
    return files


def _too_much(image: TaskImage, limit: str) -> SandboxFailed:
    return SandboxFailed(f"{image.workdir} of image {image.name} holds more than {limit}")
