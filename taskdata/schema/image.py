"""The container image that a task brings."""

import shlex

from pydantic import Field, field_validator

from taskdata.schema.base import Value

_SYSTEM_FOLDERS = frozenset(
    {"bin", "boot", "dev", "etc", "lib", "lib64", "proc", "root", "run", "sbin", "sys", "usr"}
)
_OUR_FOLDERS = frozenset({"logs", "solution", "tests", "tmp", "workspace"})
_SHARED_FOLDERS = frozenset({"/home", "/opt", "/opt/libraries", "/opt/nightshift", "/opt/python"})


class TaskImage(Value):
    """A container image, and the folder in it that is the task's workspace (Harbor)."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.\-/:@]{0,254}$")
    """Name of an image that the Docker engine has, or that can be pulled or built."""
    workdir: str = Field(pattern=r"^(/[A-Za-z0-9_.\-]+)+$", max_length=240)
    """Path of the workspace in the container. At first it holds the image's files there."""
    context: str = Field(default="", max_length=240)
    """Folder from which the image is built, below the one that was imported; empty: it is pulled.
    """

    @field_validator("workdir")
    @classmethod
    def _can_be_a_workspace(cls, workdir: str) -> str:
        _, top, *rest = workdir.split("/")
        is_taken = top in _SYSTEM_FOLDERS | _OUR_FOLDERS or workdir in _SHARED_FOLDERS
        if is_taken or {".", ".."} & {top, *rest}:
            raise ValueError(
                f"the working folder {workdir!r} cannot be the workspace: sandboxes, or the "
                "image's own system, need it for other files"
            )
        return workdir

    @property
    def way(self) -> str:
        """The command that gets the image."""
        if not self.context:
            return f"docker pull {self.name}"
        return f"docker build --tag {self.name} {shlex.quote(self.context)}"
