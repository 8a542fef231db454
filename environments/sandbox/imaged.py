"""Sandboxes in a task's own image, with the workspace at the paths that its programs expect.

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
    """Return a provider of sandboxes in the image, or `provider` itself without an image.

    Args:
        provider: The provider of the run.
        image: The image of the task.
        places: Further folders of the workspace that the task's programs see.

    Raises:
        Misuse: the run's kind of sandbox cannot use images.
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
    """Make every file below the folder executable; the folder must not hold links.

    A workspace does not keep file modes, so it is unknown which files were executable.
    """
    for place, _, names in os.walk(folder):
        for name in names:
            Path(place, name).chmod(0o777)
