"""Sandboxes in the image that a task names, with its folders where the task's programs look.

The task's working folder is the workspace's output folder: both paths lead to the same files. All
other rules of the Docker sandbox hold: no network, no root, and nothing else that can be written.
"""

import os
from pathlib import Path

from environments.ports import SandboxProvider
from environments.sandbox.docker.places import OUTPUT, Place
from environments.sandbox.docker.provider import Docker
from taskdata.errors import Misuse
from taskdata.schema.image import TaskImage


def provider_of_image(
    provider: SandboxProvider, image: TaskImage | None, *places: Place
) -> SandboxProvider:
    """Return the provider of sandboxes in this image; without an image `provider` itself.

    Args:
        provider: That of the run.
        image: That of the task.
        places: Further folders of the workspace that the task's programs see.

    Raises:
        Misuse: the run's sandbox has no images.
    """
    if image is None:
        return provider
    if provider.name != "docker":
        raise Misuse(
            f"the task's image {image.name!r} needs sandbox 'docker', and this run has "
            f"{provider.name!r}; set --sandbox docker"
        )
    return Docker(image.name, (Place(OUTPUT, image.workdir, writable=True), *places))


def let_files_be_run(folder: Path) -> None:
    """Let every file below the folder, which holds no links, be run as a program.

    A workspace keeps no modes of files, and in a folder with programs some are meant to be run.
    """
    for place, _, names in os.walk(folder):
        for name in names:
            Path(place, name).chmod(0o777)
